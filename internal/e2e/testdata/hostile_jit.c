// SPDX-License-Identifier: Apache-2.0
//
// hostile_jit: runs code made at run time under a name that no format likes.
// It writes /tmp/perf-PID.map as a JIT compiler would and removes it on SIGTERM.
//
// Known answer: main;run, then one JIT frame, which is the leaf.

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// push %rbp; mov %rsp,%rbp; mov $0x800000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xb9, 0x00, 0x00, 0x80, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3,
};

// A separator, markup, a control byte, what is not UTF-8, and a count at the end.
#define NAME "evil;name </script>&\"'\x01\x1b[31m\xff\xfe 12"

static char map_path[64];

static void clean_up(int signal)
{
	(void)signal;
	unlink(map_path);
	_exit(0);
}

__attribute__((noinline, noclone)) void run(void (*jit)(void))
{
	jit();
	__asm__ volatile("" : : : "memory");
}

int main(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	if (page == MAP_FAILED)
		return 1;
	memcpy(page, code, sizeof(code));
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	signal(SIGTERM, clean_up);
	map = fopen(map_path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx %s\n", (unsigned long)page, sizeof(code), NAME);
	fclose(map);
	for (;;)
		run((void (*)(void))page);
}
