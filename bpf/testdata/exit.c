/* Touches memory, says so, and exits when its input ends. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t size = (size_t)atoi(argv[1]) << 20;
	char *memory = malloc(size);
	char c;

	memset(memory, 1, size);
	write(1, memory, 1);
	while (read(0, &c, 1) > 0)
		;
	_exit(0);
}
