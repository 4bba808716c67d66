// SPDX-License-Identifier: Apache-2.0
/* Half of a recursion; SELF and OTHER are the names of the two halves. */
#include <stdlib.h>

__attribute__((noinline)) long OTHER(long depth);

__attribute__((noinline)) long SELF(long depth)
{
	volatile long here = depth;

	if (depth == 0)
		for (;;)
			here++;
	here += OTHER(depth - 1);
	return here;
}

#ifdef MAIN
int main(int argc, char **argv)
{
	return SELF(atoi(argv[argc - 1]));
}
#endif
