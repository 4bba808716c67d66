package dwarfline

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
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
	dir := fixture.Build(t, map[string]string{"a.cc": templates}, "g++ -g -O2 -std=c++17 -pthread -o a a.cc")
	requireAgreement(t, filepath.Join(dir, "a"), 20000, addr2line)
}

func TestAgreesWithLLVMOnTemplates(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.cc": templates}, "clang++-14 -gdwarf-5 -O2 -std=c++17 -pthread -o a a.cc")
	requireAgreement(t, filepath.Join(dir, "a"), 20000, llvmSymbolizer)
}

const rustProgram = `
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
mod shapes {
    pub trait Area { fn area(&self) -> f64; }
    pub struct Circle(pub f64);
    pub struct Square(pub f64);
    impl Area for Circle { fn area(&self) -> f64 { self.0 * self.0 * 3.14 } }
    impl Area for Square { #[inline(always)] fn area(&self) -> f64 { self.0 * self.0 } }
}
use shapes::Area;
#[inline(always)] fn inner(x: u64) -> u64 { x.wrapping_mul(31).rotate_left(7) }
#[inline(always)] fn middle(x: u64) -> u64 { (0..x % 17).map(|y| inner(y ^ x)).sum() }
#[inline(never)] fn outer(x: u64) -> u64 { middle(x) + middle(x + 1) }
fn main() {
    let n = std::env::args().count() as u64;
    let words: Vec<String> = (0..1000 * n).map(|i| format!("w{}", outer(i))).collect();
    let mut map: HashMap<&str, usize> = HashMap::new();
    for w in &words { *map.entry(w).or_default() += w.len(); }
    let tree: BTreeMap<_, _> = map.iter().map(|(k, v)| (v, k)).collect();
    let mut out = String::new();
    for (k, v) in tree.iter().rev().take(10) { write!(out, "{k}:{v} ").unwrap(); }
    let all: Vec<Box<dyn Area>> = vec![Box::new(shapes::Circle(1.0)), Box::new(shapes::Square(n as f64))];
    let sum: f64 = all.iter().map(|a| a.area()).sum();
    let mut sorted = words.clone();
    sorted.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    sorted.dedup_by_key(|s| s.len());
    println!("{out} {sum} {:?}", sorted);
}
`

func TestAgreesWithAddr2lineOnRust(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.rs": rustProgram}, "rustc -g -O -C codegen-units=4 -o a a.rs")
	requireAgreement(t, filepath.Join(dir, "a"), 12000, addr2line)
}

const goProgram = `package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	json.NewEncoder(os.Stdout).Encode(map[string]any{"a": fmt.Sprint(len(os.Args))})
}
`

// Go writes its debug information compressed, with indexed addresses.
func TestAgreesWithLLVMOnGo(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.go": goProgram}, "go build -o a a.go")
	requireAgreement(t, filepath.Join(dir, "a"), 12000, func(t testing.TB, path string, pcs []addr.File) []told {
		answers := llvmSymbolizer(t, path, pcs)
		for _, a := range answers {
			for i := range a { // it puts the folder "." before itself
				a[i][1] = strings.Replace(a[i][1], "././", "./", 1)
			}
		}
		return answers
	})
}
