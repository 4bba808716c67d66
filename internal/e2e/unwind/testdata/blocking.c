/*
 * main calls a, a calls b, b calls a function of the C library that enters the
 * kernel, or that calls back.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;
static int zero;
static FILE *text;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

CALL int compare(const void *x, const void *y)
{
	for (int i = 0; i < 100; i++)
		sink++;
	return *(int *)x - *(int *)y;
}

CALL void b(const char *what)
{
	static char buf[1 << 16];
	if (!strcmp(what, "read")) {
		sink += read(zero, buf, sizeof(buf));
	} else if (!strcmp(what, "getline")) {
		char *line = 0;
		size_t n = 0;
		if (getline(&line, &n, text) < 0)
			rewind(text);
		free(line);
	} else if (!strcmp(what, "qsort")) {
		int v[200];
		for (int i = 0; i < 200; i++)
			v[i] = i * 7919 % 211;
		qsort(v, 200, sizeof(int), compare);
		sink += v[9];
	} else if (!strcmp(what, "wait")) {
		struct timespec past = { 1, 0 };
		pthread_mutex_lock(&mutex);
		pthread_cond_timedwait(&cond, &mutex, &past);
		pthread_mutex_unlock(&mutex);
	} else if (!strcmp(what, "fault")) {
		char *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int i = 0; i < 1 << 20; i += 4096)
			p[i] = 1;
		munmap(p, 1 << 20);
	} else if (!strcmp(what, "vfork")) {
		/* It keeps its return address in a register. */
		if (vfork() == 0)
			_exit(0);
		waitpid(-1, 0, 0);
	} else if (!strcmp(what, "clock")) {
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		sink += now.tv_nsec;
	}
	sink++;
}

CALL void a(const char *what)
{
	b(what);
	sink++;
}

int main(int argc, char **argv)
{
	alarm(300);
	zero = open("/dev/zero", O_RDONLY);
	text = fopen(argv[0], "r");
	for (;;)
		a(argv[1]);
}
