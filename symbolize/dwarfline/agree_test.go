package dwarfline

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// templates is a program that consists of inlined calls mostly.
const templates = `
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace work {
struct item { int key; std::string text; std::vector<double> values; };
template <class T> struct tree {
	struct node { T v; std::unique_ptr<node> l, r; };
	std::unique_ptr<node> root;
	void add(const T &v) { auto *p = &root; while (*p) p = v < (*p)->v ? &(*p)->l : &(*p)->r; *p = std::make_unique<node>(node{v, nullptr, nullptr}); }
	template <class F> void each(F f) const { walk(root.get(), f); }
	template <class F> static void walk(const node *n, F &f) { if (n) { walk(n->l.get(), f); f(n->v); walk(n->r.get(), f); } }
};
static std::map<std::string, item> index(const std::vector<item> &all) {
	std::map<std::string, item> m;
	for (const auto &i : all) m[i.text + std::to_string(i.key)] = i;
	return m;
}
}

int main(int argc, char **argv) {
	std::vector<work::item> all;
	for (int i = 0; i < 100 * argc; i++) all.push_back({i * 7919 % 101, std::string(i % 17, 'x'), {1.0 * i, 2.0}});
	std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.key < b.key; });
	std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.text < b.text; });
	auto m = work::index(all);
	std::unordered_map<int, std::vector<std::string>> by;
	for (auto &[k, v] : m) by[v.key].push_back(k);
	work::tree<std::string> t; work::tree<int> n;
	for (auto &[k, v] : m) { t.add(k); n.add(v.key); }
	long sum = 0;
	n.each([&](int v) { sum += v; });
	t.each([&](const std::string &v) { sum += v.size(); });
	std::regex re("(a|b)*x+[0-9]{1,3}");
	std::smatch found;
	for (auto &[k, v] : m) if (std::regex_match(k, found, re)) sum += found.size();
	std::set<double> ds;
	for (auto &i : all) ds.insert(std::accumulate(i.values.begin(), i.values.end(), 0.0));
	std::ostringstream out;
	for (double d : ds) out << d << ' ';
	std::function<long(long)> fn = [&](long x) { return x < 2 ? x : fn(x - 1) + fn(x - 2); };
	std::thread th([&] { sum += fn(10); });
	th.join();
	std::cout << sum << out.str().size() << argv[0] << std::endl;
}
`

func TestAgreesWithAddr2lineOnTemplates(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]string{
		"gcc dwarf 5": "g++ -gdwarf-5", "gcc dwarf 4": "g++ -gdwarf-4", "clang dwarf 5": "clang++-14 -gdwarf-5", "clang dwarf 4": "clang++-14 -gdwarf-4",
		"sections, garbage collected": "g++ -g -ffunction-sections -Wl,--gc-sections",
		"compressed":                  "g++ -g -gz=zlib", "type units": "g++ -g -fdebug-types-section", "64-bit format": "g++ -gdwarf-5 -gdwarf64",
		"link-time optimization": "g++ -g -flto",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := build(t, map[string]string{"a.cc": templates}, flags+" -O2 -std=c++17 -pthread -o a a.cc")
			path := filepath.Join(dir, "a")
			pcs := addresses(t, path, 20000)
			differ, inlined := compare(t, path, pcs)
			bad := 0
			for _, n := range differ {
				bad += n
			}
			t.Logf("%d of %d addresses differ: %v; %d are in inlined calls", bad, len(pcs), differ, inlined)
			assert.Greater(t, len(pcs), 10000)
			assert.Greater(t, inlined, len(pcs)/4)
			assert.LessOrEqual(t, bad, len(pcs)/200)
		})
	}
}
