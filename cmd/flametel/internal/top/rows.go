package top

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/tally"
)

// row is a line of the table.
type row struct {
	key
	count
}

// table is what is shown at one moment.
type table struct {
	rows []row
	// samples is what 100 % stands for: those of the process that is zoomed
	// into, or all.
	samples int64
	all     int64
	covers  time.Duration
	host    usage
}

// usage is what the profiler says about the host in the time of a table.
type usage struct {
	known             bool
	cpus              int64
	busy              float64 // CPUs that were not idle, on average
	lost              int64
	achieved          float64 // Hz per CPU, on average
	taken, idle, kept int64

	seconds float64 // over which achieved is the average
}

// choice is what of the windows a table shows.
type choice struct {
	level  level
	sort   string
	filter *regexp.Regexp // nil: all
	zoom   *key           // nil: all processes
}

// tabulate adds up windows.
func tabulate(windows []*window, c *choice) *table {
	t := &table{}
	sums := map[key]*count{}
	for _, w := range windows {
		t.all += w.samples
		t.host.add(w.accounting)
		for k, n := range w.rows[processes] {
			if c.inZoom(k) {
				t.samples += n.total
			}
		}
		for k, n := range w.rows[c.level] {
			if !c.inZoom(k) {
				continue
			}
			k = c.shown(k)
			if sums[k] == nil {
				sums[k] = &count{}
			}
			sums[k].self += n.self
			sums[k].total += n.total
		}
	}
	t.host.finish()
	for k, n := range sums {
		if c.matches(k) {
			t.rows = append(t.rows, row{k, *n})
		}
	}
	slices.SortFunc(t.rows, c.compare)
	return t
}

func (c *choice) inZoom(k key) bool {
	return c.zoom == nil || k.process == c.zoom.process && (c.zoom.pid == 0 || k.pid == c.zoom.pid)
}

// shown leaves out of a key what the level does not tell apart: functions of all
// processes of one name are one line.
func (c *choice) shown(k key) key {
	if c.level != processes {
		k.pid = 0
	}
	return k
}

func (c *choice) matches(k key) bool {
	return c.filter == nil || c.filter.MatchString(k.name) || c.filter.MatchString(k.process) || c.filter.MatchString(k.module)
}

// compare sorts by the chosen figure, then by the other, then by name, so that
// lines do not jump.
func (c *choice) compare(a, b row) int {
	first, second := cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total)
	if c.sort == byTotal {
		first, second = second, first
	}
	return cmp.Or(first, second, cmp.Compare(a.name, b.name), cmp.Compare(a.process, b.process),
		cmp.Compare(a.module, b.module), cmp.Compare(a.kind, b.kind), cmp.Compare(a.pid, b.pid))
}

func (u *usage) add(a *tally.Accounting) {
	if a == nil {
		return
	}
	u.known = true
	u.cpus = max(u.cpus, a.CPUs)
	u.taken += a.Taken
	u.idle += a.Idle
	u.kept += a.Kept
	u.lost += a.Lost
	if d := a.Duration().Seconds(); d > 0 {
		u.achieved = (u.achieved*u.seconds + a.Achieved*d) / (u.seconds + d)
		u.seconds += d
	}
}

func (u *usage) finish() {
	if u.taken > 0 {
		u.busy = float64(u.cpus) * float64(u.taken-u.idle) / float64(u.taken)
	}
}
