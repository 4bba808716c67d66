/* Recurses to a depth, then spins there: main, descend x depth, spin. */
#include <stdlib.h>

static volatile unsigned long work;

__attribute__((noinline)) static void spin(void)
{
	for (;;)
		work++;
}

__attribute__((noinline)) static void descend(int depth)
{
	if (depth > 1)
		descend(depth - 1);
	else
		spin();
	work++; /* no tail call */
}

int main(int argc, char **argv)
{
	descend(atoi(argv[1]));
	return 0;
}
