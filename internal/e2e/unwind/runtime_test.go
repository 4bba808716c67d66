//go:build integration && linux

package unwind

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A running is a program of a runtime.
type running struct {
	name    string
	command []string
	expectation
	// parent has to be the caller of each frame of a name.
	leaf, parent string
}

func goBuild(name, source, cgo string) string {
	return "cd $S/" + source + " && CGO_ENABLED=" + cgo + " go build -o $OLDPWD/" + name + " main.go"
}

// The runtime's own threads, the collector's among them, and the scheduler after it has
// left a goroutine.
const goRuntime = calls("runtime.morestack|runtime.mstart|runtime.goexit|runtime.rt0_go|runtime.mstart0|runtime.mstart1|runtime.mcall|runtime.systemstack ...")

// Go: assembly, stacks that grow and move, code on the stack of the thread.
func TestGo(t *testing.T) {
	dir := buildAll(t, []program{{build: goBuild("gowork", "gowork", "0")}})
	in := filepath.Join(dir, "gowork")
	main := calls("runtime.goexit runtime.main main.main ")
	// Cut are stacks while the runtime switches them: newstack and the moment in
	// mcall and gogo when neither is there.
	one := func(what, leaf, parent string, cut float64, chains ...calls) running {
		return running{
			name: what, command: []string{in, what}, leaf: leaf, parent: parent,
			expectation: expectation{chains: append(chains, main+"main."+calls(what)+" ...", "runtime.goexit ...", goRuntime), whole: 1 - cut, incomplete: cut},
		}
	}
	// Of the yielder's stacks 1.5 % are cut: of 400, by chance, one time in a hundred
	// more than the 3 % that may be.
	runRuntimes(t, 2000, []running{
		one("mover", "runtime.memmove", "main.mover", 0.01),
		one("finder", "indexbytebody", "bytes.IndexByte", 0.01),
		one("hasher", "crypto/internal/fips140/sha256.block*", "crypto/internal/fips140/sha256.block", 0.01),
		one("grower", "", "", 0.02),
		one("allocator", "", "", 0.02),
		one("yielder", "", "", 0.03),
	})
}

// Go and C call each other.
func TestCgo(t *testing.T) {
	dir := buildAll(t, []program{{build: goBuild("cgowork", "cgowork", "1")}})
	const chain = "... runtime.main main.main main.outer ... runtime.cgocall ... outerC ... main.innermost ... innerC "
	runRuntimes(t, 400, []running{{
		name: "cgo", command: []string{filepath.Join(dir, "cgowork")},
		expectation: expectation{chains: []calls{chain + "spin", chain + "... compare", "..."}, whole: 0.9, incomplete: 0.01},
	}})
}

func TestRust(t *testing.T) {
	dir := buildAll(t, []program{
		{build: "rustc -O -o rustwork $S/work.rs"},
		{build: "rustc -o rustslow $S/work.rs"},
	})
	want := expectation{chains: []calls{
		"... rustwork::main|rustslow::main|work::main ... outer ... middle inner ...", "... sorter ... spin", "... sorter ...", "... outer ...",
	}, whole: 0.9, incomplete: 0.05} // panics are caught: libgcc's installing of another frame stops walks
	runRuntimes(t, 400, []running{
		{name: "optimized", command: []string{filepath.Join(dir, "rustwork")}, expectation: want},
		{name: "not optimized", command: []string{filepath.Join(dir, "rustslow")}, expectation: want},
	})
}

// Generated code and code of the C++ program take turns.
func TestNode(t *testing.T) {
	script, err := filepath.Abs("testdata/work.js")
	assert.NoError(t, err)
	var list []running
	for _, what := range []string{"zlib", "hash", "pbkdf2", "aes"} {
		list = append(list, running{
			name:    what,
			command: []string{"node", "--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining", script, what},
			expectation: expectation{
				chains: []calls{"... third second first ...", "..."}, whole: 0.9, incomplete: 0.02,
			},
			leaf: "first", parent: "second",
		})
	}
	runRuntimes(t, 400, list)
}

// Distributions build these without frame pointers.
func TestPrograms(t *testing.T) {
	script, err := filepath.Abs("testdata/work.py")
	assert.NoError(t, err)
	speed := func(what ...string) []string { return append([]string{"openssl", "speed", "-seconds", "100"}, what...) }
	whole := func(chains ...calls) expectation {
		return expectation{chains: append(chains, "..."), whole: 0.99, incomplete: 0.01}
	}
	runRuntimes(t, 400, []running{
		{name: "python3", command: []string{"/usr/bin/python3", script}, expectation: whole("Py_BytesMain ... _PyEval_EvalFrameDefault ...")},
		{name: "sha512", command: speed("sha512"), expectation: whole()},
		{name: "rsa2048", command: speed("rsa2048"), expectation: whole()},
		{name: "aes-128-gcm", command: speed("-evp", "aes-128-gcm"), expectation: whole()},
		{name: "ecdsap256", command: speed("ecdsap256"), expectation: whole()},
		{name: "chacha20", command: speed("-evp", "chacha20-poly1305"), expectation: whole()},
		{name: "xz", command: []string{"/bin/sh", "-c", "exec xz -c /dev/urandom >/dev/null"}, expectation: whole()},
		{name: "perl", command: []string{"perl", "-e", "while (1) { my %h = map { $_ => join ',', sort { $b cmp $a } 1..50 } 1..500; s/,1(\\d)/$1/g for values %h }"}, expectation: whole()},
	})
}

// runRuntimes profiles programs at once and checks what they show. The roots of
// threads count as frames here.
func runRuntimes(t *testing.T, samples int64, list []running) {
	pids := make([]int, len(list))
	dir := t.TempDir()
	for i, p := range list {
		pids[i] = start(t, dir, p.command[0], p.command[1:]...)
	}
	r := record(t, 999, pids...)
	r.enough(samples, pids...)
	for i, p := range list {
		t.Run(p.name, func(t *testing.T) {
			stacks := r.of(pids[i])
			p.expectation.checkAll(t, stacks)
			if p.leaf != "" {
				checkParent(t, stacks, p.leaf, p.parent)
			}
		})
	}
}

// checkParent asserts who calls a function, named as in calls, wherever it is seen.
func checkParent(t *testing.T, list stacks, name, parent string) {
	t.Helper()
	right, wrong := int64(0), make(map[string]int64)
	for _, s := range list {
		i := slices.IndexFunc(s.frames, func(frame string) bool { return isCalled(name, frame) })
		switch {
		case i < 0:
		case i > 0 && s.frames[i-1] == parent:
			right += s.count
		case i > 0:
			wrong[s.frames[i-1]] += s.count
		}
	}
	assert.Positive(t, right)
	assert.Empty(t, wrong)
}
