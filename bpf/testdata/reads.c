/*
 * Reads the file of its first argument, which has 1 MiB, in known ways, and a
 * pipe: says how long that took by its own clock.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	static char a[4096], b[4096];
	struct iovec v[2] = { { a, 1000 }, { b, 3000 } };
	char c, said[32];
	int fd, null, pipes[2], sockets[2];

	if (argc < 2)
		return 1;
	fd = open(argv[1], O_RDONLY);
	null = open("/dev/zero", O_RDONLY);
	if (fd < 0 || null < 0 || pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	while (read(0, &c, 1) == 1) {
		unsigned long long begin = now();
		off_t at = 0;

		lseek(fd, 0, SEEK_SET);
		for (int i = 0; i < 5000; i++)
			read(fd, a, 1);
		for (int i = 0; i < 300; i++)
			pread(fd, a, 4096, i * 4096 % 65536);
		for (int i = 0; i < 200; i++)
			preadv(fd, v, 2, 0);
		lseek(fd, 0, SEEK_SET);
		for (int i = 0; i < 100; i++)
			readv(fd, v, 2);
		for (int i = 0; i < 50; i++)
			preadv2(fd, v, 2, 0, 0);
		for (int i = 0; i < 10; i++) {
			sendfile(sockets[0], fd, &at, 4096);
			read(sockets[1], b, 4096);
		}
		pread(fd, a, 4096, 1 << 20); /* at the end: 0 bytes */
		pread(fd, (char *)16, 4096, 0); /* EFAULT */
		/* None of these is a file. */
		for (int i = 0; i < 100; i++)
			read(null, a, 10);
		write(pipes[1], a, 10);
		read(pipes[0], a, 10);
		read(-1, a, 10);
		write(1, said, snprintf(said, sizeof(said), "%llu\n", now() - begin));
	}
	return 0;
}
