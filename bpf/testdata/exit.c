/* Touches memory, says so, and exits when its input ends. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t size = (size_t)atoi(argv[1]) << 20;
	char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char c;

	madvise(memory, size, MADV_NOHUGEPAGE); /* huge ones are given back in no time */
	memset(memory, 1, size);
	write(1, memory, 1);
	while (read(0, &c, 1) > 0)
		;
	_exit(0);
}
