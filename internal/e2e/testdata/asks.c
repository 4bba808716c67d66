/*
 * Asks known things of the kernel for each line that it reads, and says as one
 * line of JSON how much of each, times by its own clock. The argument is a file of
 * at least 256 KiB.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOUND 1000
#define MISSING 300
#define NAPS 10
#define NAP_NS 5000000
#define READS 64
#define PAGE 4096
#define PAGES 16
#define PIPES 100
#define BURN_NS 150000000ULL
#define FORK_MS 50

static unsigned long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static unsigned long long longest_nap, all_naps, longest_read, bytes, forks, delay;

static void look(void)
{
	struct stat st;

	for (int i = 0; i < FOUND; i++)
		stat("/", &st);
	for (int i = 0; i < MISSING; i++)
		stat("/does/not/exist", &st);
}

static void nap(void)
{
	struct timespec t = { 0, NAP_NS };

	all_naps = longest_nap = 0;
	for (int i = 0; i < NAPS; i++) {
		unsigned long long begin = now(CLOCK_MONOTONIC), took;

		nanosleep(&t, 0);
		took = now(CLOCK_MONOTONIC) - begin;
		all_naps += took;
		if (took > longest_nap)
			longest_nap = took;
	}
}

static ssize_t read_at(int fd, char *to, off_t at)
{
	unsigned long long begin = now(CLOCK_MONOTONIC), took;
	ssize_t n = pread(fd, to, PAGE, at);

	took = now(CLOCK_MONOTONIC) - begin;
	if (n < 0)
		exit(1);
	bytes += n;
	if (took > longest_read)
		longest_read = took;
	return n;
}

/* Reads a file by calls, and then, when it is not in memory any more, by faults. */
static void read_file(const char *name)
{
	static char page[PAGE];
	int fd = open(name, O_RDWR);
	volatile char *p;

	for (int i = 0; i < READS; i++)
		read_at(fd, page, (off_t)i * PAGE);
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		exit(1);
	p = mmap(0, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	madvise((void *)p, PAGES * PAGE, MADV_RANDOM);
	for (int i = 0; i < PAGES; i++)
		(void)p[i * PAGE];
	munmap((void *)p, PAGES * PAGE);
	close(fd);
}

/* Faults that waited for a disk since the last call. */
static unsigned long long majors(void)
{
	static unsigned long long before;
	unsigned long long last = before;
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	before = u.ru_majflt;
	return before - last;
}

/* A thread that waits for the end of a vfork can only be killed. */
static void wait_for_fork(void)
{
	unsigned long long begin = now(CLOCK_MONOTONIC);
	pid_t pid = vfork();

	if (!pid) {
		poll(0, 0, FORK_MS);
		_exit(0);
	}
	forks = now(CLOCK_MONOTONIC) - begin;
	waitpid(pid, 0, 0);
}

/* How long this thread waited for a CPU until now, by the kernel. */
static unsigned long long waited(void)
{
	static char text[PAGE];
	int fd = open("/proc/self/schedstat", O_RDONLY);
	unsigned long long ran, delayed;

	text[read_at(fd, text, 0)] = 0;
	close(fd);
	if (sscanf(text, "%llu %llu", &ran, &delayed) != 2)
		exit(1);
	return delayed;
}

static void burn(void)
{
	unsigned long long end = now(CLOCK_THREAD_CPUTIME_ID) + BURN_NS;

	/* To ask for the time is a system call. */
	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 1000000; i++)
			;
}

/* Two that want one CPU. */
static void share_a_cpu(void)
{
	cpu_set_t before, one;
	pid_t pid;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pid = fork();
	if (!pid) {
		burn();
		_exit(0);
	}
	delay = waited();
	burn();
	delay = waited() - delay;
	waitpid(pid, 0, 0);
	sched_setaffinity(0, sizeof(before), &before);
}

/* A pipe with room for 256 pages needs 10,240 bytes, for which the kernel takes 16 KiB. */
static void grow_pipes(void)
{
	int pipes[2];

	if (pipe(pipes))
		exit(1);
	for (int i = 0; i < PIPES; i++) {
		fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20);
		fcntl(pipes[1], F_SETPIPE_SZ, 1 << 16);
	}
	close(pipes[0]);
	close(pipes[1]);
}

static const char format[] =
	"{\"stats\": %d, \"missing\": %d, \"naps_asked\": %lld, \"naps\": %llu, "
	"\"longest_nap\": %llu, \"bytes\": %llu, \"longest_read\": %llu, "
	"\"majors\": %llu, \"fork_asked\": %lld, \"fork\": %llu, "
	"\"delay\": %llu, \"allocated\": %lld, \"took\": %llu}\n";

int main(int argc, char **argv)
{
	char c, said[1000];

	while (argc > 1 && read(0, &c, 1) == 1) {
		unsigned long long begin = now(CLOCK_MONOTONIC);

		bytes = longest_read = 0;
		look();
		nap();
		read_file(argv[1]);
		wait_for_fork();
		share_a_cpu();
		grow_pipes();
		/* printf itself would look at its file with another stat. */
		write(1, said,
		      snprintf(said, sizeof(said), format, FOUND + MISSING, MISSING,
			       (long long)NAPS * NAP_NS, all_naps, longest_nap, bytes, longest_read,
			       majors(), FORK_MS * 1000000LL, forks, delay, PIPES * 16384LL,
			       now(CLOCK_MONOTONIC) - begin));
	}
	return 0;
}
