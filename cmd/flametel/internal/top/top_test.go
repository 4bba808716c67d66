package top

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/fakereceiver"
	"github.com/flametel/flametel/exporter/callgraph"
)

func frames(names ...string) (list []fakereceiver.Frame) {
	for _, name := range names { // leaf first
		list = append(list, fakereceiver.Frame{Name: name, Type: "native", Module: "/bin/app"})
	}
	return list
}

func second(stacks ...fakereceiver.Stack) *fakereceiver.Data {
	return &fakereceiver.Data{Stacks: stacks, Duration: time.Second, Accounting: fakereceiver.Accounting{
		"samples.taken": 198, "samples.idle": 99, "samples.kept": 99, "cpus": 2,
	}}
}

// clocked is a history whose clock the test moves.
func clocked(span time.Duration) (h *history, now *time.Time) {
	now = new(time.Time)
	*now = time.Unix(1_700_000_000, 0)
	return newHistory("cpu", span, func() time.Time { return *now }), now
}

func consume(t *testing.T, h *history, d *fakereceiver.Data) {
	t.Helper()
	require.NoError(t, h.ConsumeProfiles(t.Context(), d.Profiles()))
}

func named(t *table, name string) (row, bool) {
	for _, r := range t.rows {
		if r.name == name {
			return r, true
		}
	}
	return row{}, false
}

func TestRecursionCountsOnce(t *testing.T) {
	t.Parallel()
	h, _ := clocked(time.Second)
	consume(t, h, second(fakereceiver.Stack{PID: 1, Process: "app", Count: 10, Frames: frames("fib", "fib", "fib", "main")}))
	tab := tabulate(h.last(time.Second), &choice{sort: bySelf})
	fib, _ := named(tab, "fib")
	assert.Equal(t, count{self: 10, total: 10}, fib.count)
	main, _ := named(tab, "main")
	assert.Equal(t, count{self: 0, total: 10}, main.count)
	assert.InDelta(t, 1.0, tab.host.busy, 1e-9)
}

func TestOnlyTheSpanIsShown(t *testing.T) {
	t.Parallel()
	h, now := clocked(3 * time.Second)
	for i := range 10 {
		*now = now.Add(time.Second)
		consume(t, h, second(fakereceiver.Stack{PID: 1, Process: "app", Count: 1, Frames: frames(fmt.Sprint("f", i))}))
	}
	assert.Equal(t, int64(3), tabulate(h.last(3*time.Second), &choice{sort: bySelf}).all)
	assert.Equal(t, 3*time.Second, covered(h.last(3*time.Second)))
	assert.Len(t, h.last(keep), 10)
	*now = now.Add(3*time.Second + overdue)
	assert.Len(t, h.last(3*time.Second), 1, "what comes late counts by its own time, unless the receiver is silent")
	*now = now.Add(keep)
	consume(t, h, second())
	assert.Len(t, h.windows, 1, "what is too old is forgotten")
}

// A busy host gives windows late, and of other lengths than it should.
func TestPrintedTablesCoverTheInterval(t *testing.T) {
	t.Parallel()
	h, _ := clocked(3 * time.Second)
	come := func(d time.Duration) {
		data := second(fakereceiver.Stack{PID: 1, Process: "app", Count: 1, Frames: frames("f")})
		data.Duration = d
		data.Accounting["frequency.achieved"] = 100 * d.Seconds()
		consume(t, h, data)
	}
	s := &session{Options: &Options{Interval: 3 * time.Second, Count: 2}, history: h, view: view{choice: choice{sort: bySelf}}}
	come(1100 * time.Millisecond)
	assert.False(t, isSpan(covered(h.since(0)), s.Interval))
	come(1800 * time.Millisecond)
	windows, _, err := s.awaitInterval(0)
	require.NoError(t, err)
	tab := s.tableOf(windows)
	assert.Equal(t, 2900*time.Millisecond, tab.covers, "an interval, but for a twentieth")
	assert.Equal(t, int64(2), tab.all)
	assert.InDelta(t, (110*1.1+180*1.8)/2.9, tab.host.achieved, 1e-9)

	come(200 * time.Millisecond)
	come(500 * time.Millisecond)
	assert.False(t, isSpan(covered(h.since(2)), s.Interval), "what was printed does not count again")
	come(5200 * time.Millisecond)
	windows, _, err = s.awaitInterval(2)
	require.NoError(t, err)
	assert.Equal(t, 5900*time.Millisecond, covered(windows), "each window is in a table")
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	h, _ := clocked(time.Second)
	consume(t, h, second())
	h.windows[0].bytes = maxBytes
	consume(t, h, second())
	assert.Len(t, h.windows, 1)
	w := &window{}
	for l := range w.rows {
		w.rows[l] = map[key]*count{}
	}
	a := adder{window: w, seen: map[key]bool{}}
	for i := range maxKeys + 10 {
		a.count(functions, key{name: fmt.Sprint(i)}, 1, true)
	}
	assert.Len(t, w.rows[functions], maxKeys)
}

func TestProcessesOfOneNameAreOneLineUnlessZoomed(t *testing.T) {
	t.Parallel()
	h, _ := clocked(time.Second)
	consume(t, h, second(
		fakereceiver.Stack{PID: 1, Process: "app", Count: 3, Frames: frames("f", "main")},
		fakereceiver.Stack{PID: 2, Process: "app", Count: 4, Frames: frames("f", "main")},
		fakereceiver.Stack{PID: 3, Process: "db", Count: 5, Frames: frames("f", "main")},
	))
	windows := h.last(time.Second)
	all := tabulate(windows, &choice{sort: bySelf})
	assert.Len(t, all.rows, 4, "two functions of two names")
	assert.Equal(t, int64(7), all.rows[0].self)
	assert.Len(t, tabulate(windows, &choice{level: processes}).rows, 3)

	name := tabulate(windows, &choice{zoom: &key{process: "app"}})
	assert.Equal(t, int64(7), name.samples)
	one := tabulate(windows, &choice{zoom: &key{process: "app", pid: 2}})
	assert.Equal(t, int64(4), one.samples)
	assert.Len(t, one.rows, 2)
}

func TestUnnamedCodeOfAFileIsOneLine(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"[libc.so.6]+0x1234": "[libc.so.6]", "[unknown]": "[unknown]", "operator[]+0x1": "operator[]+0x1", "main": "main",
	} {
		assert.Equal(t, want, nameOf(&callgraph.Frame{Name: name}))
	}
}

// Whatever names there are and however small the screen is, each line fits and
// holds no control character.
func TestLinesFitTheScreen(t *testing.T) {
	t.Parallel()
	h, _ := clocked(time.Second)
	consume(t, h, second(
		fakereceiver.Stack{PID: 1, Process: "\x1b]0;owned\x07", Count: 3, Frames: frames(strings.Repeat("長い", 300), "\u202egnp.exe", "a\r\nb")},
		fakereceiver.Stack{PID: 2, Process: "プロセスプロセスプロセス", Count: 3, Frames: frames("e\u0301\u0301\u0301", "\xff\xfe", strings.Repeat("x", 5000))},
	))
	for _, size := range [][2]int{{100, 24}, {80, 5}, {20, 3}, {1, 1}, {0, 0}, {300, 60}} {
		for l := range levels {
			v := view{choice: choice{level: l, sort: bySelf}}
			v.say(true, "bad\x1b[2J")
			for _, help := range []bool{false, true} {
				v.help = help
				for _, line := range v.lines(tabulate(h.last(time.Second), &v.choice), facts{subject: "the whole host"}, size[0], size[1]) {
					assert.LessOrEqual(t, displaywidth.String(line.text), max(size[0], 0), "%q", line.text)
					assert.True(t, utf8.ValidString(line.text))
					assert.NotRegexp(t, regexp.MustCompile(`[\x00-\x1f\x7f\x{202e}]`), line.text)
				}
			}
		}
	}
}

func TestSelectionStaysInTheTable(t *testing.T) {
	t.Parallel()
	v := view{choice: choice{sort: bySelf}}
	tab := &table{rows: make([]row, 30)}
	v.press("up", tab)
	assert.Equal(t, 0, v.selected)
	v.press("G", tab)
	assert.Equal(t, 29, v.selected)
	v.press("down", tab)
	assert.Equal(t, 29, v.selected)
	v.lines(tab, facts{}, 80, 14)
	assert.Equal(t, 20, v.top, "ten lines are seen, the last of them selected")
	v.press("pgup", tab)
	assert.Equal(t, 19, v.selected)
	v.press("home", tab)
	assert.Equal(t, 0, v.selected)
	v.press("down", &table{})
	assert.Equal(t, 0, v.selected)
	assert.Equal(t, nothing, v.press("enter", &table{}), "nothing is selected")
}

func TestEveryKeyIsThereOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range actions() {
		assert.NotEmpty(t, a.text)
		for _, k := range a.keys {
			assert.False(t, seen[k], k)
			seen[k] = true
		}
	}
}

func TestFilterOfTheCommandLineCanBeEdited(t *testing.T) {
	t.Parallel()
	v := newView(&Options{Filter: "Foo", Sort: bySelf, View: "modules"})
	assert.Equal(t, modules, v.level)
	v.press("/", &table{})
	v.press("backspace2", &table{})
	assert.Equal(t, "Fo", v.input)
	assert.True(t, v.filter.MatchString("aFox"))
	v.press("esc", &table{})
	assert.Nil(t, v.filter)
}

func TestLongNamesKeepTheFunction(t *testing.T) {
	t.Parallel()
	const long = "github.com/flametel/flametel/exporter/callgraph.(*Graph).Totals"
	assert.Equal(t, long, shorten(long, 100))
	assert.Equal(t, "callgraph.(*Graph).Totals", shorten(long, 30))
	assert.Equal(t, "std::vector<a/b>::f", shorten("std::vector<a/b>::f", 100))
	assert.Equal(t, "x (/srv/app.js:1)", shorten("x (/srv/app.js:1)", 3), "no path of a package")
}
