package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/internal/executable"
)

func TestWhatIsWrittenCanBeChosen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		want map[string]int64
	}{
		{"include a function", []string{"--include", "^parse$"}, map[string]int64{"web;main;parse": 70}},
		{"include a process", []string{"--include", "^web$"}, map[string]int64{"web;main;parse": 70, "web;main;copy_page_[k]": 28}},
		{"exclude", []string{"--include", "web", "--exclude", "copy"}, map[string]int64{"web;main;parse": 70}},
		{"kernel", []string{"--kernel"}, map[string]int64{"web;copy_page_[k]": 28}},
		{"user", []string{"--user", "--exclude", "red"}, map[string]int64{"web;main;parse": 70, "web;main": 28}},
		{"merged", []string{"--merge", "none", "--include", "main"}, map[string]int64{"main;parse": 70, "main;copy_page_[k]": 28}},
		{"idle", []string{"--idle", "--include", "parse"}, map[string]int64{"web;main;parse": 70, "[idle]": 98}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := flametel(t, "samples", append([]string{"record", "-d", "0.1", "-o", "-", "-q"}, test.args...)...)
			require.Zero(t, p.run(), "%s", p.stderr.String())
			got := map[string]int64{}
			for line := range strings.Lines(p.stdout.String()) {
				at := strings.LastIndexByte(line, ' ')
				var n int64
				require.NoError(t, json.Unmarshal([]byte(strings.TrimSpace(line[at:])), &n))
				got[line[:at]] = n
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// The summary is about what was chosen, and says what was left out.
func TestSummaryIsAboutWhatWasChosen(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "--include", "copy_page")
	p.run()
	p.assertEnd(0, recordingHost+`28 samples in T s from 1 process, 1 stack, 0.0% of frames unknown; 98.7 of 99 Hz achieved
0 of 198 samples lost; 98 idle, 72 left out as asked; top by self time:
 100.0%  kernel   copy_page
wrote out.svg (SIZE)
`)
	assert.Contains(t, p.file("out.svg"), "72 left out")

	none := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "--include", "nowhere")
	none.run()
	none.assertEnd(3, recordingHost+`no samples: none of 100 samples has a frame that you asked for
0 of 198 samples lost; 98 idle, 100 left out as asked
wrote out.svg (SIZE)
`)
}

func TestSnapshotIsWrittenAndTheRecordingGoesOn(t *testing.T) {
	t.Parallel()
	p := flametel(t, "early", "record", "-o", "out.folded", "-o", "-")
	p.begin()
	require.NoError(t, p.Process.Signal(syscall.SIGUSR1))
	p.await("goes on\n")
	assert.Contains(t, p.stderr.String(), "100 samples so far; wrote out.folded (")
	assert.Contains(t, p.file("out.folded"), "parse 70")
	assert.Empty(t, p.stdout.String(), "standard output cannot be replaced")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 143, p.end())
	assert.Contains(t, p.file("out.folded"), "parse 70")
	assert.Contains(t, p.stdout.String(), "parse 70")
}

func TestSnapshotWithoutSamples(t *testing.T) {
	t.Parallel()
	p := flametel(t, "none", "record", "-o", "out.folded")
	p.begin()
	require.NoError(t, p.Process.Signal(syscall.SIGUSR1))
	p.await("no samples yet, so there is nothing to write")
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, p.end())
}

func TestSummaryForPrograms(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "-o", "out.pb.gz", "--json", "-q")
	require.Zero(t, p.run())
	assert.Empty(t, p.stderr.String())
	assert.Equal(t, 1, strings.Count(p.stdout.String(), "\n"), "one line")
	var got record.Report
	dec := json.NewDecoder(strings.NewReader(p.stdout.String()))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&got))
	assert.Equal(t, int64(100), got.Samples)
	assert.Equal(t, 3, got.Stacks)
	assert.Equal(t, 2, got.Processes)
	assert.Equal(t, "time", got.Ended)
	assert.Equal(t, []string{"flametel", "record", "-d", "0.1", "-o", "out.svg", "-o", "out.pb.gz", "--json", "-q"}, got.Command)
	require.Len(t, got.Outputs, 2)
	assert.Equal(t, "pprof", got.Outputs[1].Format)
	assert.Equal(t, int64(len(p.file("out.svg"))), got.Outputs[0].Bytes)
	a := got.Accounting
	assert.Equal(t, a.Taken, a.Kept+a.Idle+a.Filtered+a.Lost)
	assert.Equal(t, record.Function{Name: "parse", Kind: "user", Self: 70, Percent: 70}, got.Top[0])
	assert.Equal(t, "starting to sample", got.Phases[0].Phase)
}

func TestSummaryForProgramsSaysHowItEnded(t *testing.T) {
	t.Parallel()
	read := func(p *program) (r record.Report) {
		out := strings.TrimSpace(p.stdout.String())
		require.NoError(t, json.Unmarshal([]byte(out[strings.LastIndexByte(out, '\n')+1:]), &r), "%s", out)
		return r
	}
	command := flametel(t, "samples", "record", "-o", "out.svg", "--json", "-q", "--", "sh", "-c", "echo hello; exit 7")
	assert.Equal(t, 7, command.run())
	assert.Equal(t, "command", read(command).Ended)
	assert.Equal(t, 7, read(command).ExitCode)

	interrupted := flametel(t, "samples", "record", "-o", "out.svg", "--json")
	interrupted.begin()
	require.NoError(t, interrupted.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, interrupted.end())
	assert.Equal(t, "signal", read(interrupted).Ended)
	assert.Equal(t, "interrupt", read(interrupted).Signal)
}

func TestVerboseTellsPhasesAndWhatComponentsSay(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "-v")
	require.Zero(t, p.run())
	for _, what := range []string{"starting to sample", "naming the last samples", "writing out.svg"} {
		assert.Regexp(t, `(?m)^flametel: info: `+what+` took \d+ ms$`, p.stderr.String())
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "a.folded", "-o", "b.svg", "-q", "--open")
	browser := filepath.Join(p.Dir, "browser")
	executable.Write(t, browser, []byte("#!/bin/sh\necho \"$1\" >opened.tmp; mv opened.tmp opened\n"))
	p.Env = append(p.Env, "BROWSER="+browser)
	require.Zero(t, p.run(), "%s", p.stderr.String())
	assert.Empty(t, p.stderr.String())
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(p.Dir, "opened"))
		return err == nil
	}, patience, tick)
	assert.Equal(t, filepath.Join(p.Dir, "b.svg")+"\n", p.file("opened"), "the picture, not the text")

	none := flametel(t, "samples", "record", "-d", "0.1", "-o", "b.svg", "-q", "--open")
	none.Env = append(none.Env, "BROWSER=", "DISPLAY=", "WAYLAND_DISPLAY=")
	assert.Zero(t, none.run(), "that nothing can be shown is no failure")
	assert.Contains(t, none.stderr.String(), "there is no display here; copy "+filepath.Join(none.Dir, "b.svg"))
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "--dry-run", "-o", "out.svg", "-o", "-", "-d", "5", "--", "true")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	assert.Empty(t, p.stderr.String())
	assert.Empty(t, p.files())
	for _, line := range []string{
		`ok      host         Linux \S+, .*`,
		`ok      target       true and its children, for 5 s`,
		`ok      sampling     cpu at 99 Hz on each of \d+ CPUs`,
		`ok      output       out.svg, svg`,
		`ok      output       standard output, folded`,
		`ok      attached     nothing; ready after \d+ ms, detached again`,
		`Nothing was recorded; it can be.`,
	} {
		assert.Regexp(t, `(?m)^`+line+`$`, p.stdout.String())
	}
}

func TestDryRunFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		behaviour string
		args      []string
		code      int
		stderr    string
	}{
		"privileges": {"refused", nil, 4, "sampling is not permitted"},
		"kernel":     {"broken", nil, 1, "the kernel is too old"},
		"folder":     {"samples", []string{"-o", "sub/x.svg"}, 1, "folder sub does not exist"},
		"process":    {"samples", []string{"-p", "4194304"}, 1, "process 4194304 does not exist"},
		"command":    {"samples", []string{"--", "no-such-command"}, 127, "no-such-command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := flametel(t, test.behaviour, append([]string{"record", "--dry-run"}, test.args...)...)
			assert.Equal(t, test.code, p.run())
			assert.Contains(t, p.stderr.String(), test.stderr)
			assert.Empty(t, p.files())
		})
	}
}

func TestCgroupThatDoesNotExist(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "--cgroup", "/no/such.slice")
	assert.Equal(t, 1, p.run())
	assert.Equal(t, "flametel: cgroup /no/such.slice does not exist; systemd-cgls and /sys/fs/cgroup show those that do\n", p.stderr.String())
}

func TestTargetsAreNamed(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "--container", "0123456789abcdef", "-f", "folded")
	p.run()
	assert.Contains(t, p.stderr.String(), "flametel: warning: no process of container 0123456789abcdef runs; ")
	assert.Contains(t, p.stderr.String(), "recording container 0123456789ab at 99 Hz for 0.1 s")
	require.Len(t, p.files(), 1)
	assert.Regexp(t, `^profile-0123456789ab-\d{8}-\d{6}\.folded$`, p.files()[0])
}

// Killed at any moment, a recording leaves a whole file or none.
func TestKilledRecordingLeavesNoHalfFile(t *testing.T) {
	t.Parallel()
	for delay := range 12 {
		t.Run(strconv.Itoa(delay), func(t *testing.T) {
			t.Parallel()
			p := flametel(t, "early", "record", "-o", "out.folded", "-q")
			require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "out.folded"), []byte("old"), 0o600))
			require.NoError(t, p.Start())
			time.Sleep(50 * time.Millisecond)
			require.NoError(t, p.Process.Signal(syscall.SIGTERM))
			time.Sleep(time.Duration(delay) * 500 * time.Microsecond)
			_ = p.Process.Kill() // it may have ended
			p.end()
			text := p.file("out.folded")
			assert.True(t, text == "old" || strings.HasSuffix(text, "web;main;parse 70\n"), "%q", text)
		})
	}
}

func TestComparisonIsASecondFile(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "-", "-o", "out.svg", "-o", "out.pb.gz", "--diff", "base.folded")
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "base.folded"), []byte("web;main;parse 10\nweb;main;send 90\n"), 0o600))
	require.Zero(t, p.run(), "%s", p.stderr.String())
	assert.Equal(t, []string{"base.folded", "out.diff.svg", "out.pb.gz", "out.svg"}, p.files())
	assert.Regexp(t, `(?m)^wrote standard output, out.svg \(\S+ kB\), out.diff.svg \(\S+ kB\), out.pb.gz `, p.stderr.String())
	assert.Contains(t, p.file("out.diff.svg"), "base.folded")

	missing := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "--diff", "missing.svg")
	missing.run()
	missing.assertEnd(1, "flametel: --diff missing.svg: no such file or directory\n")
	noProfile := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "--diff", "base.svg")
	require.NoError(t, os.WriteFile(filepath.Join(noProfile.Dir, "base.svg"), []byte("<svg/>"), 0o600))
	assert.Equal(t, 1, noProfile.run())
	assert.Contains(t, noProfile.stderr.String(), "base.svg")
	assert.Equal(t, []string{"base.svg"}, noProfile.files())
}
