/* Makes the kernel allocate known sizes: says how often. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define ROUNDS 1000

/* 256 slots of 40 bytes: 10,240 bytes, which are four pages. */
__attribute__((noinline)) static void grow(int fd)
{
	fcntl(fd, F_SETPIPE_SZ, 1 << 20);
}

int main(void)
{
	char c;
	int pipes[2];

	if (pipe(pipes))
		return 1;
	while (read(0, &c, 1) == 1) {
		for (int i = 0; i < ROUNDS; i++) {
			grow(pipes[1]);
			fcntl(pipes[1], F_SETPIPE_SZ, 1 << 16);
		}
		write(1, "1000\n", 5);
	}
	return 0;
}
