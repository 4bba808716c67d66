/*
 * main calls a, which jumps to b, whose caller is so main. b calls last, which
 * ends with a call that never returns; what follows it has another frame.
 */
#include <setjmp.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;
static jmp_buf begin;

CALL static _Noreturn void spin(void)
{
	for (int i = 0; i < 100000; i++)
		sink++;
	longjmp(begin, 1);
}

CALL void last(unsigned long n)
{
	volatile char some[200];
	some[n % 200] = 1;
	spin();
}

CALL unsigned long after(unsigned long *p)
{
	unsigned long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4];
	sink += a;
	return a * b + c * d + e + sink;
}

CALL void b(unsigned long n)
{
	volatile char some[5000];
	some[n % 5000] = 1;
	last(n + 1);
	sink++;
}

CALL void a(unsigned long n)
{
	b(n + 1);
}

int main(void)
{
	unsigned long words[5] = { 0 };
	alarm(300);
	setjmp(begin);
	a(sink);
	after(words);
}
