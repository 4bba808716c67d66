/*
 * Spins with a frame pointer that leads to a record, as it may by chance in code
 * that keeps none: to a return address in no code, and an odd frame pointer.
 * It writes a byte when it is about to.
 */
#include <unistd.h>

int main(void)
{
	/* Not the first words, which lie below the stack pointer. */
	volatile long record[64] = { [32] = 1, 0x2345678 };

	if (write(1, "", 1) != 1)
		return 1;
	__asm__ volatile("mov %0, %%rbp\n1:\tjmp 1b" : : "r"(record + 32));
	__builtin_unreachable();
}
