/*
 * One thread holds a lock again and again, another waits for it: says how long
 * the waits took by its own clock. Four threads write to one pipe at the same
 * time, so that they wait for a lock of the kernel.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 300

static atomic_int turn;
static int pipes[2];

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void *holder(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load(&turn) != 1)
			sched_yield();
		usleep(2000);
		atomic_store(&turn, 0);
		syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	}
	return 0;
}

__attribute__((noinline)) static unsigned long long await(void)
{
	unsigned long long waited = 0;

	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&turn, 1);
		while (atomic_load(&turn) == 1) {
			unsigned long long begin = now();

			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0);
			waited += now() - begin;
		}
	}
	return waited;
}

static void *writer(void *arg)
{
	static char data[4096];

	for (int i = 0; i < 20000; i++)
		write(pipes[1], data, 64);
	return 0;
}

static void *drain(void *arg)
{
	static char data[65536];

	while (read(pipes[0], data, sizeof(data)) > 0)
		;
	return 0;
}

int main(void)
{
	char c, said[32];

	while (read(0, &c, 1) == 1) {
		unsigned long long waited;
		pthread_t h, w[4], r;

		pthread_create(&h, 0, holder, 0);
		waited = await();
		pthread_join(h, 0);
		if (pipe(pipes))
			return 1;
		pthread_create(&r, 0, drain, 0);
		for (int i = 0; i < 4; i++)
			pthread_create(&w[i], 0, writer, 0);
		for (int i = 0; i < 4; i++)
			pthread_join(w[i], 0);
		close(pipes[1]);
		pthread_join(r, 0);
		close(pipes[0]);
		write(1, said, snprintf(said, sizeof(said), "%llu\n", waited));
	}
	return 0;
}
