//go:build integration

package cli

import (
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/internal/executable"
	"github.com/flametel/flametel/internal/workloads"
)

// folded reads folded text: stacks and counts.
func folded(t *testing.T, text string) map[string]int64 {
	t.Helper()
	stacks := map[string]int64{}
	for line := range strings.Lines(text) {
		cut := strings.LastIndexByte(line, ' ')
		require.Positive(t, cut, "%q", line)
		n, err := strconv.ParseInt(strings.TrimSpace(line[cut:]), 10, 64)
		require.NoError(t, err, "%q", line)
		stacks[line[:cut]] += n
	}
	return stacks
}

func sum(stacks map[string]int64) (n int64) {
	for _, count := range stacks {
		n += count
	}
	return n
}

// number reads a number that the summary says in the words of a pattern.
func (p *program) number(pattern string) int64 {
	p.t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(p.stderr.String())
	if match == nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(match[1], ",", ""), 10, 64)
	require.NoError(p.t, err)
	return n
}

func (p *program) samples() int64 { return p.number(`(?m)^([0-9,]+) samples? in `) }

// All outputs of one recording hold the same samples.
func TestHostInAllFormats(t *testing.T) {
	t.Parallel()
	workloads.Start(t, workloads.Burn.Build(t, "burn-formats"), "600")
	p := flametel(t, realReceiver, "record", "-d", "2",
		"-o", "out.svg", "-o", "out.folded", "-o", "out.pb.gz", "-o", "out.speedscope.json")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	total := p.samples()
	assert.Positive(t, total)
	assert.Equal(t, total, sum(folded(t, p.file("out.folded"))))
	assert.Equal(t, total, pprofTotal(t, p.file("out.pb.gz")))
	assert.Equal(t, total, speedscopeTotal(t, p.file("out.speedscope.json")))
	assertXML(t, p.file("out.svg"))
	assert.Regexp(t, `(?m)^[0-9,]+ of [0-9,]+ samples lost`, p.stderr.String())
	said := regexp.MustCompile(`in ([0-9.]+ s) from .*; ([0-9.]+) of 99 Hz achieved`).FindStringSubmatch(p.stderr.String())
	require.NotNil(t, said, "%s", p.stderr.String())
	assert.Contains(t, p.file("out.svg"), "· recorded for "+said[1]+" · 99 Hz asked, "+said[2]+" Hz achieved ·", "the summary and the file agree")
	unknown := regexp.MustCompile(`, <?([0-9.]+)% of frames unknown`).FindStringSubmatch(p.stderr.String())
	shown := regexp.MustCompile(`([0-9.]+)% of all frames unknown`).FindStringSubmatch(p.file("out.svg"))
	require.True(t, unknown != nil && shown != nil, "%s", p.stderr.String())
	a, _ := strconv.ParseFloat(unknown[1], 64)
	b, _ := strconv.ParseFloat(shown[1], 64)
	assert.InDelta(t, a, b, 0.11, "the same frames are counted")
	// Warnings are about what else runs here, progress about what takes long.
	others := len(regexp.MustCompile(`(?m)^(flametel: (warning|note): |starting: |naming |writing |[0-9]+ s of )`).FindAllString(p.stderr.String(), -1))
	assert.LessOrEqual(t, strings.Count(p.stderr.String(), "\n")-others, 1+9, "%s", p.stderr.String())
}

func pprofTotal(t *testing.T, data string) (total int64) {
	t.Helper()
	unzipped, err := gzip.NewReader(strings.NewReader(data))
	require.NoError(t, err)
	prof, err := profile.Parse(unzipped)
	require.NoError(t, err)
	require.NoError(t, prof.CheckValid())
	for _, s := range prof.Sample {
		total += s.Value[0]
	}
	return total
}

func speedscopeTotal(t *testing.T, data string) (total int64) {
	t.Helper()
	var file struct {
		Profiles []struct{ Weights []int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(data), &file))
	for _, p := range file.Profiles {
		for _, w := range p.Weights {
			total += w
		}
	}
	return total
}

func assertXML(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestOnlyTheProcessAskedFor(t *testing.T) {
	t.Parallel()
	pid := workloads.Start(t, workloads.Burn.Build(t, "burn-asked"), "600")
	workloads.Start(t, workloads.Burn.Build(t, "burn-other"), "600")
	p := flametel(t, realReceiver, "record", "-d", "2", "-F", "499", "-o", "-", "-p", strconv.Itoa(pid))
	require.Zero(t, p.run(), "%s", p.stderr.String())
	stacks := folded(t, p.stdout.String())
	assert.Equal(t, p.samples(), sum(stacks))
	for stack := range stacks {
		assert.True(t, strings.HasPrefix(stack, "burn-asked;"), "%s", stack)
	}
	assert.Contains(t, p.stderr.String(), "recording process "+strconv.Itoa(pid)+" (burn-asked) and its children at 499 Hz for 2 s")
	assert.Regexp(t, `  user     helper\n`, p.stderr.String())
}

// A command uses a known amount of CPU time, so the number of samples is known.
func TestCommandIsSampledFromItsFirstInstruction(t *testing.T) {
	t.Parallel()
	const frequency, cpuSeconds = 997, 0.5
	burn := workloads.Burn.Build(t, "burn-command")
	p := flametel(t, realReceiver, "record", "-F", strconv.Itoa(frequency), "-o", "out.folded", "--", burn, "0.5")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	assert.Contains(t, p.stdout.String(), "rounds ", "the command's own output")
	stacks := folded(t, p.file("out.folded"))
	var named int64
	for stack, n := range stacks {
		assert.True(t, strings.HasPrefix(stack, "burn-command;"), "%s", stack)
		if strings.Contains(stack, ";main;heavy;helper") || strings.Contains(stack, ";main;light;helper") {
			named += n
		}
	}
	missed := p.number(` ([0-9,]+) never taken`)
	assert.GreaterOrEqual(t, float64(named+missed), 0.8*frequency*cpuSeconds, "%s", p.stderr.String())
}

// The children of a command are recorded, however short they live.
func TestChildrenOfACommand(t *testing.T) {
	t.Parallel()
	burn := workloads.Burn.Build(t, "burn-child")
	p := flametel(t, realReceiver, "record", "-F", "499", "-o", "out.folded", "--",
		"sh", "-c", `for i in 1 2 3 4 5; do "$0" 0.1 >/dev/null; done; exit 6`, burn)
	assert.Equal(t, 6, p.run(), "%s", p.stderr.String())
	var ofChildren int64
	for stack, n := range folded(t, p.file("out.folded")) {
		assert.Regexp(t, `^(sh|burn-child);`, stack)
		if strings.HasPrefix(stack, "burn-child;") {
			ofChildren += n
		}
	}
	assert.Positive(t, ofChildren)
}

func TestInterruptUnderLoad(t *testing.T) {
	t.Parallel()
	burn := workloads.Burn.Build(t, "burn-load")
	for range 2 * runtime.NumCPU() {
		workloads.Start(t, burn, "600")
	}
	p := flametel(t, realReceiver, "record", "-F", "999", "-o", "out.svg", "-o", "out.folded")
	p.begin()
	time.Sleep(2500 * time.Millisecond)
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, p.end())
	assert.Contains(t, p.stderr.String(), "interrupted after ")
	assertXML(t, p.file("out.svg"))
	assert.Equal(t, p.samples(), sum(folded(t, p.file("out.folded"))))
	assert.Positive(t, p.samples())
}

// A process that sleeps gives no samples, and the reason.
func TestSleepingProcessHasNoSamples(t *testing.T) {
	t.Parallel()
	// On a host where nothing runs the reason would be that.
	workloads.Start(t, workloads.Burn.Build(t, "burn-beside"), "600")
	pid := workloads.Start(t, "/bin/sleep", "600")
	p := flametel(t, realReceiver, "record", "-d", "0.5", "-o", "out.svg", "-p", strconv.Itoa(pid))
	assert.Equal(t, 3, p.run(), "%s", p.stderr.String())
	assert.Contains(t, p.stderr.String(), "no samples: what you record did not use a CPU\n")
	assert.Contains(t, p.file("out.svg"), "none of the processes asked for")
}

// nobody is the user ID of a user without any rights.
const nobody = 65534

// asNobody makes it a program that nobody can run, in a folder of nobody's.
func (p *program) asNobody() {
	p.t.Helper()
	// Others can reach neither the test program nor the folders of a test.
	dir, err := os.MkdirTemp("", "flametel-nobody-")
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(p.t, os.Chown(dir, nobody, nobody))
	p.Dir, p.Path = dir, filepath.Join(dir, "flametel")
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(p.t, err)
	executable.Write(p.t, p.Path, self)
	require.NoError(p.t, os.Chown(p.Path, nobody, nobody))
	p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

func TestWithoutPrivileges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		held []uintptr
		text string
	}{
		"none":         {nil, `CAP_BPF, CAP_PERFMON; to name all functions also CAP_SYS_PTRACE, .* \(held: none\)`},
		"only CAP_BPF": {[]uintptr{unix.CAP_BPF}, `CAP_PERFMON; to name all functions also CAP_SYS_PTRACE, .* \(held: CAP_BPF\)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{{"record", "-d", "1"}, {"record", "--dry-run"}, {"top", "--once"}} {
				p := flametel(t, realReceiver, args...)
				p.asNobody()
				p.SysProcAttr.AmbientCaps = test.held
				assert.Equal(t, 4, p.run(), "%s", p.stderr.String())
				assert.Regexp(t, `^flametel: sampling is not permitted: the kernel refused bpf\(BPF_PROG_LOAD\).*: operation not permitted \(EPERM\)
  missing     `+test.text+`
  this host   Linux `, p.stderr.String())
				assert.Equal(t, []string{"flametel"}, p.files(), "no file under the default name")
			}
		})
	}
}

// What --print-config prints is a configuration that our collector takes.
func TestCollectorTakesThePrintedConfiguration(t *testing.T) {
	t.Parallel()
	otelcol := filepath.Join("..", "..", "..", "..", "bin", "otelcol")
	require.FileExists(t, otelcol, "make build makes it")
	for _, args := range [][]string{
		nil,
		{"-p", "1", "-d", "5m", "-F", "49", "-o", "a b$c.svg", "-o", "-", "--title", `"x": {y} # z`, "--no-annotations"},
		{"--", "/usr/bin/nginx[1]", "-g"},
	} {
		p := flametel(t, realReceiver, append([]string{"record", "--print-config"}, args...)...)
		require.Zero(t, p.run(), "%s", p.stderr.String())
		config := filepath.Join(t.TempDir(), "collector.yaml")
		require.NoError(t, os.WriteFile(config, []byte(p.stdout.String()), 0o600))
		out, err := exec.Command(otelcol, "validate", "--config", config).CombinedOutput()
		assert.NoError(t, err, "%s\n%s", out, p.stdout.String())
	}
}

// The live table of a program with a known split.
func TestTopOfAKnownProgram(t *testing.T) {
	t.Parallel()
	pid := workloads.Start(t, workloads.Burn.Build(t, "burn-top"), "600")
	p := flametel(t, realReceiver, "top", "--once", "-i", "3", "-F", "499", "-p", strconv.Itoa(pid))
	require.Zero(t, p.run(), "%s", p.stderr.String())
	match := regexp.MustCompile(`(?m)^ *[0-9.]+% +([0-9.]+)%  \S+ +user +\S+ +heavy$`).FindStringSubmatch(p.stdout.String())
	require.NotNil(t, match, "%s", p.stdout.String())
	share, err := strconv.ParseFloat(match[1], 64)
	require.NoError(t, err)
	assert.InDelta(t, 70, share, 15, "%s", p.stdout.String())
}

// In a PID namespace of its own a profiler cannot name the host's processes, and
// says so instead of showing them without.
func TestPIDNamespaceIsWarnedOf(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "-q")
	p.Args = append([]string{"unshare", "--pid", "--fork", "--mount-proc", p.Path}, p.Args[1:]...)
	p.Path = must(exec.LookPath("unshare"))
	require.Zero(t, p.run(), "%s", p.stderr.String())
	assert.Contains(t, p.stderr.String(), "warning: this is a PID namespace of its own")
}

// hidden runs a shell command in a mount namespace of its own.
func (p *program) hidden(mounts string) {
	p.t.Helper()
	p.Args = append([]string{"unshare", "--mount", "sh", "-c", mounts + ` && exec "$0" "$@"`, p.Path}, p.Args[1:]...)
	p.Path = must(exec.LookPath("unshare"))
}

func TestMissingTypeInformationIsNamed(t *testing.T) {
	t.Parallel()
	p := flametel(t, realReceiver, "record", "-d", "1", "-o", "out.svg")
	p.hidden("mount -t tmpfs none /sys/kernel/btf")
	assert.Equal(t, 1, p.run())
	assert.Contains(t, p.stderr.String(), "flametel: this kernel does not describe its types: /sys/kernel/btf/vmlinux is missing; use a kernel that was built with CONFIG_DEBUG_INFO_BTF=y")
	assert.Empty(t, p.files())
}

// Tracing files that are not mounted are not needed.
func TestRecordWithoutTracefs(t *testing.T) {
	t.Parallel()
	p := flametel(t, realReceiver, "record", "-q", "-o", "out.svg", "--", "true")
	p.hidden("mount -t tmpfs none /sys/kernel/tracing && mount -t tmpfs none /sys/kernel/debug")
	assert.Zero(t, p.run(), "%s", p.stderr.String())
	assert.Empty(t, p.stderr.String())
}

// Two kinds at once of a command: each has files of its own, and what the command
// did is in them.
func TestHostRecordsSeveralKinds(t *testing.T) {
	t.Parallel()
	p := flametel(t, realReceiver, "record", "--type", "file_opens,syscalls", "-o", "out.folded", "--",
		"sh", "-c", "sleep 1; for i in 1 2 3; do cat missing-file; done; true")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	missing := int64(0)
	for stack, n := range folded(t, p.file("out.folded")) {
		if strings.Contains(stack, "error:ENOENT") && strings.Contains(stack, "/missing-file") {
			missing += n
		}
	}
	assert.EqualValues(t, 3, missing)
	calls := folded(t, p.file("out-syscalls.folded"))
	assert.Positive(t, sum(calls))
	for _, name := range []string{"out-file_opens-open_time.folded", "out-syscalls-syscall_time.folded"} {
		assert.Positive(t, sum(folded(t, p.file(name))), name)
	}
	assert.Regexp(t, `(?m)^[0-9,]+ opens in `, p.stderr.String())
	assert.Regexp(t, `(?m)^syscalls: [0-9,]+ calls from \d+ processes`, p.stderr.String())
}

// A recording of a process ends when the process and what it has started have.
func TestRecordingEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	burn := workloads.Burn.Build(t, "burn-ends")
	cmd := exec.Command("sh", "-c", `read go; "$1" 0.5 &`, "sh", burn)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	p := flametel(t, realReceiver, "record", "-d", "3600", "-F", "499", "-o", "out.folded", "-p", strconv.Itoa(cmd.Process.Pid))
	p.begin()
	require.NoError(t, in.Close())
	assert.Zero(t, p.end(), "%s", p.stderr.String())
	assert.Regexp(t, `(?m)^process \d+ has ended after [0-9.]+ s, and with it the recording$`, p.stderr.String())
	assert.Contains(t, p.file("out.folded"), "heavy")
}

// Files are readable only for their owner, so they belong to who called sudo.
func TestFilesBelongToWhoCalledSudo(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "-q")
	p.Env = append(p.Env, "SUDO_UID=4242", "SUDO_GID=4243")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	out, err := exec.Command("stat", "-c", "%u %g %a", filepath.Join(p.Dir, "out.svg")).Output()
	require.NoError(t, err)
	assert.Equal(t, "4242 4243 600\n", string(out))
}
