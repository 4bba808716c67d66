/*
 * Does one thing over and over and says what each time costs in CPU time.
 *
 *   events open     open and close of one file
 *   events getppid  the shortest system call
 *   events read     a read of one byte
 *   events pipe     a byte to another thread on the same CPU and back
 *   events fault    the first touch of a page
 *   events futex    the wake of another thread on the same CPU, which wakes this one
 *   events datagram a message of 12,000 bytes to itself: one kmalloc of 16 KiB
 *
 * An optional second argument is how long in milliseconds (default 400). Prints
 * nanoseconds of CPU time for each turn, the mean. CPU time, because others that
 * want the CPU do not add to it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH 200
#define PAGE 4096

static const char *self;
static int zero, there[2], back[2], ends[2];
static int theirs; /* whose turn it is: a futex */
static char *pages, *page;
static char message[12000];

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

/* Starts another thread on the CPU of this one. */
static void beside(void *(*run)(void *))
{
	cpu_set_t one;
	pthread_t other;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pthread_create(&other, NULL, run, NULL))
		exit(1);
}

static void prepare_pipe(void)
{
	if (pipe(there) || pipe(back))
		exit(1);
	beside(echo);
}

/* Gives the turn to the other thread and waits until it is given back. */
static void pass(int to)
{
	__atomic_store_n(&theirs, to, __ATOMIC_RELEASE);
	syscall(SYS_futex, &theirs, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&theirs, __ATOMIC_ACQUIRE) == to)
		syscall(SYS_futex, &theirs, FUTEX_WAIT_PRIVATE, to, NULL, NULL, 0);
}

static void turn_futex(void)
{
	pass(1);
}

static void *answer(void *unused)
{
	while (!__atomic_load_n(&theirs, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &theirs, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	for (;;)
		pass(0);
	return unused;
}

static void prepare_futex(void)
{
	beside(answer);
}

static void turn_fault(void)
{
	if (page == pages + BATCH * PAGE) {
		if (madvise(pages, BATCH * PAGE, MADV_DONTNEED))
			exit(1);
		page = pages;
	}
	*(volatile char *)page = 1;
	page += PAGE;
}

static void prepare_fault(void)
{
	pages = mmap(NULL, BATCH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (pages == MAP_FAILED)
		exit(1);
	madvise(pages, BATCH * PAGE, MADV_NOHUGEPAGE); /* refused by kernels without them */
	page = pages;
}

static void turn_datagram(void)
{
	if (send(ends[0], message, sizeof(message), 0) != sizeof(message) ||
	    recv(ends[1], message, sizeof(message), 0) != sizeof(message))
		exit(1);
}

static void prepare_datagram(void)
{
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
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
		{ "fault", turn_fault, prepare_fault },
		{ "futex", turn_futex, prepare_futex },
		{ "datagram", turn_datagram, prepare_datagram },
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
	fprintf(stderr, "usage: %s open|getppid|read|pipe|fault|futex|datagram [milliseconds]\n",
		argv[0]);
	return 2;
}
