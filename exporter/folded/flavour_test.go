package folded_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
)

// frames are the frames of a text's only stack.
func frames(t *testing.T, text string) []callgraph.Frame {
	t.Helper()
	res := read(t, text)
	assert.Zero(t, res.BadLines)
	var got []callgraph.Frame
	for _, n := range res.Graph.Nodes[1:] {
		got = append(got, res.Graph.Frames[n.Frame])
	}
	return got
}

func TestReadFlavours(t *testing.T) {
	const (
		user, kernel, jit, unknown = callgraph.User, callgraph.Kernel, callgraph.JIT, callgraph.Unknown
		process, thread            = callgraph.Process, callgraph.Thread
	)
	tests := []struct {
		name, text string
		want       []callgraph.Frame
	}{
		{"perf", "java-4711;[libjvm.so];start_thread;Lcom/x:.run_[j];sys_read_[k] 1\n", []callgraph.Frame{
			{Name: "java-4711", Kind: process}, {Name: "[libjvm.so]", Kind: unknown}, {Name: "start_thread", Kind: user},
			{Name: "Lcom/x:.run", Kind: jit}, {Name: "sys_read", Kind: kernel},
		}},
		{"bcc with a delimiter", "sshd;main;read;-;entry_SYSCALL_64;[unknown];ksys_read 3\n", []callgraph.Frame{
			{Name: "sshd", Kind: process}, {Name: "main", Kind: user}, {Name: "read", Kind: user},
			{Name: "entry_SYSCALL_64", Kind: kernel}, {Name: "[unknown]", Kind: kernel}, {Name: "ksys_read", Kind: kernel},
		}},
		{"bcc of the kernel alone", "kthreadd;--;ret_from_fork_[k] 3\n", []callgraph.Frame{
			{Name: "kthreadd", Kind: process}, {Name: "ret_from_fork", Kind: kernel},
		}},
		{"DTrace", "unix`_start;libc.so.1`read+0x1;unix`0xfffffffffb800c86 5\n", []callgraph.Frame{
			{Name: "_start", Kind: user, Module: "unix"}, {Name: "read+0x1", Kind: user, Module: "libc.so.1"},
			{Name: "0xfffffffffb800c86", Kind: user, Module: "unix"},
		}},
		{"async-profiler", "java/lang/Thread.run_[0];Foo.bar_[1];Foo.baz_[j];Foo.inl_[i];libjvm.so`JVM_Sleep;do_idle_[k] 7\n", []callgraph.Frame{
			{Name: "java/lang/Thread.run", Kind: jit}, {Name: "Foo.bar", Kind: jit}, {Name: "Foo.baz", Kind: jit},
			{Name: "Foo.inl", Kind: user, Inlined: true}, {Name: "JVM_Sleep", Kind: user, Module: "libjvm.so"}, {Name: "do_idle", Kind: kernel},
		}},
		{"async-profiler with threads", "[main tid=4711];start_thread;Foo.run_[j] 1\n", []callgraph.Frame{
			{Name: "main", Kind: thread, Address: 4711}, {Name: "start_thread", Kind: user}, {Name: "Foo.run", Kind: jit},
		}},
		{"modules", "app;app`main;[kernel.kallsyms]`do_idle;f_[k] 1\n", []callgraph.Frame{
			{Name: "app", Kind: process}, {Name: "main", Kind: user, Module: "app"},
			{Name: "do_idle", Kind: kernel, Module: "[kernel.kallsyms]"}, {Name: "f", Kind: kernel},
		}},
		{"backticks of C++", "app;`anonymous namespace'::f;A::`vtable';x` 1\n", []callgraph.Frame{
			{Name: "app", Kind: process}, {Name: "`anonymous namespace'::f", Kind: user}, {Name: "A::`vtable'", Kind: user}, {Name: "x`", Kind: user},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, frames(t, tt.text))
		})
	}
}

// One line with marks of async-profiler is enough to know whose text it is.
func TestOneLineTellsTheFlavour(t *testing.T) {
	res := read(t, "start_thread;f 1\nlibc.so.6`clone;f 2\nRun.run_[0];g 3\n")
	for _, f := range res.Graph.Frames {
		assert.NotEqual(t, callgraph.Process, f.Kind, f.Name)
	}
	assert.Equal(t, int64(6), res.Graph.Total(0))
}

func TestModulesRoundTrip(t *testing.T) {
	g := graphOf(
		[]callgraph.Frame{{Name: "app", Kind: callgraph.Process}, {Name: "read", Kind: callgraph.User, Module: "/usr/lib/libc.so.6"}, {Name: "do_idle", Kind: callgraph.Kernel, Module: "[kernel]"}},
		[]callgraph.Frame{{Name: "app", Kind: callgraph.Process}, {Name: "f", Kind: callgraph.User, Module: "/opt/a b:c"}, {Name: "[x]+0x1", Module: "/usr/lib/x"}},
	)
	text := write(t, g, folded.Options{Modules: true})
	assert.Equal(t, "app;f;[x]+0x1 2\napp;libc.so.6`read;[kernel]`do_idle_[k] 1\n", text)
	assert.Equal(t, text, write(t, read(t, text).Graph, folded.Options{Modules: true}))
}

func TestWriteComparison(t *testing.T) {
	before := read(t, "app;f 3\napp;gone_[k] 2\n").Graph
	after := read(t, "app;f 1\napp;new 4\n").Graph
	var b bytes.Buffer
	require.NoError(t, folded.WriteComparison(&b, callgraph.Compare(before, after, callgraph.CompareOptions{}), folded.Options{}))
	assert.Equal(t, "app;f 3 1\napp;gone_[k] 2 0\napp;new 0 4\n", b.String())
}
