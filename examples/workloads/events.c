/*
 * Does one thing over and over and says what each time costs in CPU time.
 *
 *   events open     open and close of one file
 *   events getppid  the shortest system call
 *   events read     a read of one byte
 *   events pipe     a byte to another thread on the same CPU and back
 *
 * An optional second argument is how long in milliseconds (default 400). Prints
 * nanoseconds of CPU time for each turn, the mean. CPU time, because others that
 * want the CPU do not add to it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH 200

static const char *self;
static int zero, there[2], back[2];

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void turn_open(void)
{
	close(open(self, O_RDONLY));
}

static void turn_getppid(void)
{
	syscall(SYS_getppid);
}

static void turn_read(void)
{
	char c;

	if (read(zero, &c, 1) != 1)
		exit(1);
}

static void turn_pipe(void)
{
	char c = 0;

	if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
		exit(1);
}

static void *echo(void *unused)
{
	char c;

	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return unused;
}

static void prepare_pipe(void)
{
	cpu_set_t one;
	pthread_t other;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back) ||
	    pthread_create(&other, NULL, echo, NULL))
		exit(1);
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		void (*turn)(void);
		void (*prepare)(void);
	} all[] = {
		{ "open", turn_open, NULL },
		{ "getppid", turn_getppid, NULL },
		{ "read", turn_read, NULL },
		{ "pipe", turn_pipe, prepare_pipe },
	};
	double duration = (argc > 2 ? atof(argv[2]) : 400) * 1e6;

	self = argv[0];
	zero = open("/dev/zero", O_RDONLY);
	for (unsigned i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++) {
		double end, cpu;
		long turns = 0;

		if (strcmp(argv[1], all[i].name))
			continue;
		if (all[i].prepare)
			all[i].prepare();
		for (int k = 0; k < BATCH; k++)
			all[i].turn();
		end = now(CLOCK_MONOTONIC) + duration;
		cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		for (; now(CLOCK_MONOTONIC) < end; turns += BATCH)
			for (int k = 0; k < BATCH; k++)
				all[i].turn();
		printf("%.1f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)turns);
		return 0;
	}
	fprintf(stderr, "usage: %s open|getppid|read|pipe [milliseconds]\n", argv[0]);
	return 2;
}
