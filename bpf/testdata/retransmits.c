/*
 * Makes TCP send things again for three seconds: to an accepted socket that
 * drops all it gets, and from a socket that drops the answer to its SYN. The
 * argument is 4, 6, or 46 for IPv4 in IPv6. Says the port of the listener.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void drop_all(int fd)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, 0 } };
	struct sock_fprog prog = { 1, code };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)))
		exit(1);
}

__attribute__((noinline)) static void speak(int fd)
{
	static char data[100];

	write(fd, data, sizeof(data));
}

int main(int argc, char **argv)
{
	int mode = argc > 1 ? atoi(argv[1]) : 4, six = mode != 4, listener, client, accepted, silent;
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	void *address = six ? (void *)&a6 : &a4;
	socklen_t size = six ? sizeof(a6) : sizeof(a4);
	char c, said[32];
	int port;

	if (mode == 46)
		inet_pton(AF_INET6, "::ffff:127.0.0.1", &a6.sin6_addr);
	while (read(0, &c, 1) == 1) {
		a4.sin_port = a6.sin6_port = 0;
		listener = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
		if (bind(listener, address, size) || listen(listener, 5) ||
		    getsockname(listener, address, &size))
			return 1;
		port = ntohs(six ? a6.sin6_port : a4.sin_port);
		client = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
		if (connect(client, address, size))
			return 1;
		accepted = accept(listener, 0, 0);
		drop_all(accepted);
		speak(client);
		silent = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		drop_all(silent);
		if (!connect(silent, address, size) || errno != EINPROGRESS)
			return 1;
		usleep(3500000);
		close(silent);
		close(client);
		close(accepted);
		close(listener);
		write(1, said, snprintf(said, sizeof(said), "%d\n", port));
	}
	return 0;
}
