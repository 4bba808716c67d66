/*
 * 2,000 executable pages that are mapped one by one, from a file and from
 * memory. main calls a, a calls code in one of the last of them, which calls
 * spin, and then qsort with compare.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
CALL int compare(const void *x, const void *y)
{
	for (int i = 0; i < 1000; i++)
		sink++;
	return *(int *)x - *(int *)y;
}
CALL void a(void (*code)(void (*)(void)))
{
	int v[20] = { 3, 1, 2, 5, 9, 4 };
	code(spin);
	qsort(v, 20, sizeof(int), compare);
	sink++;
}

int main(void)
{
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	int file = memfd_create("pages", 0);
	char page[4096] = { 0 };
	void *last[2];

	alarm(300);
	memcpy(page, code, sizeof(code));
	for (int i = 0; i < 1000; i++)
		write(file, page, sizeof(page));
	for (int i = 0; i < 1000; i++) {
		/* A page that is not mapped lies between two of them. */
		char *at = mmap(0, 4 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		last[0] = mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_FIXED | MAP_PRIVATE, file, i * 4096L);
		last[1] = mmap(at + 2 * 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(last[1], code, sizeof(code));
	}
	for (int i = 0;; i++)
		a((void (*)(void (*)(void)))last[i & 1]);
}
