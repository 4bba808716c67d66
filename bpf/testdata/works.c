/* Sleeps COUNT times one to five milliseconds and works for as long each time. */
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

static void work(unsigned long long ns)
{
	unsigned long long begin = now();

	while (now() - begin < ns)
		;
}

int main(int argc, char **argv)
{
	char c;

	while (read(0, &c, 1) == 1) {
		unsigned long long begin = now();

		for (int i = 0; i < atoi(argv[1]); i++) {
			long ms = 1 + i % 5;
			struct timespec t = { 0, ms * 1000000 };

			nanosleep(&t, 0);
			work(ms * 1000000);
		}
		printf("%llu\n", now() - begin);
		fflush(stdout);
	}
	return 0;
}
