//go:build linux

package process

import (
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/receiver/internal/identity"
	"github.com/flametel/flametel/receiver/internal/window"
)

// facts are what procfs tells of a process beside its mappings. A child has
// those of its parent until its own are read, so a process that is gone by
// then is not without a container.
type facts struct {
	known       bool // read from procfs since the last exec, or no longer there to be read
	exe         string
	cgroup      string // contents of /proc/PID/cgroup
	service     string // what the environment calls the service
	commandLine string

	awaitsProgram bool // the next file that is mapped is the program
}

// inherit returns the facts of a child.
func (f facts) inherit() facts {
	f.known = false
	return f
}

// exec returns what is left of the facts after an exec.
func (f facts) exec() facts {
	return facts{cgroup: f.cgroup, awaitsProgram: true}
}

// mapped notes the program: exec maps it before its interpreter
// (fs/binfmt_elf.c, load_elf_binary).
func (f *facts) mapped(file string) {
	if f.awaitsProgram && strings.HasPrefix(file, "/") {
		f.exe, f.awaitsProgram = file, false
	}
}

// Bounds of what is read of a process that may be hostile.
const (
	maxCgroupBytes      = 64 << 10
	maxEnvironBytes     = 256 << 10
	maxCommandLineBytes = 4 << 10
)

func (g *program) rename(comm string) {
	g.renamed = g.renamed || comm != g.comm
	g.comm = comm
}

// loadFacts reads procfs once after a start or an exec. What has ended, or has
// moved on to another program, keeps what it inherited.
func (r *Registry) loadFacts(p *Process, g *program) {
	if g.facts.known || p.gone || p.pid == 0 || p.endedAt != 0 || g != p.running() {
		return
	}
	f := &g.facts
	st, err := readStat(r.opts.ProcRoot, p.pid)
	if err != nil {
		// Its end is not known yet, and each of its samples would ask again.
		f.known = errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
		return
	}
	f.known = true
	if st.startHigh() < p.startLow || st.startLow() > p.startHigh {
		return // the PID is used again
	}
	if exe := readExe(r.path(p.pid, "exe")); exe != "" {
		f.exe = exe
	}
	if text := readSome(r.path(p.pid, "cgroup"), maxCgroupBytes); len(text) > 0 {
		f.cgroup = string(text)
	}
	f.service = identity.ServiceName(readSome(r.path(p.pid, "environ"), maxEnvironBytes), "", "")
	if r.opts.CommandLines {
		f.commandLine = commandLine(readSome(r.path(p.pid, "cmdline"), maxCommandLineBytes))
	}
}

// readExe returns the program of a process, "" if it has none or is not ours
// to see.
func readExe(link string) string {
	exe, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(exe, " (deleted)")
}

// readSome reads at most limit bytes of a procfs file; nothing if it cannot.
func readSome(name string, limit int64) []byte {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, limit)) // what was read until the process ended is good
	return text
}

func commandLine(args []byte) string {
	return strings.ReplaceAll(strings.TrimRight(string(args), "\x00"), "\x00", " ")
}

// identify returns the identity of a program, the same pointer each time.
func (r *Registry) identify(p *Process, g *program) *window.Process {
	known := g.facts.known
	r.loadFacts(p, g)
	if g.identity != nil && known == g.facts.known && !g.renamed {
		return g.identity
	}
	if g.identity == nil {
		g.identity = &window.Process{}
	}
	g.renamed = false
	f := &g.facts
	container := identity.FromCgroup(f.cgroup)
	*g.identity = window.Process{
		PID:            int(p.pid),
		StartNanos:     p.startLow,
		Name:           displayName(g.comm, f.exe),
		ExecutablePath: f.exe,
		CommandLine:    f.commandLine,
		ContainerID:    container.ID,
		CgroupPath:     container.Path,
		Cgroups:        f.cgroup,
		Kernel:         g.kernel,
	}
	if !g.kernel {
		g.identity.ServiceName = f.service
		if f.service == "" {
			g.identity.ServiceName = identity.ServiceName(nil, container.ID, g.identity.Name)
		}
	}
	return g.identity
}

// commLimit is TASK_COMM_LEN - 1: longer names are cut by the kernel.
const commLimit = 15

// displayName is the name that people know a process by: what its main thread
// is called, in full if the kernel had to cut it.
func displayName(comm, exe string) string {
	base := path.Base(exe)
	if exe == "" {
		return comm
	}
	if comm == "" || (len(comm) == commLimit && strings.HasPrefix(base, comm)) {
		return base
	}
	return comm
}
