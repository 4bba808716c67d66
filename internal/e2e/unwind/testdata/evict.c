/*
 * main calls a, a calls b, b calls c, c calls spin; pages of the stack of a are
 * not in memory any more.
 */
#include <sys/mman.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;

CALL void spin(void)
{
	for (;;)
		sink++;
}
CALL void c(char *page)
{
	madvise(page, 4 * 4096, MADV_DONTNEED);
	spin();
}
CALL void b(char *page)
{
	volatile char some[3 * 4096];
	some[0] = 1;
	c(page);
	sink++;
}
CALL void a(unsigned long n)
{
	volatile char some[3 * 4096];
	some[0] = 1;
	/* From the page above the frame of b on, as far as that of main. */
	b((char *)(((unsigned long)some + 4096) & ~4095UL));
	sink++;
}

int main(void)
{
	volatile char some[8 * 4096]; /* what lies above is read by others */
	some[0] = 1;
	alarm(300);
	a(1);
}
