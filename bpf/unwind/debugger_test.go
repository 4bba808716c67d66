package unwind

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// stackCount is how many stacks of each program are compared; more with the
// environment variable FLAMETEL_STACKS.
func stackCount() int {
	if n, err := strconv.Atoi(os.Getenv("FLAMETEL_STACKS")); err == nil {
		return n
	}
	return 60
}

// stopped is a line of testdata/stacks.py.
type stopped struct {
	Regs  [17]uint64
	PCs   []uint64
	Names []string
	Low   uint64 // address of the first byte of Stack
	Stack []byte
	// Others are parts of other stacks that frame pointers lead to.
	Others []struct {
		Low   uint64
		Stack []byte
	}
	Insn  string // at the leaf
	Stop  string // why gdb's backtrace ends
	Maps  string // of the process, if they changed
	Error string
}

// memories is the memory of a stopped program.
type memories []stackMemory

func (m memories) ReadAt(b []byte, off int64) (n int, err error) {
	for _, part := range m {
		if n, err = part.ReadAt(b, off); err == nil {
			break
		}
	}
	return n, err
}

// stackMemory is a part of it.
type stackMemory struct {
	low   uint64
	bytes []byte
}

func (m stackMemory) ReadAt(b []byte, off int64) (int, error) {
	at := uint64(off) - m.low
	if uint64(off) < m.low || at >= uint64(len(m.bytes)) {
		return 0, io.EOF
	}
	n := copy(b, m.bytes[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// process looks up rows by the mappings of a process.
type process struct {
	t      *testing.T
	maps   []mapped
	tables map[string]*Table
	segs   map[string][]elffile.Segment
}

type mapped struct {
	start, limit, off uint64
	path              string
}

func newProcess(t *testing.T) *process {
	return &process{t: t, tables: map[string]*Table{}, segs: map[string][]elffile.Segment{}}
}

func (p *process) setMaps(text string) {
	p.maps = nil
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) < 5 || !strings.Contains(f[1], "x") {
			continue
		}
		var m mapped
		_, err := fmt.Sscanf(f[0]+" "+f[2], "%x-%x %x", &m.start, &m.limit, &m.off)
		require.NoError(p.t, err)
		if len(f) > 5 {
			m.path = f[5]
		}
		p.maps = append(p.maps, m)
	}
}

func (p *process) rows(pc addr.Virtual) Row {
	for _, m := range p.maps {
		if uint64(pc) < m.start || uint64(pc) >= m.limit || !strings.HasPrefix(m.path, "/") && m.path != vdsoName {
			continue
		}
		t := p.table(m.path)
		_, file, ok := elffile.FindSegment(p.segs[m.path], addr.Offset(uint64(pc)-m.start+m.off))
		if t == nil || !ok {
			return Row{}
		}
		return t.Lookup(file)
	}
	return Row{}
}

func (p *process) table(path string) *Table {
	name := path
	if t, ok := p.tables[path]; ok {
		return t
	}
	if path == vdsoName {
		path = vdsoFile(p.t)
	}
	f, r := openFile(p.t, path)
	t, err := Compile(f, r, Options{})
	require.NoError(p.t, err)
	p.tables[name], p.segs[name] = t, f.Segments()
	return t
}

const vdsoName = "[vdso]"

// vdsoFile writes the code that the kernel gives to all processes to a file.
func vdsoFile(t testing.TB) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(maps)) {
		var start, limit int64
		if !strings.HasSuffix(line, vdsoName+"\n") {
			continue
		}
		_, err := fmt.Sscanf(line, "%x-%x", &start, &limit)
		require.NoError(t, err)
		mem, err := os.Open("/proc/self/mem")
		require.NoError(t, err)
		defer mem.Close()
		b := make([]byte, limit-start)
		_, err = mem.ReadAt(b, start)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "vdso")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		return path
	}
	t.Fatal("no vdso")
	return ""
}

// openFile opens an ELF file until the test ends.
func openFile(t testing.TB, path string) (*elffile.File, io.ReaderAt) {
	t.Helper()
	r, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	info, err := r.Stat()
	require.NoError(t, err)
	f, err := elffile.New(r, info.Size())
	require.NoError(t, err)
	return f, r
}

// fixture returns the absolute path of a file of testdata.
func fixture(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return path
}

// run runs a command in dir.
func run(t testing.TB, dir string, words ...string) {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", words, out)
}

// debug runs a program in gdb and returns its stacks.
func debug(t *testing.T, dir string, program ...string) []stopped {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stacks.json")
	cmd := exec.Command("gdb", append([]string{"-nx", "-batch", "-x", fixture(t, "stacks.py"), "--args"}, program...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "STACKS_OUT="+path, fmt.Sprintf("STACKS_COUNT=%d", stackCount()))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "gdb: %s", out)
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var all []stopped
	for d := json.NewDecoder(bufio.NewReader(file)); ; {
		var s stopped
		if err := d.Decode(&s); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		require.Empty(t, s.Error, "gdb: %s", out)
		all = append(all, s)
	}
	require.Len(t, all, stackCount(), "the program ended early: %s", out)
	return all
}

// TestServerAgreesWithDebugger sends requests to nginx while it is stopped.
func TestServerAgreesWithDebugger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "nginx.sock")
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		request(socket, done)
	}()
	stacks := debug(t, dir, "/usr/sbin/nginx", "-p", dir, "-c", fixture(t, "nginx.conf"))
	close(done)
	<-finished
	compare(t, stacks, false)
}

// request asks a server on a socket until done is closed.
func request(socket string, done <-chan struct{}) {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	defer client.CloseIdleConnections()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
		}
		resp, err := client.Get(fmt.Sprintf("http://nginx/name/%d", i))
		if err != nil {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// walk walks a stack that gdb walked before.
func (p *process) walk(s *stopped) ([]addr.Virtual, End) {
	if s.Maps != "" {
		p.setMaps(s.Maps)
	}
	memory := memories{{s.Low, s.Stack}}
	for _, o := range s.Others {
		memory = append(memory, stackMemory{o.Low, o.Stack})
	}
	w := Walker{Memory: memory, Rows: p.rows, Limit: 600}
	regs := Registers{IP: s.Regs[16], SP: s.Regs[7], FP: s.Regs[6]}
	copy(regs.Others[:], s.Regs[:])
	return w.Walk(&regs)
}

func TestWalksAgreeWithDebugger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, "g++", "-O2", "-mavx2", "-fomit-frame-pointer", "-o", "cxx", fixture(t, "work.cc"))
	run(t, dir, "gcc", "-O2", "-w", "-D_GNU_SOURCE", "-fomit-frame-pointer", "-o", "c", fixture(t, "work.c"))
	run(t, dir, "gcc", "-O1", "-w", "-D_GNU_SOURCE", "-static", "-Wl,-z,lazy", "-o", "static", fixture(t, "work.c"))
	run(t, dir, "gcc", "-O3", "-w", "-D_GNU_SOURCE", "-fcf-protection", "-fno-plt", "-o", "cet", fixture(t, "work.c"))
	run(t, dir, "rustc", "-O", "-o", "rust", fixture(t, "work.rs"))
	run(t, dir, "go", "build", "-o", "golang", fixture(t, "work.go"))
	programs := map[string][]string{
		"c++":    {filepath.Join(dir, "cxx")},
		"c":      {filepath.Join(dir, "c")},
		"static": {filepath.Join(dir, "static")},
		"cet":    {filepath.Join(dir, "cet")},
		"rust":   {filepath.Join(dir, "rust")},
		"python": {"/usr/bin/python3", fixture(t, "work.py")},
		"node":   {"/usr/bin/node", fixture(t, "work.js")},
		"go":     {filepath.Join(dir, "golang")},
		"crypto": {"openssl", "speed", "-seconds", "60", "rsa2048"},
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			stacks := debug(t, dir, program...)
			compare(t, stacks, name == "node")
		})
	}
}

// compare asserts that nearly all stacks are those of gdb, complete and with the
// same addresses. generated says that the program has code that it generated
// or that has no unwind information.
func compare(t *testing.T, stacks []stopped, generated bool) {
	t.Helper()
	p := newProcess(t)
	var verdicts [5]int
	frames, complete := 0, 0
	for i := range stacks {
		s := &stacks[i]
		got, end := p.walk(s)
		v := p.judge(got, end, s)
		verdicts[v]++
		frames += len(got)
		if end.Complete() {
			complete++
		}
		if v == differs {
			t.Logf("%s in %s: end %d, gdb: %s\n%s", s.Insn, s.Names[0], end, s.Stop, p.difference(got, s))
		}
	}
	// Few stops are in code such as the .init section of a library: the program
	// starts slowly on a busy machine.
	assert.LessOrEqual(t, verdicts[neither], max(4, len(stacks)/2))
	// How often a Go program is stopped where its runtime works depends on the
	// machine.
	assert.LessOrEqual(t, verdicts[switched], len(stacks)/2)
	t.Logf("%d of %d stacks agree, %d more up to another stack; %d have a frame where gdb guesses; %d are complete; %d frames",
		verdicts[same], len(stacks), verdicts[switched], verdicts[guessed], complete, frames)
	// Half a per cent, but of few stacks more: those that follow each other are
	// much alike.
	allowed := max(4, len(stacks)/200)
	assert.LessOrEqual(t, verdicts[differs], allowed)
	assert.GreaterOrEqual(t, complete, len(stacks)-verdicts[neither]-verdicts[switched]-allowed)
	if !generated {
		assert.LessOrEqual(t, verdicts[guessed], allowed)
	}
}

// runtimeEnds are functions of the Go runtime where gdb goes on with the wrong
// stack, or below the first frame of a thread.
var runtimeEnds = []string{"runtime.systemstack", "runtime.mcall", "runtime.morestack", "runtime.mstart", "runtime.rt0_go", "runtime.goexit"}

// believed is what can be right of gdb's backtrace. Where it runs out of
// information it guesses and goes on into data: all is false then.
func (p *process) believed(s *stopped) (pcs []addr.Virtual, all bool) {
	for i, pc := range s.PCs {
		if !p.executable(pc) {
			return pcs, false
		}
		pcs = append(pcs, addr.Virtual(pc))
		if slices.ContainsFunc(runtimeEnds, func(name string) bool { return strings.HasPrefix(s.Names[i], name) }) {
			return pcs, false
		}
	}
	return pcs, true
}

// verdict is what comes of comparing two walks.
type verdict int

const (
	differs verdict = iota
	same
	// guessed: the two part at a frame whose code has no unwind information, so
	// that gdb guesses by the code it sees. The walk is complete.
	guessed
	// neither: both end in code without unwind information.
	neither
	// switched: both agree up to where the stack of a goroutine goes on, which was
	// not kept.
	switched
)

// judge compares a walk with that of gdb. A walk that gdb ended must be
// complete.
func (p *process) judge(got []addr.Virtual, end End, s *stopped) verdict {
	want, all := p.believed(s)
	if all && end.Complete() && slices.Equal(got, want) {
		return same
	}
	// Only the stack that the program runs on was kept: switching ends there.
	last := p.rows(got[len(got)-1] - 1)
	switches := end == EndFault && last.Kind == KindSwitch || end == EndStop && last.Kind == KindGrow
	if !all && len(got) >= len(want) && slices.Equal(got[:len(want)], want) {
		if end.Complete() {
			return same
		} else if switches {
			return switched
		}
	}
	if !all && slices.Equal(got, want) && len(got) > 1 && last.Kind == KindNone {
		return neither
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	if i > 0 && end.Complete() && p.rows(got[i-1]-min(1, addr.Virtual(i-1))).Kind == KindNone {
		return guessed
	}
	return differs
}

func (p *process) executable(pc uint64) bool {
	return slices.ContainsFunc(p.maps, func(m mapped) bool { return pc >= m.start && pc < m.limit })
}

// difference shows both stacks from a little before they part.
func (p *process) difference(got []addr.Virtual, s *stopped) string {
	var b bytes.Buffer
	i := 0
	for i < min(len(got), len(s.PCs)) && uint64(got[i]) == s.PCs[i] {
		i++
	}
	for i = max(0, i-2); i < max(len(got), len(s.PCs)) && b.Len() < 600; i++ {
		if i < len(got) {
			fmt.Fprintf(&b, "  %d: %#x (%v)", i, uint64(got[i]), p.rows(got[i]-min(1, addr.Virtual(i))))
		}
		if i < len(s.PCs) {
			fmt.Fprintf(&b, "  gdb %#x %s", s.PCs[i], s.Names[i])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
