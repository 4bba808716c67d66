/*
 * Runs along as many call paths as it can: at each of 18 levels one of two
 * functions is called, by the bits of a counter, so there are 262,144 paths.
 * left_N and right_N are called by level N - 1 only.
 */
#define LEVEL(n, next)                                                                  \
	__attribute__((noinline)) void left_##n(unsigned path) { next(path); work++; }  \
	__attribute__((noinline)) void right_##n(unsigned path) { next(path); work++; }
#define CHOOSE(n)                                                         \
	static inline __attribute__((always_inline)) void choose_##n(unsigned path) \
	{                                                                 \
		if (path & (1u << n))                                     \
			left_##n(path);                                   \
		else                                                      \
			right_##n(path);                                  \
	}

static volatile unsigned long work;

static inline __attribute__((always_inline)) void leaf(unsigned path)
{
	for (int i = 0; i < 200; i++)
		work += path;
}

LEVEL(17, leaf) CHOOSE(17)
LEVEL(16, choose_17) CHOOSE(16)
LEVEL(15, choose_16) CHOOSE(15)
LEVEL(14, choose_15) CHOOSE(14)
LEVEL(13, choose_14) CHOOSE(13)
LEVEL(12, choose_13) CHOOSE(12)
LEVEL(11, choose_12) CHOOSE(11)
LEVEL(10, choose_11) CHOOSE(10)
LEVEL(9, choose_10) CHOOSE(9)
LEVEL(8, choose_9) CHOOSE(8)
LEVEL(7, choose_8) CHOOSE(7)
LEVEL(6, choose_7) CHOOSE(6)
LEVEL(5, choose_6) CHOOSE(5)
LEVEL(4, choose_5) CHOOSE(4)
LEVEL(3, choose_4) CHOOSE(3)
LEVEL(2, choose_3) CHOOSE(2)
LEVEL(1, choose_2) CHOOSE(1)
LEVEL(0, choose_1) CHOOSE(0)

int main(void)
{
	unsigned path = 1;

	for (;;) {
		path = path * 1664525u + 1013904223u;
		choose_0(path >> 8);
	}
}
