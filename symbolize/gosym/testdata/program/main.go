// Command fixture is a program with known functions. It answers what its own
// runtime says about addresses: for each line of input, the distance of an
// address from the start of main.a, it prints function, file and line.
package main

import (
	"bufio"
	"os"
	"reflect"
	"runtime"
	"strconv"

	"fixture/native"
)

var sink int

//go:noinline
func a(n int) int {
	n += 3
	n = b(n) // a calls b
	return n * 5
}

func b(n int) int {
	sink++
	return c(n) + sink // b calls c
}

func c(n int) int {
	sink += n * 7 // c works
	return sink ^ n
}

//go:noinline
func generic[K comparable, V any](m map[K]V, k K) V {
	sink++
	return m[k]
}

type pair[T any] struct{ x, y T }

//go:noinline
func (p *pair[T]) swap() { p.x, p.y = p.y, p.x }

type counter struct{ n int }

//go:noinline
func (c counter) value() int { return c.n + sink }

//go:noinline
func (c *counter) add(n int) { c.n += n + sink }

type valuer interface{ value() int }

//go:noinline
func closure(n int) func() int {
	return func() int {
		sink += n
		return sink
	}
}

func main() {
	x := &counter{n: a(len(os.Args))}
	x.add(generic(map[string]int{"x": 1}, "x") + generic(map[int]int{1: 1}, 1))
	p := &pair[string]{"x", "y"}
	p.swap()
	var v valuer = x
	sink = v.value() + closure(3)() + int(assembly(1, 2)) + native.Work(3)

	start := reflect.ValueOf(a).Pointer()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		distance, err := strconv.ParseInt(in.Text(), 10, 64)
		if err != nil {
			panic(err)
		}
		// The runtime takes it for a return address.
		f, _ := runtime.CallersFrames([]uintptr{uintptr(int64(start)+distance) + 1}).Next()
		out.WriteString(f.Function + "\t" + f.File + "\t" + strconv.Itoa(f.Line) + "\n")
	}
}
