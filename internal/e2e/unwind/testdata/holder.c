/* Maps the libraries that it is given, runs nothing of them, and spins. */
#include <dlfcn.h>
#include <unistd.h>

volatile unsigned long sink;

__attribute__((noinline)) void spin(void)
{
	for (;;)
		sink++;
}

int main(int argc, char **argv)
{
	alarm(300);
	for (int i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW))
			return 1;
	spin();
}
