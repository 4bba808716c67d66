/*
 * An HTTP server that gets each page from a plugin. Built as it is, it opens
 * the plugin for each request, and the dynamic loader looks for it and for the
 * libraries it needs in every folder of LD_LIBRARY_PATH. Built with -DFIXED it
 * opens the plugin once. One page is made at a time, as with plugins that know
 * nothing of threads.
 *
 *   server PORT    answers on 127.0.0.1 until it is killed; PORT 0 takes a free one
 *
 * It prints the port on standard output when it listens.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORKERS 4
#define PLUGIN "libpage.so"

typedef int (*render_function)(char *page, size_t size);

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *open_plugin(render_function *render)
{
	void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)render = dlsym(plugin, "render");
	if (!*render) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return plugin;
}

#ifdef FIXED
static render_function page_render;

static void prepare(void)
{
	open_plugin(&page_render);
}

static int make_page(char *page, size_t size)
{
	return page_render(page, size);
}
#else
static void prepare(void)
{
}

static int make_page(char *page, size_t size)
{
	render_function render;
	void *plugin = open_plugin(&render);
	int length = render(page, size);

	dlclose(plugin);
	return length;
}
#endif

/* Writes all of it, false if the client is gone. */
static int send_all(int client, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(client, data, size, MSG_NOSIGNAL);

		if (sent <= 0)
			return 0;
		data += sent;
		size -= (size_t)sent;
	}
	return 1;
}

/* Answers the requests of a connection; a client that asks too much is left. */
static void serve(int client)
{
	char request[4096], page[4096], answer[8192];
	size_t have = 0;

	for (;;) {
		char *end;
		ssize_t got = recv(client, request + have, sizeof(request) - 1 - have, 0);

		if (got <= 0)
			return;
		have += (size_t)got;
		request[have] = 0;
		while ((end = strstr(request, "\r\n\r\n"))) {
			int length, size;

			pthread_mutex_lock(&one_at_a_time);
			length = make_page(page, sizeof(page));
			pthread_mutex_unlock(&one_at_a_time);
			size = snprintf(answer, sizeof(answer),
					    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
					    "Content-Length: %d\r\n\r\n%.*s", length, length, page);

			if (!send_all(client, answer, (size_t)size))
				return;
			end += 4;
			have -= (size_t)(end - request);
			memmove(request, end, have + 1);
		}
		if (have == sizeof(request) - 1)
			return;
	}
}

static void *work(void *listener)
{
	for (;;) {
		int client = accept(*(int *)listener, NULL, NULL);

		if (client < 0)
			continue;
		serve(client);
		close(client);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	pthread_t worker;

	if (argc != 2) {
		fprintf(stderr, "usage: %s PORT\n", argv[0]);
		return 2;
	}
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((unsigned short)atoi(argv[1]));
	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 64) ||
	    getsockname(listener, (struct sockaddr *)&address, &size))
		fail("listen");
	prepare();
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&worker, NULL, work, &listener))
			fail("start a thread");
	for (;;)
		pause();
}
