/* Calls a function of a library over and over. */
#include <unistd.h>

void crunch(void);
volatile unsigned long sink;

int main(void)
{
	alarm(300);
	for (;;) {
		crunch();
		sink++;
	}
}
