/* Two coroutines on stacks from malloc, that take turns: entry calls x, x calls y. */
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;
static ucontext_t context[2];

CALL void spin(void)
{
	for (int i = 0; i < 20000; i++)
		sink++;
}
CALL void y(int me)
{
	spin();
	swapcontext(&context[me], &context[!me]);
	sink++;
}
CALL void x(int me)
{
	volatile char some[100];
	some[sink % 100] = 1;
	y(me);
	sink++;
}
static void entry(int me)
{
	for (;;)
		x(me);
}

int main(void)
{
	alarm(300);
	for (int i = 0; i < 2; i++) {
		getcontext(&context[i]);
		context[i].uc_stack.ss_size = 1 << 16;
		context[i].uc_stack.ss_sp = malloc(1 << 16);
		context[i].uc_link = 0;
		makecontext(&context[i], (void (*)(void))entry, 1, i);
	}
	setcontext(&context[0]);
}
