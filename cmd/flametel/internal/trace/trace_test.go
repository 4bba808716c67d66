package trace

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/golden"
	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/receiver/live"
)

var _ = flag.Bool("update", false, "write golden files anew")

// fake tells what it was given, once, then ends the session by a signal.
type fake struct {
	events  []live.Event
	calls   []live.Call
	lost    uint64
	signals chan os.Signal
	closed  int
}

func (f *fake) Events() ([]live.Event, uint64, error) {
	events, lost := f.events, f.lost
	f.events, f.lost = nil, 0
	f.end()
	return events, lost, nil
}

func (f *fake) Calls() ([]live.Call, uint64, error) {
	calls, lost := f.calls, f.lost
	f.calls, f.lost = nil, 0
	f.end()
	return calls, lost, nil
}

func (f *fake) end() {
	select {
	case f.signals <- syscall.SIGINT:
	default:
	}
}

func (f *fake) Close() error { f.closed++; return nil }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)

// show runs the command on a fake and returns what it prints.
func show(t *testing.T, o Options, f *fake) (text string, code int) {
	t.Helper()
	var out, messages bytes.Buffer
	f.signals = make(chan os.Signal, 1)
	now := noon
	tick := func() time.Time { // a second goes by from look to look
		now = now.Add(time.Second)
		return now.Add(-time.Second)
	}
	s := &record.Settings{
		Messages: terminal.NewMessages(&messages, 0), Stdout: &out, Signals: f.signals, Exit: func(int) {},
		Now: tick, Getenv: func(string) string { return "" },
	}
	o.Interval = minInterval
	if o.Rows == 0 {
		o.Rows = DefaultRows
	}
	require.NoError(t, o.Validate())
	code, err := Run(s, &o, func(*live.Options) (live.Source, error) { return f, nil })
	require.NoError(t, err)
	require.Equal(t, 1, f.closed)
	return "[standard output]\n" + out.String() + "[standard error]\n" + messages.String(), code
}

func family(name string) Options { return Options{Options: live.Options{Family: name}} }

var someEvents = map[string][]live.Event{
	live.Opens: {
		{Time: noon, Duration: 2100, PID: 1234, TID: 1234, Comm: "nginx", Call: "openat", Result: 17, Path: "/etc/nginx/nginx.conf"},
		{Time: noon.Add(time.Millisecond), Duration: 1234567, PID: 4194304, TID: 9, Comm: "a;b\x1b[2J", Call: "open", Error: "ENOENT", Result: -2, Path: "/tmp/no such\nfile\xff"},
	},
	live.Reads: {
		{Time: noon, Duration: 12 * time.Millisecond, PID: 7, TID: 8, Comm: "postgres", Call: "pread64", Result: 8192, Bytes: 8192, Path: "/var/lib/postgresql/base/1/2"},
		{Time: noon, Duration: 900, PID: 7, TID: 8, Comm: "postgres", Call: "read", Error: "EIO", Result: -5, Path: "/data"},
	},
	live.OffCPU: {
		{Time: noon, Duration: 37 * time.Millisecond, PID: 1, TID: 2, Comm: "worker", Call: "futex", What: "blocked"},
		{Time: noon, Duration: 2 * time.Second, PID: 1, TID: 3, Comm: "kworker/0:1", What: "uninterruptible"},
	},
	live.Allocations: {
		{Time: noon, PID: 5, TID: 5, Comm: "dd", Bytes: 1 << 20, What: "kmalloc"},
		{Time: noon, PID: 5, TID: 5, Comm: "dd", Bytes: 4096, What: "slab", Cache: "names_cache"},
	},
	live.Retransmits: {
		{Time: noon, PID: 9, Comm: "curl", What: "SYN", Count: 1, Local: "127.0.0.1:4000", Remote: "[::1]:80"},
		{Time: noon, What: "data", Count: 3, Local: "10.0.0.1:22", Remote: "10.0.0.2:5000"},
	},
}

func TestLines(t *testing.T) {
	t.Parallel()
	for name, events := range someEvents {
		for _, asJSON := range []bool{false, true} {
			o := family(name)
			o.JSON = asJSON
			got, code := show(t, o, &fake{events: events})
			assert.Equal(t, 130, code)
			file := name + ".txt"
			if asJSON {
				file = name + "_json.txt"
			}
			golden.Check(t, file, got)
		}
	}
}

func TestTableOfCalls(t *testing.T) {
	t.Parallel()
	calls := []live.Call{
		{Name: "openat", Count: 12800, Time: 81 * time.Millisecond, Errors: 12000, P99: 22500, TopPID: 31, TopComm: "storm"},
		{Name: "read", Count: 3, Time: 9300, P99: 3000},
		{Name: "getpid", Count: 1, Time: 90, P99: 90, TopPID: 4, TopComm: "sh"},
	}
	for file, o := range map[string]Options{
		"syscalls.txt":      {Rows: 2},
		"syscalls_json.txt": {JSON: true},
	} {
		o.Family = live.Syscalls
		got, code := show(t, o, &fake{calls: calls, lost: 5})
		assert.Equal(t, 130, code)
		golden.Check(t, file, got)
	}
}

func TestOnlyThreadsOfAName(t *testing.T) {
	t.Parallel()
	o := family(live.Opens)
	o.Name = "ngin"
	got, _ := show(t, o, &fake{events: someEvents[live.Opens]})
	assert.Contains(t, got, "nginx.conf")
	assert.NotContains(t, got, "no such")
}

func TestMissingLinesAreSaid(t *testing.T) {
	t.Parallel()
	got, _ := show(t, family(live.Opens), &fake{events: someEvents[live.Opens], lost: 12})
	assert.Contains(t, got, "12 events are missing")
	assert.Equal(t, 1, strings.Count(got, "missing"))
}

func TestNothingHappened(t *testing.T) {
	t.Parallel()
	o := family(live.Retransmits)
	o.Duration = 10 * time.Millisecond
	f := &fake{}
	var out bytes.Buffer
	s := &record.Settings{Messages: terminal.NewMessages(&out, 0), Stdout: &out, Now: time.Now, Getenv: func(string) string { return "" }}
	o.Interval, o.Rows = DefaultInterval, DefaultRows
	code, err := Run(s, &o, func(*live.Options) (live.Source, error) { return f, nil })
	require.NoError(t, err)
	assert.Equal(t, record.CodeNoSamples, code)
	assert.Regexp(t, `(?m)^no retransmits in [0-9.]+ s$`, out.String())
}

func TestWhatThereWasNoneOf(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"no opens": family(live.Opens),
		"no failed reads of files of 10.0 ms or longer": {Options: live.Options{Family: live.Reads, FailedOnly: true, MinDuration: 10 * time.Millisecond}},
		"no allocations of 65536 bytes or more":         {Options: live.Options{Family: live.Allocations, MinBytes: DefaultMinBytes}},
		"no waits of the threads that were chosen":      {Options: live.Options{Family: live.OffCPU}, Name: "nginx"},
	} {
		assert.Equal(t, want, o.nothing())
	}
	for _, name := range live.Families() {
		assert.NotEmpty(t, nouns[name], name)
	}
}

// A table that would come just before the end is part of the last one.
func TestLastTableIsNoRest(t *testing.T) {
	t.Parallel()
	now := noon
	s := &session{
		Options: &Options{Options: live.Options{Family: live.Syscalls}, Duration: 2 * time.Second, Interval: time.Second},
		began:   noon, settings: &record.Settings{Now: func() time.Time { return now }},
	}
	for after, want := range map[time.Duration]bool{time.Second: false, 1400 * time.Millisecond: false, 1990 * time.Millisecond: true, 2 * time.Second: true} {
		now = noon.Add(after)
		assert.Equal(t, want, s.nearlyOver(), "after %v", after)
	}
	s.Duration = 0
	assert.False(t, s.nearlyOver(), "it has no end")
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	o := family(live.Opens)
	s := &record.Settings{Messages: terminal.NewMessages(&bytes.Buffer{}, 0), Getenv: func(string) string { return "" }}
	code, err := Run(s, &o, func(*live.Options) (live.Source, error) { return nil, errors.New("no such hook") })
	assert.Equal(t, record.CodeFailure, code)
	assert.ErrorContains(t, err, "no such hook")
}

func TestMistakesAreNamedTogether(t *testing.T) {
	t.Parallel()
	o := Options{Options: live.Options{Family: "opensnoop", PIDs: []int{0}, FailedOnly: true, MinDuration: 2 * time.Hour}, Duration: 25 * time.Hour}
	err := o.Validate()
	for _, part := range []string{`"opensnoop" cannot be traced`, "--pid", "--failed", "--min-duration", "--duration", "--interval", "--rows"} {
		assert.ErrorContains(t, err, part)
	}
	o = family(live.Syscalls)
	o.Name, o.Interval, o.Rows = "x", time.Second, 1
	assert.ErrorContains(t, o.Validate(), "--name")
	o = family(live.Allocations)
	o.MinDuration, o.Interval, o.Rows = 1, time.Second, 1
	assert.ErrorContains(t, o.Validate(), "--min-duration")
}

func TestShortDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1000: "1.00 us", 12340: "12.3 us", 123400: "123 us", 5 * time.Millisecond: "5.00 ms", 90 * time.Second: "90.0 s",
	} {
		assert.Equal(t, want, short(d))
	}
}
