/*
 * A thread that no library made: child spins on a stack whose upper end holds
 * addresses of data, with a frame pointer that leads to the same.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;
static void *data[64];

CALL void spin(void)
{
	for (int i = 0; i < 20000; i++)
		sink++;
}
CALL void child(void)
{
	for (;;) {
		spin();
		sink++;
	}
}

int main(void)
{
	const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	void **top = (void **)malloc(1 << 16) + (1 << 12);
	long ret;

	alarm(300);
	for (int i = 0; i < 64; i++)
		data[i] = top[i] = &data[i / 2 * 2];
	asm volatile("mov %[data], %%r8\n"
		     "	xor %%r10d, %%r10d\n"
		     "	xor %%edx, %%edx\n"
		     "	syscall\n"
		     "	test %%rax, %%rax\n"
		     "	jnz 1f\n"
		     "	mov %[data], %%rbp\n"
		     "	call child\n"
		     "1:\n"
		     : "=a"(ret)
		     : "a"((long)SYS_clone), "D"(flags), "S"(top), [data] "b"(data)
		     : "rcx", "rdx", "r8", "r10", "r11", "memory");
	for (;;)
		pause();
}
