/*
 * main calls outer, outer calls inner, again and again; a timer interrupts it
 * anywhere and its handler calls spin. With an argument the handler has a stack
 * of its own.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;

CALL void spin(void)
{
	for (int i = 0; i < 5000000; i++)
		sink++;
}

static void handler(int sig)
{
	spin();
	sink++;
}

CALL unsigned long inner(unsigned long n)
{
	return n * 3 + sink;
}

CALL unsigned long outer(unsigned long a, unsigned long b, unsigned long c)
{
	unsigned long d = inner(a), e = inner(b), f = inner(c);
	return d * e * f + a;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	stack_t other = { .ss_size = 1 << 16 };

	alarm(300);
	if (argc > 1) {
		other.ss_sp = malloc(other.ss_size);
		sigaltstack(&other, 0);
		sa.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGPROF, &sa, 0);
	setitimer(ITIMER_PROF, &often, 0);
	for (;;)
		sink += outer(sink, 2, 3);
}
