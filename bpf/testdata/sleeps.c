/* Sleeps COUNT times MICROSECONDS, twice: says how long that took by its own clock. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

__attribute__((noinline)) static void nap(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, 0);
}

int main(int argc, char **argv)
{
	char c;

	while (read(0, &c, 1) == 1) {
		unsigned long long begin = now();

		for (int i = 0; i < atoi(argv[1]); i++)
			nap(atol(argv[2]));
		printf("%llu\n", now() - begin);
		fflush(stdout);
	}
	return 0;
}
