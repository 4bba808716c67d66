/*
 * Forks a child after the other, each of which spins for 100 ms of CPU time:
 * main calls child, child calls work, work calls spin.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;

CALL void spin(void)
{
	for (int i = 0; i < 20000; i++)
		sink++;
}
CALL void work(clock_t end)
{
	while (clock() < end)
		spin();
	sink++;
}
CALL void child(void)
{
	work(clock() + CLOCKS_PER_SEC / 10);
	_exit(0);
}

int main(void)
{
	alarm(300);
	for (;;) {
		if (fork() == 0)
			child();
		wait(0);
	}
}
