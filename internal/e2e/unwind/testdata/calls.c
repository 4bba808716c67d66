/* main calls a, a calls b, b calls c, c calls spin. */
#ifndef SPIN
#define SPIN 20000
#endif
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

extern unsigned alarm(unsigned);
volatile unsigned long sink;

CALL void spin(void)
{
	for (int i = 0; i < SPIN; i++)
		sink++;
}

/* Registers that are kept over calls. */
CALL unsigned long c(unsigned long *p)
{
	unsigned long q = p[0], r = p[1], s = p[2], t = p[3], u = p[4], v = p[5];
	spin();
	return q + r * s + t * u + v + sink;
}

/* A large frame. */
CALL unsigned long b(int i, int j)
{
	unsigned long words[700];
	for (int n = 0; n < 8; n++)
		words[n] = i + j * n;
	return c(words) + words[5];
}

/* Arguments on the stack. */
CALL unsigned long a(int p, int q, int r, int s, int t, int u, int v, int w, int x, int y)
{
	unsigned long n = b(p + w, q + x) + y;
	return n + r + s + t + u + v;
}

int main(void)
{
	alarm(300);
	for (int i = 0;; i++)
		sink += a(i, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}
