/* main calls a, a calls functions of a library by the linkage table. */
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

extern int tiny(int), small(int);
volatile unsigned long sink;

CALL void a(int n)
{
	sink += tiny(n) + small(n);
}

int main(void)
{
	alarm(300);
	for (int i = 0;; i++)
		a(i);
}
