package bpf

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// object is a compiled object and how it is set up. All of them have the maps
// and settings that are shared, under the same names; the generated names of
// "profile" stand for those of any.
type object struct {
	name string
	spec func() (*ebpf.CollectionSpec, error)
	// variables are the settings that others do not have.
	variables map[string]any
	// fit makes it suit the kernel before it is loaded; nil takes it as it is.
	fit func(*ebpf.CollectionSpec) error
}

// objects are the loaded programs and maps of one kind.
type objects struct {
	programs   *ebpf.Collection
	targets    *ebpf.Collection // nil unless targets are filtered
	generation *ebpf.Variable
	counts     [2]*ebpf.Map
	chunks     [2]*ebpf.Map
	stats      *ebpf.Map
	program    *ebpf.Program // the one that is called like the object, if there is one
	lifecycle  []link.Link
}

// load loads what opts need and nothing else. The caller closes the result.
func load(opts *Options, of *object) (_ *objects, err error) {
	// Kernels before 5.11 charge maps to this limit; later ones need no more
	// than that the attempt is made and may fail.
	_ = rlimit.RemoveMemlock()

	if opts.features == nil {
		opts.features = probeFeatures
	}
	o := &objects{}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	err = o.loadPrograms(opts, of)
	if isRefusal(err) && opts.Tables != nil {
		// Better cut stacks than none.
		if opts.OnTablesRefused != nil {
			opts.OnTablesRefused(loadError(of.name, err))
		}
		opts.Tables = nil
		err = o.loadPrograms(opts, of)
	}
	if err != nil {
		return nil, loadError(of.name, err)
	}
	if opts.FilterTargets {
		if err := o.loadTargets(); err != nil {
			return nil, loadError("targets", err)
		}
	}
	return o, nil
}

func (o *objects) loadPrograms(opts *Options, of *object) error {
	f, err := opts.features()
	if err != nil {
		return err
	}
	spec, err := of.spec()
	if err != nil {
		return err
	}
	if of.fit != nil {
		if err := of.fit(spec); err != nil {
			return err
		}
	}
	for _, names := range [][2]string{{profileMapCounts0, profileMapChunks0}, {profileMapCounts1, profileMapChunks1}} {
		spec.Maps[names[0]].MaxEntries = opts.mapEntries()
		spec.Maps[names[1]].MaxEntries = opts.chunkEntries()
	}
	if err := setAll(spec, sharedVariables(opts, f)); err != nil {
		return err
	}
	if err := setAll(spec, of.variables); err != nil {
		return err
	}
	if v := spec.Variables[syscallsVarByDuration]; v != nil { // of events only
		if err := v.Set(opts.ByDuration); err != nil {
			return fmt.Errorf("set variable %q: %w", syscallsVarByDuration, err)
		}
	}
	o.programs, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: opts.Tables.use(spec)})
	if err != nil {
		return err
	}
	maps := o.programs.Maps
	o.counts = [2]*ebpf.Map{maps[profileMapCounts0], maps[profileMapCounts1]}
	o.chunks = [2]*ebpf.Map{maps[profileMapChunks0], maps[profileMapChunks1]}
	o.stats = maps[profileMapStats]
	o.program = o.programs.Programs[of.name]
	o.generation = o.programs.Variables[profileVarGeneration]
	return nil
}

// sharedVariables are the settings that every object has.
func sharedVariables(opts *Options, f features) map[string]any {
	rows, mappings := opts.Tables.size()
	verdict := Drop
	if opts.KeepUnknown {
		verdict = Keep
	}
	return map[string]any{
		profileVarHaveLoop:       f.loop,
		profileVarHaveTaskRegs:   f.taskRegs,
		profileVarHaveTables:     opts.Tables != nil,
		profileVarRowMask:        rows - 1,
		profileVarMappingMask:    mappings - 1,
		profileVarHashSeed:       rand.Uint64() | 1,
		profileVarPerThread:      opts.PerThread,
		profileVarFilterTargets:  opts.FilterTargets,
		profileVarUnknownVerdict: uint8(verdict),
	}
}

// profileObject is the program of the CPU clock.
func profileObject(opts *Options) *object {
	return &object{name: "profile", spec: loadProfile, variables: map[string]any{profileVarPeriodNs: opts.periodNanos()}}
}

// setIdle tells the program of the CPU clock what is idle.
func (o *objects) setIdle(idle []Range) error {
	var ranges [maxIdleRanges]profileFtRange
	n := 0
	for ; n < min(len(idle), len(ranges)); n++ {
		ranges[n].Start, ranges[n].End = idle[n].Start, idle[n].End
	}
	for name, value := range map[string]any{
		profileVarIdleByTask:     n == 0,
		profileVarIdleRanges:     ranges[:],
		profileVarIdleRangeCount: uint32(n),
	} {
		if err := o.programs.Variables[name].Set(value); err != nil {
			return fmt.Errorf("set variable %q: %w", name, err)
		}
	}
	return nil
}

// setAll sets the variables of a collection before it is loaded.
func setAll(spec *ebpf.CollectionSpec, values map[string]any) error {
	for name, value := range values {
		v, ok := spec.Variables[name]
		if !ok {
			return fmt.Errorf("set variable %q: not in the object", name)
		}
		if err := v.Set(value); err != nil {
			return fmt.Errorf("set variable %q: %w", name, err)
		}
	}
	return nil
}

// maxIdleRanges is FT_MAX_IDLE_RANGES of profile.bpf.c.
const maxIdleRanges = 24

func (o *objects) loadTargets() error {
	spec, err := loadTargets()
	if err != nil {
		return err
	}
	o.targets, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{
		MapReplacements: map[string]*ebpf.Map{targetsMapTargets: o.programs.Maps[profileMapTargets]},
	})
	if err != nil {
		return err
	}
	for program, event := range map[string]string{
		targetsProgTargetFork: "sched_process_fork",
		targetsProgTargetExec: "sched_process_exec",
		targetsProgTargetFree: "sched_process_free",
	} {
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{
			Name: event, Program: o.targets.Programs[program],
		})
		if err != nil {
			return fmt.Errorf("attach to %s: %w", event, err)
		}
		o.lifecycle = append(o.lifecycle, l)
	}
	return nil
}

func (o *objects) setTarget(t Target, v Verdict) error {
	value := profileFtTarget{StartTicks: t.StartTicks, Verdict: uint32(v)}
	if err := o.programs.Maps[profileMapTargets].Put(t.PID, &value); err != nil {
		return fmt.Errorf("set target %d: %w", t.PID, err)
	}
	return nil
}

func (o *objects) isTarget(t Target) (keep, known bool) {
	var value profileFtTarget
	err := o.programs.Maps[profileMapTargets].Lookup(t.PID, &value)
	known = err == nil && value.StartTicks == t.StartTicks
	return known && value.Verdict != uint32(Drop), known
}

// eachTarget yields the processes that are kept, now or from an exec on, and have not been forgotten, until
// yield returns false. What begins or ends meanwhile may make it start again.
func (o *objects) eachTarget(yield func(Target) bool) error {
	var pid uint32
	var value profileFtTarget
	entries := o.programs.Maps[profileMapTargets].Iterate()
	for entries.Next(&pid, &value) {
		if value.Verdict != uint32(Drop) && !yield(Target{PID: pid, StartTicks: value.StartTicks}) {
			return nil
		}
	}
	if err := entries.Err(); err != nil {
		return fmt.Errorf("list targets: %w", err)
	}
	return nil
}

// childrenLost is how many children of targets could not be followed so far.
func (o *objects) childrenLost() (n uint64, err error) {
	if o.targets == nil {
		return 0, nil
	}
	err = o.targets.Variables[targetsVarTargetsFull].Get(&n)
	return n, err
}

func (o *objects) close() {
	for _, l := range o.lifecycle {
		_ = l.Close()
	}
	if o.targets != nil {
		o.targets.Close()
	}
	if o.programs != nil {
		o.programs.Close()
	}
}

// isRefusal tells whether the verifier refused a program, and said why.
func isRefusal(err error) bool {
	var verifier *ebpf.VerifierError
	return errors.As(err, &verifier) && len(verifier.Log) > 0
}

// IsRefusal tells whether NewSampler or NewTracer failed because the kernel's
// verifier does not admit a program.
func IsRefusal(err error) bool { return isRefusal(err) }

// loadError names the program. What the kernel forbids is explained instead of
// passing on the loader's guess about memory limits. EACCES is also what the
// verifier says of a program that it refuses, but then it says why.
func loadError(name string, err error) error {
	if errors.Is(err, unix.EPERM) || (errors.Is(err, unix.EACCES) && !isRefusal(err)) {
		return newPrivilegeError("load program \""+name+"\"", err)
	}
	var missing *MissingError
	if errors.As(err, &missing) {
		return err // it says it all
	}
	return fmt.Errorf("load program %q: %w", name, err)
}
