package top

import (
	"path"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/cmd/flametel/internal/tally"
	"github.com/flametel/flametel/exporter/callgraph"
)

// level is what the lines of a table stand for.
type level int

const (
	functions level = iota
	modules
	processes
	levels
)

var (
	levelNames = [levels]string{"functions", "modules", "processes"}
	levelOnes  = [levels]string{"function", "module", "process"}
)

func levelNamed(name string) (level, bool) {
	for i, n := range levelNames {
		if n == name {
			return level(i), true
		}
	}
	return 0, false
}

// key is what a line stands for. Fields that a level does not tell apart are
// zero.
type key struct {
	pid     int64
	process string
	module  string
	name    string
	kind    callgraph.Kind
}

// count is how many samples ended in something, and how many had it anywhere in
// their stack.
type count struct{ self, total int64 }

// window is what one message said. It does not change any more.
type window struct {
	at      time.Time // when it came
	number  int       // the first is 1
	rows    [levels]map[key]*count
	samples int64
	// What the profiler accounts for; nil if the message does not say.
	accounting *tally.Accounting
	message    pprofile.Profiles
	bytes      int // of the message on the wire
}

// duration is the time that it accounts for.
func (w *window) duration() time.Duration {
	if w.accounting == nil {
		return 0
	}
	return w.accounting.Duration()
}

// summarize adds up a message.
func summarize(p pprofile.Profiles, kind string) *window {
	w := &window{message: p}
	for l := range w.rows {
		w.rows[l] = map[key]*count{}
	}
	t := tally.New()
	t.Add(p)
	w.accounting = t.Kind(kind).Accounting
	a := adder{window: w, reader: callgraph.NewReader(p.Dictionary()), seen: map[key]bool{}}
	for _, rp := range p.ResourceProfiles().All() {
		attrs := rp.Resource().Attributes()
		if callgraph.IsAccounting(attrs) {
			continue
		}
		a.process, a.pid = callgraph.ProcessOf(attrs), 0
		if pid, ok := attrs.Get("process.pid"); ok {
			a.pid = pid.Int()
		}
		for _, sp := range rp.ScopeProfiles().All() {
			for _, prof := range sp.Profiles().All() {
				if a.reader.Kind(prof) == kind {
					a.add(prof)
				}
			}
		}
	}
	return w
}

// adder adds the samples of one message to a window.
type adder struct {
	*window
	reader  *callgraph.Reader
	process string
	pid     int64
	path    []int32
	seen    map[key]bool // in the present stack
}

func (a *adder) add(prof pprofile.Profile) {
	for _, s := range prof.Samples().All() {
		v, ok := callgraph.Value(s)
		if !ok || v == 0 {
			continue
		}
		a.samples += v
		a.path = a.reader.Stack(s.StackIndex(), a.path[:0])
		clear(a.seen)
		a.count(processes, key{pid: a.pid, process: a.process}, v, true)
		for i := len(a.path) - 1; i >= 0; i-- {
			f := a.reader.Frame(a.path[i])
			k := key{pid: a.pid, process: a.process, module: moduleOf(&f), name: nameOf(&f), kind: f.Kind}
			leaf := i == len(a.path)-1
			a.count(functions, k, v, leaf)
			a.count(modules, key{pid: a.pid, process: a.process, module: k.module}, v, leaf)
		}
	}
}

// count adds a value to a line, but to its total only once for each stack.
func (a *adder) count(l level, k key, v int64, self bool) {
	c := a.rows[l][k]
	if c == nil {
		if len(a.rows[l]) >= maxKeys {
			return
		}
		c = &count{}
		a.rows[l][k] = c
	}
	if self {
		c.self += v
	}
	if !a.seen[k] {
		a.seen[k] = true
		c.total += v
	}
}

// moduleOf is the name of the file that a function is in.
func moduleOf(f *callgraph.Frame) string {
	switch {
	case f.Module != "":
		return path.Base(f.Module)
	case f.Kind == callgraph.Kernel:
		return "[kernel]"
	}
	return "?"
}

// nameOf joins all code of a file that has no name: an address says nothing
// here.
func nameOf(f *callgraph.Frame) string {
	if callgraph.IsPlaceholder(f.Name) {
		if i := strings.LastIndex(f.Name, "]+0x"); i >= 0 {
			return f.Name[:i+1]
		}
	}
	return f.Name
}
