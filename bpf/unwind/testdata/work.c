/* libc from many sides: callbacks, formatted output, signals, memory. */
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned handled;
static int cmp(const void *a, const void *b)
{
	return strcmp(*(char **)a, *(char **)b);
}

static void on_signal(int sig)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "signal %d %f", sig, handled++ * 1.25);
}

__attribute__((noinline)) static int tail(const char *s)
{
	return atoi(s);
}

__attribute__((noinline)) static int number(const char *s)
{
	return tail(s + 1);
}

int main(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	char *v[200];

	signal(SIGVTALRM, on_signal);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	for (unsigned i = 0;; i++) {
		void *root = NULL;

		for (int j = 0; j < 200; j++) {
			char buf[80];
			time_t t = i * 1000 + j;
			struct tm tm;

			strftime(buf, sizeof(buf), "%c %Z", localtime_r(&t, &tm));
			asprintf(&v[j], "%s %d %g", buf, rand(), strtod(buf + 8, NULL));
			tsearch(v[j], &root, (int (*)(const void *, const void *))strcmp);
			handled += number(v[j]);
		}
		tdestroy(root, free);
		for (int j = 0; j < 200; j++) {
			v[j] = malloc(rand() % 2000 + 40);
			memset(v[j], 0, 40);
			sprintf(v[j], "%d", rand());
		}
		qsort(v, 200, sizeof(*v), cmp);
		for (int j = 0; j < 200; j++)
			free(v[j]);
		getppid();
	}
}
