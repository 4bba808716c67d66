/*
 * System calls that do not end as others do: refused by seccomp, in a thread
 * that is killed, and an exec by a thread that is not the first. Says 0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void refuse(int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void *exec_true(void *arg)
{
	execl("/bin/true", "true", NULL);
	return 0;
}

int main(void)
{
	char c;

	while (read(0, &c, 1) == 1) {
		pid_t child = fork();

		if (child == 0) { /* refused by seccomp */
			refuse(SYS_getppid);
			for (int i = 0; i < 100; i++)
				syscall(SYS_getppid);
			for (int i = 0; i < 100; i++)
				syscall(SYS_getuid);
			_exit(0);
		}
		waitpid(child, 0, 0);
		child = fork();
		if (child == 0) { /* killed in a sleep */
			for (;;)
				sleep(1000);
		}
		usleep(100000);
		kill(child, SIGKILL);
		waitpid(child, 0, 0);
		child = fork();
		if (child == 0) { /* exec by another thread, the first one sleeps */
			pthread_t t;

			pthread_create(&t, 0, exec_true, 0);
			for (;;)
				sleep(1000);
		}
		waitpid(child, 0, 0);
		write(1, "0\n", 2);
	}
	return 0;
}
