/* main calls a, a calls b, b calls c, which spins and jumps back into main. */
#include <setjmp.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;
static jmp_buf begin;

CALL void spin(void)
{
	for (int i = 0; i < 2000; i++)
		sink++;
}
CALL void c(void)
{
	spin();
	longjmp(begin, 1);
}
CALL void b(void)
{
	volatile char some[300];
	some[sink % 300] = 1;
	c();
	sink++;
}
CALL void a(void)
{
	b();
	sink++;
}

int main(void)
{
	alarm(300);
	setjmp(begin);
	a();
}
