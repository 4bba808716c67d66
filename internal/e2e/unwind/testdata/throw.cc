// main calls a, a calls b, b calls c, c throws; a catches what c throws, and
// calls spin in the handler.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;

extern "C" CALL void spin()
{
	for (int i = 0; i < 3000; i++)
		sink++;
}

struct Guard {
	~Guard() { sink++; }
};

extern "C" CALL void c(int n)
{
	Guard g;
	if (sink + n != 1)
		throw std::runtime_error("no " + std::to_string(n));
}

extern "C" CALL void b(int n)
{
	Guard g;
	c(n + 1);
	sink++;
}

extern "C" CALL void a(int n)
{
	try {
		b(n);
	} catch (const std::exception &e) {
		sink += e.what()[0];
		spin();
	}
}

extern "C" CALL bool less(int x, int y)
{
	spin();
	return x < y;
}

// Calls by way of the library's templates, in a thread.
extern "C" CALL void sorter()
{
	std::vector<int> v(50);
	for (unsigned i = 0; i < v.size(); i++)
		v[i] = i * 7919 % 101;
	std::function<bool(int, int)> f = less;
	std::sort(v.begin(), v.end(), f);
	sink += v[3];
}

int main()
{
	alarm(300);
	std::thread other([] { for (;;) sorter(); });
	for (int i = 0;; i++)
		a(i);
}
