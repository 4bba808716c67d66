/* main calls a, a calls b, which spins for as many ms of CPU time as the argument says. */
#include <stdlib.h>
#include <time.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;

CALL void b(clock_t end)
{
	volatile char some[100];
	while (clock() < end)
		for (int i = 0; i < 50000; i++)
			sink += some[i % 100];
}
CALL void a(clock_t end)
{
	volatile char some[300];
	some[end % 300] = 1;
	b(end);
	sink++;
}

int main(int argc, char **argv)
{
	a(clock() + atoi(argv[1]) * (CLOCKS_PER_SEC / 1000));
	return 0;
}
