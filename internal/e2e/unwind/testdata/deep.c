/* main calls down, which calls itself as often as the argument says. */
#include <stdlib.h>
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
CALL unsigned long down(int n)
{
	volatile char some[20];
	some[n % 20] = 1;
	if (n == 1)
		spin();
	return down(n - 1) + some[3];
}

int main(int argc, char **argv)
{
	alarm(300);
	sink += down(atoi(argv[1]));
}
