// SPDX-License-Identifier: Apache-2.0
//
// zero_reader: nearly all of its time is spent in the kernel, as in dd if=/dev/zero.
//
//   zero_reader [SECONDS]      seconds of CPU time to use, default 10
//
// Known answer: user frames main;pump, above them the kernel's system call entry, then ksys_read,
// vfs_read and the zero device (read_zero or read_iter_zero). Over 90 % of the samples end in a
// kernel frame.
// Build: gcc -O1 -fno-omit-frame-pointer

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_BYTES (1 << 20)
#define READS_PER_PUMP 64

static char block[BLOCK_BYTES];

// The C library's read() has no frame pointer and would hide pump() from a profiler that follows
// them, so the system call is made here.
static inline long read_block(int fd)
{
#ifdef __x86_64__
	long n;

	__asm__ volatile("syscall"
			 : "=a"(n)
			 : "0"(SYS_read), "D"(fd), "S"(block), "d"(sizeof(block))
			 : "rcx", "r11", "memory");
	return n;
#else
	return read(fd, block, sizeof(block));
#endif
}

__attribute__((noinline, noclone)) long pump(int fd)
{
	long total = 0;

	// See burn.c: a function that calls nothing gets a frame only if it asks for one.
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (int i = 0; i < READS_PER_PUMP; i++) {
		long n = read_block(fd);

		if (n < 0) {
			fputs("zero_reader: read /dev/zero\n", stderr);
			exit(1);
		}
		total += n;
	}
	return total;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 10;
	long total = 0;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror("open /dev/zero");
		return 1;
	}
	while (cpu_seconds() < limit)
		total += pump(fd);
	printf("bytes %ld\n", total);
	return 0;
}
