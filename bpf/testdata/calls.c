/* Makes known system calls: says how long they took by its own clock. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

__attribute__((noinline)) static void look(void)
{
	struct stat st;

	for (int i = 0; i < 9000; i++)
		stat("/", &st);
	for (int i = 0; i < 1000; i++)
		stat("/does/not/exist", &st);
}

__attribute__((noinline)) static void ask(void)
{
	for (int i = 0; i < 5000; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 7; i++)
		syscall(9999);
}

__attribute__((noinline)) static void rest(void)
{
	for (int i = 0; i < 5; i++)
		usleep(30000);
}

int main(void)
{
	char c, said[32];

	while (read(0, &c, 1) == 1) {
		unsigned long long begin = now();

		look();
		ask();
		rest();
		for (int i = 0; i < 20; i++) {
			if (fork() == 0)
				_exit(0);
			wait(0);
		}
		/* printf looks at its file with another stat. */
		write(1, said, snprintf(said, sizeof(said), "%llu\n", now() - begin));
	}
	return 0;
}
