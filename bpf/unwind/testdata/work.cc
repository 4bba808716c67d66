// Standard containers, exceptions, virtual calls and aligned variables.
#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
#include <alloca.h>
#include <cmath>
#include <cstdlib>
#include <cstring>

struct Shape {
	virtual ~Shape() {}
	virtual double area(int n) const = 0;
};
struct Square : Shape {
	double area(int n) const override
	{
		if (n % 7 == 0)
			throw std::runtime_error("seven");
		return n * 2.5;
	}
};

__attribute__((noinline)) double aligned(int n, double a, double b, double c, double d, int e, int f, int g, int h)
{
	alignas(64) volatile double v[64];
	char *p = (char *)alloca(n % 200 + 16);
	memset(p, n, n % 200 + 16);
	for (int i = 0; i < 64; i++)
		v[i] = std::sin(a * i) + b + c + d + e + f + g + h + p[i % 16];
	return v[n % 64];
}

__attribute__((noinline)) double recurse(int depth, const Shape &s)
{
	volatile char pad[64];
	pad[depth % 64] = 1;
	if (depth == 0) {
		try {
			return s.area(rand() % 21);
		} catch (const std::exception &e) {
			return strlen(e.what());
		}
	}
	return recurse(depth - 1, s) + pad[depth % 64];
}

int main()
{
	std::map<std::string, double> m;
	Square s;
	for (unsigned i = 0;; i++) {
		std::ostringstream o;
		o << "key " << i % 500 << ' ' << aligned(i % 1000, i, 1, 2, 3, 4, 5, 6, 7);
		m[o.str().substr(0, 8)] += recurse(i % 40, s);
		std::vector<std::string> v;
		for (int j = 0; j < 50; j++)
			v.push_back(std::to_string(rand()));
		std::sort(v.begin(), v.end(), [](auto &a, auto &b) { return strcmp(a.c_str(), b.c_str()) < 0; });
	}
}
