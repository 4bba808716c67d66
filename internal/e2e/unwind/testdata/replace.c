/*
 * Maps the code of two libraries in turn at the same address, 100 times a
 * second, and calls it: main calls a, a calls first, first calls spin_first; or
 * main calls b, b calls second, second calls spin_second.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;
static char *place;
static int file[2];
static long offset[2];

CALL void spin_first(void)
{
	for (int i = 0; i < 20000; i++)
		sink++;
}
CALL void spin_second(void)
{
	for (int i = 0; i < 20000; i++)
		sink++;
}

static int (*put(int which))(void (*)(void))
{
	mmap(place, 4096, PROT_READ | PROT_EXEC, MAP_FIXED | MAP_PRIVATE, file[which], offset[which] & ~4095);
	return (int (*)(void (*)(void)))(place + (offset[which] & 4095));
}

static int more(struct timespec *begin)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begin->tv_sec) * 1000000000 + now.tv_nsec - begin->tv_nsec < 10000000;
}

CALL void a(void)
{
	struct timespec begin;
	int (*code)(void (*)(void)) = put(0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (more(&begin))
		sink += code(spin_first);
}
CALL void b(void)
{
	struct timespec begin;
	volatile char some[1000];
	int (*code)(void (*)(void)) = put(1);
	some[sink % 1000] = 1;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (more(&begin))
		sink += code(spin_second);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "first", "second" };
	alarm(300);
	for (int i = 0; i < 2; i++) {
		Dl_info info;
		char *at = dlsym(dlopen(argv[i + 1], RTLD_NOW), names[i]);
		dladdr(at, &info);
		offset[i] = at - (char *)info.dli_fbase; /* the linker puts code at its file offset */
		file[i] = open(argv[i + 1], O_RDONLY);
	}
	place = mmap(0, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
	for (;;) {
		a();
		b();
	}
}
