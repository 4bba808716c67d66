//go:build linux

package process

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/procmap"
)

// Opener pins the file behind a mapping; *symbolize.Symbolizer is one.
type Opener interface {
	Open(pid int, m procmap.Mapping) *symbolize.Object
}

// Options sets up a Registry.
type Options struct {
	// ProcRoot is where procfs is mounted, "/proc" if empty.
	ProcRoot string
	// CommandLines makes identities carry command lines.
	CommandLines bool
}

// Registry knows the processes of this host. It is safe for concurrent use.
type Registry struct {
	opts   Options
	opener Opener

	mu    sync.Mutex
	byPID map[uint32][]*Process // newest last; more than one only after PIDs were used again
	stale bool                  // events were lost: procfs must be read again
	swept uint64                // when Sweep was last called, CLOCK_MONOTONIC
	// changed are the processes whose mappings are others since TakeChanged.
	changed map[uint32]struct{}
}

// New returns a Registry that knows nothing yet.
func New(opener Opener, opts Options) *Registry {
	if opts.ProcRoot == "" {
		opts.ProcRoot = "/proc"
	}
	return &Registry{opts: opts, opener: opener, byPID: make(map[uint32][]*Process), changed: make(map[uint32]struct{})}
}

// Snapshot is what is known of a process at the time of a sample.
type Snapshot struct {
	// Image is what was mapped, never nil.
	Image *symbolize.Process
	// Identity is the same pointer for the same program as long as it runs.
	// The registry changes it in Find only.
	Identity *window.Process
	// Gone tells that the process ended before its mappings could be learnt.
	Gone bool
	// Ended tells that its main thread has ended, at least.
	Ended bool
}

// Find returns the process that has the PID and started at start
// (CLOCK_BOOTTIME), as it was at a time (CLOCK_MONOTONIC). It reads procfs if
// the process is new to it, and never fails: of a process that nobody can tell
// anything about, the PID and the name of the sample remain.
func (r *Registry) Find(pid uint32, start, at uint64, comm string) Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.find(pid, start)
	if p == nil {
		p = r.learn(pid, start, comm)
		r.byPID[pid] = append(r.byPID[pid], p)
	}
	p.startLow, p.startHigh = start, start
	g := p.at(at)
	if g.comm == "" {
		g.rename(comm) // better than nothing: the parent was not known either
	}
	return Snapshot{
		Image:    g.imageAt(at),
		Identity: r.identify(p, g),
		Gone:     p.gone,
		Ended:    p.leaderExited || p.endedAt != 0,
	}
}

// Now returns the identity of what a process runs now; ok is false if it is not
// known to run. Call it from where Find is called.
func (r *Registry) Now(pid uint32, start uint64) (id *window.Process, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.find(pid, start)
	if p == nil || p.endedAt != 0 {
		return nil, false
	}
	return r.identify(p, p.running()), true
}

// Image returns what a process maps now. It reads procfs if the process is new
// to the registry; ok is false if nothing is known of it.
func (r *Registry) Image(pid uint32, start uint64) (image *symbolize.Process, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.find(pid, start)
	if p == nil {
		p = r.learn(pid, start, "")
		r.byPID[pid] = append(r.byPID[pid], p)
	}
	p.startLow, p.startHigh = start, start
	return p.running().image(), !p.gone
}

// TakeChanged returns the processes that have other mappings since the last
// call, or have ended.
func (r *Registry) TakeChanged() []uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	pids := slices.Collect(maps.Keys(r.changed))
	clear(r.changed)
	return pids
}

// Ended tells whether a process is not known to run.
func (r *Registry) Ended(pid uint32, start uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.find(pid, start)
	return p == nil || p.endedAt != 0
}

func (r *Registry) find(pid uint32, start uint64) *Process {
	for _, p := range slices.Backward(r.byPID[pid]) {
		if p.startedAt(start) {
			return p
		}
	}
	return nil
}

// current is the process that has the PID now, nil if it is not known.
func (r *Registry) current(pid uint32) *Process {
	list := r.byPID[pid]
	if len(list) == 0 || list[len(list)-1].endedAt != 0 {
		return nil
	}
	return list[len(list)-1]
}

// learn reads a process from procfs. start is 0 if it is not known.
func (r *Registry) learn(pid uint32, start uint64, comm string) *Process {
	g := &program{comm: comm, versions: []version{{0, symbolize.NewProcess(int(pid), start)}}}
	p := &Process{pid: pid, startLow: start, startHigh: start, programs: []*program{g}}
	if pid == 0 {
		g.comm, g.kernel = "swapper", true
		return p
	}
	p.learntAt = now(unix.CLOCK_MONOTONIC)
	st, err := readStat(r.opts.ProcRoot, pid)
	if err != nil || (start != 0 && !st.startedAt(start)) {
		p.gone = true
		p.endedAt = now(unix.CLOCK_MONOTONIC)
		return p
	}
	g.comm, g.kernel = st.comm, st.kernel
	p.startLow, p.startHigh = st.startLow(), st.startHigh()
	g.versions[0].image = symbolize.NewProcess(int(pid), p.startLow)
	if !g.kernel {
		g.publish(0, r.readMappings(pid))
	}
	return p
}

// readMappings returns nothing for a process that ends meanwhile.
func (r *Registry) readMappings(pid uint32) []symbolize.Mapped {
	ms, err := procmap.Read(r.opts.ProcRoot, int(pid))
	if err != nil {
		return nil
	}
	var list []symbolize.Mapped
	for _, m := range ms {
		list = insert(list, symbolize.Mapped{Mapping: m, Object: r.opener.Open(int(pid), m)})
	}
	return list
}

// Scan learns of all processes that run now. Between two processes others may
// use the registry, so it can run beside a drain; it ends when stop is closed.
func (r *Registry) Scan(stop <-chan struct{}) error {
	dir, err := os.Open(r.opts.ProcRoot)
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		pid, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			continue
		}
		select {
		case <-stop:
			return nil
		default:
		}
		r.scanProcess(uint32(pid))
	}
	return nil
}

func (r *Registry) scanProcess(pid uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current(pid) != nil {
		return
	}
	if p := r.learn(pid, 0, ""); !p.gone {
		r.byPID[pid] = append(r.byPID[pid], p)
	}
}

// forgetAfter is how long a process that has ended is kept: its last samples
// come with the next drain, and events may come a moment before samples.
const forgetAfter = 2 * time.Second

// Sweep drops processes that ended long enough ago: at least one whole drain
// interval, and before the last call, for samples of those that ended since may
// not be drained yet. Call it once for each drain, when its samples are named.
func (r *Registry) Sweep(drainInterval time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := now(unix.CLOCK_MONOTONIC)
	keep := uint64(forgetAfter + 2*drainInterval)
	for pid, list := range r.byPID {
		for _, p := range list {
			if p.endedAt == 0 && (p.leaderExited || r.stale) && !r.runs(p) {
				p.endedAt = t
				r.changed[pid] = struct{}{}
			}
		}
		list = slices.DeleteFunc(list, func(p *Process) bool {
			return p.endedAt != 0 && p.endedAt+keep < t && p.endedAt < r.swept
		})
		if len(list) == 0 {
			delete(r.byPID, pid)
		} else {
			r.byPID[pid] = list
		}
	}
	if r.stale {
		r.refresh(r.swept, t)
	}
	r.swept = t
}

// runs tells whether a process whose main thread has ended, or of which events
// may have been missed, still has threads.
func (r *Registry) runs(p *Process) bool {
	if p.pid == 0 {
		return true
	}
	st, err := readStat(r.opts.ProcRoot, p.pid)
	if err != nil || st.startHigh() < p.startLow || st.startLow() > p.startHigh {
		return false
	}
	return !st.zombie || st.threads > 1
}

// refresh reads all processes again after events were lost, which happened
// after since.
func (r *Registry) refresh(since, t uint64) {
	r.stale = false
	for pid := range r.byPID {
		p := r.current(pid)
		if p == nil || p.pid == 0 {
			continue
		}
		st, err := readStat(r.opts.ProcRoot, pid)
		if err != nil {
			continue // ended a moment ago
		}
		exe := readExe(r.path(pid, "exe"))
		if known := p.running().facts.exe; exe != "" && known != "" && exe != known {
			p.exec(since, st.comm) // an exec that was not seen
		}
		g := p.running()
		g.rename(st.comm)
		if g.kernel = st.kernel; g.kernel {
			continue
		}
		g.publish(t, r.readMappings(pid))
		r.changed[pid] = struct{}{}
		g.facts.known = false
	}
}

// Each calls visit for every process that runs, with what procfs says of it
// now. Call it from where Find is called: it changes identities too.
func (r *Registry) Each(visit func(id *window.Process)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range r.byPID {
		if p := r.current(pid); p != nil {
			p.running().facts.known = false
			visit(r.identify(p, p.running()))
		}
	}
}

// Len is the number of processes kept.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, list := range r.byPID {
		n += len(list)
	}
	return n
}

func (r *Registry) path(pid uint32, name string) string {
	return filepath.Join(r.opts.ProcRoot, strconv.FormatUint(uint64(pid), 10), name)
}
