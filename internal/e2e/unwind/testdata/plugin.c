/* A library: NAME calls back. FRAME bytes are its frame. */
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

CALL int NAME(void (*back)(void))
{
	volatile char some[FRAME];
	some[FRAME / 2] = 1;
	back();
	return some[FRAME / 2];
}
