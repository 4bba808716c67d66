/*
 * Becomes another program after 100 ms of CPU time, whose code lies at the same
 * addresses: FIRST and SECOND are names of functions. main calls one, or two.
 */
#include <time.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;

CALL void SPIN(void)
{
	for (int i = 0; i < 20000; i++)
		sink++;
}
CALL void WORK(clock_t end)
{
	volatile char some[FRAME];
	some[sink % FRAME] = 1;
	while (clock() < end)
		SPIN();
	sink++;
}

int main(int argc, char **argv)
{
	/* CPU time goes on from program to program. */
	WORK(clock() + CLOCKS_PER_SEC / 10);
	execl(argv[1], argv[1], argv[0], (char *)0);
	return 1;
}
