/*
 * Loads a library, calls its function first for 100 ms of CPU time, and lets go
 * of it, again and again: main calls once, once calls first, first calls spin.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
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
CALL void once(const char *name)
{
	void *lib = dlopen(name, RTLD_LAZY);
	int (*first)(void (*)(void)) = dlsym(lib, "first");
	clock_t end = clock() + CLOCKS_PER_SEC / 10;
	while (clock() < end)
		sink += first(spin);
	dlclose(lib);
	sink++;
}

int main(int argc, char **argv)
{
	alarm(300);
	for (;;)
		for (int i = 1; i < argc; i++)
			once(argv[i]);
}
