/*
 * Opens files in known ways, in the folder of its first argument, which has a
 * file called file: says how long that took by its own clock.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void done(long fd)
{
	if (fd >= 0)
		close(fd);
}

/* 10,000 opens of 7 paths, 3 of which do not exist. */
__attribute__((noinline)) static void many(void)
{
	static const char *paths[] = { "/etc/passwd", "/dev/null", "/", "file",
				       "/missing/one", "/missing/two", "missing" };

	for (int i = 0; i < 10000; i++)
		done(open(paths[i % 7], O_RDONLY | O_CLOEXEC));
}

__attribute__((noinline)) static void ways(void)
{
	struct open_how how = { .flags = O_RDONLY };
	static char name[5000];
	long page = sysconf(_SC_PAGESIZE);
	char *edge;
	int dir;

#ifdef SYS_open
	done(syscall(SYS_open, "/dev/zero", O_RDONLY));
	done(syscall(SYS_creat, "made", 0600));
#endif
	done(syscall(SYS_openat2, AT_FDCWD, "/dev/full", &how, sizeof(how)));
	dir = open("/etc", O_PATH | O_DIRECTORY);
	done(openat(dir, "hostname", O_RDONLY));
	done(openat(dir, "no;such\nname", O_RDONLY));
	close(dir);
	memset(name, 'x', 4095);
	done(open(name, O_RDONLY)); /* ENAMETOOLONG: 4,095 bytes and no zero that fits */
	name[255] = 0;
	name[0] = '/';
	done(open(name, O_RDONLY));
	/* The name ends where memory ends. */
	edge = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(edge + page, page);
	strcpy(edge + page - 10, "/dev/zero");
	done(open(edge + page - 10, O_RDONLY));
	done(syscall(SYS_openat, AT_FDCWD, 16, O_RDONLY)); /* EFAULT */
}

int main(int argc, char **argv)
{
	char c, said[32];

	if (argc < 2 || chdir(argv[1]))
		return 1;
	while (read(0, &c, 1) == 1) {
		unsigned long long begin = now();

		many();
		ways();
		write(1, said, snprintf(said, sizeof(said), "%llu\n", now() - begin));
	}
	return 0;
}
