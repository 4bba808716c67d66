/*
 * Opens and reads the file of its first argument, which has 1 MiB, by calls of
 * 32-bit programs: x86's interrupt 0x80. Link it without PIE, so that what the
 * calls point to lies below 4 GiB. Says 0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static long call(long nr, long a, long b, long c, long d, long e)
{
	long result, sixth = 0;

	__asm__ volatile("xchg %%rbp, %1; int $0x80; xchg %%rbp, %1"
			 : "=a"(result), "+&r"(sixth)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}

static struct {
	unsigned int base, len;
} vector[1];
static struct {
	unsigned long long flags, mode, resolve;
} how;
static char name[4096], buf[4096];
static long long at64;
static int at;

static void opens(void)
{
	for (int i = 0; i < 11; i++)
		close(call(5, (long)name, O_RDONLY, 0, 0, 0)); /* open */
	for (int i = 0; i < 12; i++)
		call(8, (long)"/missing/file", 0600, 0, 0, 0); /* creat */
	for (int i = 0; i < 13; i++)
		close(call(295, AT_FDCWD, (long)name, O_RDONLY, 0, 0)); /* openat */
	for (int i = 0; i < 14; i++)
		close(call(437, AT_FDCWD, (long)name, (long)&how, sizeof(how), 0)); /* openat2 */
}

static void reads(int fd, int socket)
{
	for (int i = 0; i < 21; i++)
		call(3, fd, (long)buf, 100, 0, 0); /* read */
	for (int i = 0; i < 22; i++)
		call(145, fd, (long)vector, 1, 0, 0); /* readv */
	for (int i = 0; i < 23; i++)
		call(180, fd, (long)buf, 100, 0, 0); /* pread64 */
	for (int i = 0; i < 24; i++)
		call(333, fd, (long)vector, 1, 0, 0); /* preadv */
	for (int i = 0; i < 25; i++)
		call(378, fd, (long)vector, 1, 0, 0); /* preadv2 */
	for (int i = 0; i < 6; i++)
		call(187, socket, fd, (long)&at, 100, 0); /* sendfile */
	for (int i = 0; i < 7; i++)
		call(239, socket, fd, (long)&at64, 100, 0); /* sendfile64 */
}

int main(int argc, char **argv)
{
	int fd, sockets[2];
	char c;

	if (argc < 2 || strlen(argv[1]) >= sizeof(name))
		return 1;
	strcpy(name, argv[1]);
	vector[0].base = (unsigned int)(long)buf;
	vector[0].len = 100;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	while (read(0, &c, 1) == 1) {
		fd = open(name, O_RDONLY);
		if (fd < 0)
			return 1;
		opens();
		reads(fd, sockets[0]);
		write(1, "0\n", 2);
	}
	return 0;
}
