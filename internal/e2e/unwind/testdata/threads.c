/* Threads that spin in a; the main thread ends or waits, as the argument says. */
#define _GNU_SOURCE
#include <pthread.h>
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
CALL void a(void)
{
	spin();
	sink++;
}

static void *worker(void *unused)
{
	for (;;)
		a();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	alarm(300);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, worker, 0);
	if (argc > 1)
		pthread_exit(0);
	pthread_join(t[0], 0);
}
