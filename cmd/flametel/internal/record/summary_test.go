package record

import (
	"flag"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/cmd/flametel/internal/fakereceiver"
	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/golden"
	"github.com/flametel/flametel/cmd/flametel/internal/tally"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

var _ = flag.Bool("update", false, "write the golden files")

// summarized is a recording that has ended, of the given data.
func summarized(d fakereceiver.Data) *recording {
	r := &recording{
		Settings: &Settings{},
		Options:  &Options{Types: []string{"cpu"}, Frequency: DefaultFrequency},
		pipeline: &pipeline{tally: tally.New()},
		outputs:  []output{{path: "missing.svg"}, {path: "-"}},
		elapsed:  10 * time.Second,
	}
	d.Duration = r.elapsed
	r.pipeline.tally.Add(d.Profiles())
	return r
}

func stackOf(pid int64, count int64, leaf fakereceiver.Frame) fakereceiver.Stack {
	return fakereceiver.Stack{PID: pid, Process: "prog", Count: count, Frames: []fakereceiver.Frame{leaf, {Name: "main", Type: "native"}}}
}

func nativeFrame(name string) fakereceiver.Frame {
	return fakereceiver.Frame{Name: name, Type: "native", Module: "/bin/prog"}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	busy := []fakereceiver.Stack{
		stackOf(1, 1_200_000, nativeFrame("std::vector<std::pair<int, std::string>>::emplace_back<int&, char const (&) [12]>")),
		stackOf(1, 60_000, fakereceiver.Frame{Name: "copy_page", Type: "kernel", Module: "[kernel]"}),
		stackOf(2, 30_000, fakereceiver.Frame{Name: "~handle /srv/app.js:12", Type: "v8js", Module: "[anon]"}),
		stackOf(3, 20_000, fakereceiver.Frame{Type: "native", Module: "/usr/lib/libcrypto.so.3"}),
		stackOf(4, 100, nativeFrame("rare")),
		stackOf(4, 1, nativeFrame("rarest")),
	}
	clean := fakereceiver.Accounting{
		"samples.taken": 1_310_101, "samples.kept": 1_310_101, "samples.lost": 0,
		"frames.total": 20_000_000, "frames.unknown": 3_000,
		"frequency.asked": 99.0, "frequency.achieved": 98.97,
	}
	for _, test := range []struct {
		name        string
		data        fakereceiver.Data
		interrupted os.Signal
	}{
		{name: "nothing lost", data: fakereceiver.Data{Stacks: busy, Accounting: clean}},
		{name: "many unknown", data: fakereceiver.Data{Stacks: []fakereceiver.Stack{
			stackOf(1, 50, fakereceiver.Frame{Type: "native", Module: "/usr/lib/libcrypto.so.3"}),
			stackOf(1, 40, fakereceiver.Frame{Type: "native", Module: "/usr/bin/dash"}),
			stackOf(1, 30, fakereceiver.Frame{Type: "kernel", Module: "[kernel]"}),
			stackOf(1, 20, fakereceiver.Frame{Type: "jit", Module: "[anon]"}),
			stackOf(2, 10, fakereceiver.Frame{Type: "native", Module: "/opt/" + strings.Repeat("long", 20)}),
			stackOf(2, 5, fakereceiver.Frame{Type: "native", Module: "/opt/sixth"}),
			stackOf(2, 845, nativeFrame("hot")),
		}, Accounting: fakereceiver.Accounting{
			"samples.taken": 1000, "samples.kept": 1000, "frames.total": 2000, "frames.unknown": 155,
			"frequency.asked": 99.0, "frequency.achieved": 98.97,
		}}},
		{name: "chosen by chance", data: fakereceiver.Data{Stacks: busy[3:], Accounting: fakereceiver.Accounting{
			"samples.taken": 4100, "samples.kept": 4000, "samples.lost": 100, "samples.lost.state": 100,
			"samples.stand_for": 20101, "sampling.estimate": 5e9, "sampling.error": 0.01234,
		}}},
		{name: "no accounting", data: fakereceiver.Data{Stacks: busy[3:]}},
		{name: "one sample", interrupted: syscall.SIGINT, data: fakereceiver.Data{
			Stacks: busy[5:], Accounting: fakereceiver.Accounting{"samples.taken": 1, "samples.kept": 1, "frequency.asked": 99.0, "frequency.achieved": 99.0},
		}},
		{name: "lost by many causes", data: fakereceiver.Data{Stacks: busy[:4], Accounting: fakereceiver.Accounting{
			"samples.taken": 1_400_000, "samples.kept": 1_310_000, "samples.lost": 16_000, "samples.idle": 70_000, "samples.filtered": 4_000,
			"samples.missed":           812,
			"samples.lost.counts_full": 9_000, "samples.lost.stacks_full": 6_000, "samples.lost.window_full": 900, "samples.lost.oversized": 100,
			"frequency.asked": 4999.0, "frequency.achieved": 3011.0,
		}}},
		{name: "hostile names", data: fakereceiver.Data{Stacks: []fakereceiver.Stack{
			stackOf(1, 3, nativeFrame("\x1b]0;owned\x07\x1b[2J")),
			stackOf(1, 2, nativeFrame("abc\u202egnp.exe\r\nroot@host:~# ")),
			stackOf(1, 1, nativeFrame(strings.Repeat("長", 200))),
			stackOf(1, 1, fakereceiver.Frame{Type: "native", Module: "/tmp/\x9b31m/\x1b[0m.so"}),
		}}},
		{name: "no samples: nothing taken", data: fakereceiver.Data{Accounting: fakereceiver.Accounting{"samples.taken": 0}}},
		{name: "no samples: idle", data: fakereceiver.Data{Accounting: fakereceiver.Accounting{"samples.taken": 1980, "samples.idle": 1980}}},
		{name: "no samples: others", data: fakereceiver.Data{Accounting: fakereceiver.Accounting{"samples.taken": 1980, "samples.idle": 1000, "samples.filtered": 980}}},
		{name: "no samples: lost", data: fakereceiver.Data{Accounting: fakereceiver.Accounting{"samples.taken": 20, "samples.lost": 20, "samples.lost.stacks_full": 20}}},
		{name: "no samples: no accounting"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lines := summarized(test.data).summary(test.interrupted)
			assert.LessOrEqual(t, len(lines), 9)
			for _, line := range lines {
				assert.NotContains(t, line, "\x1b")
				assert.LessOrEqual(t, utf8.RuneCountInString(line), 160)
			}
			golden.Check(t, "summary_"+strings.NewReplacer(" ", "_", ":", "").Replace(test.name)+".txt", strings.Join(lines, "\n")+"\n")
		})
	}
}

// The summary and the outputs tell the same duration, that of the windows.
func TestDurationIsTheProfilersOwn(t *testing.T) {
	t.Parallel()
	d := fakereceiver.Data{
		Stacks:     []fakereceiver.Stack{stackOf(1, 5, nativeFrame("f"))},
		Accounting: fakereceiver.Accounting{"samples.taken": 5, "samples.kept": 5},
	}
	r := summarized(d)
	r.elapsed = 11 * time.Second
	assert.Contains(t, r.summary(nil)[0], "5 samples in 10.0 s from")
	lines := r.summary(syscall.SIGINT)
	assert.Contains(t, lines[len(lines)-1], "interrupted after 10.0 s; ")
	d.Accounting = nil
	r = summarized(d)
	r.elapsed = 11 * time.Second
	assert.Contains(t, r.summary(nil)[0], "5 samples in 11.0 s from", "no windows are known")
}

func TestRecordingShorterThanAPeriod(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		frequency  int
		accounting fakereceiver.Accounting
		want       string
	}{
		{1, fakereceiver.Accounting{"samples.taken": 0}, "no samples: the recording was shorter than one sampling period of 1 s; raise --frequency"},
		{2, fakereceiver.Accounting{"samples.taken": 2, "samples.idle": 1, "samples.filtered": 1}, "no samples: the recording was shorter than one sampling period of 0.5 s; raise --frequency"},
		{4, fakereceiver.Accounting{"samples.taken": 0}, "no samples: none was taken in this time"},
		{1, fakereceiver.Accounting{"samples.taken": 1, "samples.lost": 1}, "no samples: what was taken was lost"},
	} {
		r := summarized(fakereceiver.Data{})
		r.Frequency = test.frequency
		r.pipeline.tally = tally.New()
		r.pipeline.tally.Add(fakereceiver.Data{Accounting: test.accounting, Duration: 300 * time.Millisecond}.Profiles())
		assert.Equal(t, test.want, r.summary(nil)[0])
	}
}

func TestPercentIsNeverRoundedToNothingOrAll(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, "0%"}, {0, 10, "0.0%"}, {1, 100_000, "<0.1%"}, {1, 3, "33.3%"},
		{99_999, 100_000, ">99.9%"}, {10, 10, "100.0%"},
	} {
		assert.Equal(t, test.want, percent(test.part, test.whole), "%d of %d", test.part, test.whole)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		assert.Equal(t, want, figures.Grouped(n))
	}
	for n, want := range map[int64]string{1: "1 byte", 999: "999 bytes", 12_345: "12 kB", 4_560_000: "4.6 MB"} {
		assert.Equal(t, want, figures.Bytes(n))
	}
	for d, want := range map[time.Duration]string{
		30 * time.Second: "30 s", 1500 * time.Millisecond: "1.5 s", 90 * time.Second: "1m30s",
		10 * time.Minute: "10m", 24 * time.Hour: "24h", time.Hour + time.Second: "1h0m1s",
	} {
		assert.Equal(t, want, span(d))
	}
	assert.Equal(t, `flametel record -o 'my file.svg' -- sh -c 'it'\''s' ''`,
		shellQuote([]string{"flametel", "record", "-o", "my file.svg", "--", "sh", "-c", "it's", ""}))
}

func TestProgressText(t *testing.T) {
	t.Parallel()
	r := summarized(fakereceiver.Data{
		Stacks:     []fakereceiver.Stack{stackOf(1, 1234, nativeFrame("f"))},
		Accounting: fakereceiver.Accounting{"samples.taken": 1236, "samples.lost": 2},
	})
	p := &progress{recording: r}
	assert.Equal(t, "3 s of 30 s: 1,234 samples, 1 stack, 2 lost, own CPU 0.3%", p.text(3200*time.Millisecond, 0.0031))
	r.Command = []string{"make"}
	assert.Equal(t, "1m15s: 1,234 samples, 1 stack, 2 lost, own CPU 0.0%", p.text(75*time.Second, 0), "no length is known")
	r = summarized(fakereceiver.Data{Accounting: fakereceiver.Accounting{"samples.taken": 10, "samples.idle": 10}})
	assert.Equal(t, "1 s of 30 s: no samples yet, own CPU 0.0%", (&progress{recording: r}).text(time.Second, 0))
	r.pipeline.tally = tally.New()
	assert.Equal(t, "1 s of 30 s: the first samples are being named, own CPU 0.0%", (&progress{recording: r}).text(time.Second, 0))
}

// With -q the reason for the exit code is still said, and nothing else.
func TestQuietSaysWhyThereIsNothing(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	r := summarized(fakereceiver.Data{Accounting: fakereceiver.Accounting{"samples.taken": 198, "samples.kept": 98, "samples.idle": 100, "samples.left_out": 98}})
	r.Messages, r.Quiet = terminal.NewMessages(&said, 0), true
	r.summarize(nil)
	assert.Equal(t, "flametel: no samples: none of 98 samples has a frame that you asked for\n", said.String())
	said.Reset()
	r = summarized(fakereceiver.Data{Stacks: []fakereceiver.Stack{stackOf(1, 1, nativeFrame("f"))}})
	r.Messages, r.Quiet = terminal.NewMessages(&said, 0), true
	r.summarize(nil)
	assert.Empty(t, said.String())
}
