/* Functions that align their stack: main calls a, ... , d calls spin. */
#include <alloca.h>
#include <string.h>
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;

CALL void spin(void)
{
	for (int i = 0; i < 20000; i++)
		sink++;
}

/* Aligned, a size known at run time only, and arguments on the stack. */
CALL unsigned long d(int n, int o, int p, int q, int r, int s, int t, int u)
{
	_Alignas(64) char aligned[n + 64];
	char *more = alloca(n + u);
	memset(aligned, n, n);
	memset(more, o, n);
	spin();
	return aligned[o & 7] + more[p & 7] + t;
}

CALL unsigned long c(int n)
{
	char *some = alloca(n * 2);
	memset(some, 1, n);
	return d(n, 1, 2, 3, 4, 5, 6, 7) + some[3];
}

/* Vectors that need an aligned slot. */
typedef double vector __attribute__((vector_size(32)));
CALL vector b(vector x, int n)
{
	vector y = x * x;
	sink += c(n);
	return x + y;
}

CALL unsigned long a(int n)
{
	_Alignas(128) volatile vector x = { n, 1, 2, 3 };
	x = b(x, n);
	return x[1];
}

int main(void)
{
	alarm(300);
	for (int i = 0;; i++)
		sink += a(40 + i % 50);
}
