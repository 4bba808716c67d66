package record

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/child"
	"github.com/flametel/flametel/cmd/flametel/internal/preflight"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/receiver"
)

// The marks of a line of the preflight report.
const (
	good    = "ok"
	warning = "warn"
	bad     = "MISSING"
)

// preflightReport is what --dry-run prints, line by line.
type preflightReport struct {
	*Settings
	worst string
}

func (p *preflightReport) line(mark, what, format string, args ...any) {
	if p.worst == "" || mark == bad || mark == warning && p.worst == good {
		p.worst = mark
	}
	_, _ = fmt.Fprintf(p.Stdout, "%-8s%-13s%s\n", mark, what, terminal.Escape(fmt.Sprintf(format, args...)))
}

// DryRun looks at everything that a recording needs, starts to sample and stops
// at once, and says what it found. Nothing is written and no command is run.
func DryRun(ctx context.Context, s *Settings, o *Options) (code int, err error) {
	r := &recording{Settings: s, Options: o}
	p := &preflightReport{Settings: s}
	host := s.host()
	p.host(&host)
	if err := r.dryTarget(p); err != nil {
		return r.notPrepared(err)
	}
	if err := r.dryOutputs(p); err != nil {
		return r.notPrepared(err)
	}
	if err := r.trial(ctx, p); err != nil {
		if receiver.IsPrivilegeError(err) {
			return CodePrivileges, s.privilegeText(err)
		}
		return r.failed(err)
	}
	_, _ = fmt.Fprintln(s.Stdout, "\nNothing was recorded; it can be.")
	return CodeOK, nil
}

// host reports what the kernel and this process's rights allow.
func (p *preflightReport) host(h *preflight.Host) {
	p.line(good, "host", "%s", h.Describe())
	mark, text := good, "the kernel describes its types (BTF)"
	if !h.BTF {
		mark, text = warning, "no /sys/kernel/btf/vmlinux: the kernel was built without CONFIG_DEBUG_INFO_BTF"
	}
	p.line(mark, "types", "%s", text)
	held := make([]string, 0, len(preflight.Capabilities()))
	for _, c := range h.Held() {
		held = append(held, c.Name)
	}
	if len(held) == 0 {
		held = []string{"none"}
	}
	p.line(good, "rights", "held: %s", strings.Join(held, ", "))
	for _, needed := range []bool{true, false} {
		mark := warning
		if needed {
			mark = bad
		}
		for _, c := range h.Missing(needed) {
			p.line(mark, "", "%s: without it %s", c.Name, c.Without)
		}
	}
	if h.PIDNamespace {
		p.line(warning, "namespace", "process IDs are those of a PID namespace of its own; other processes of the host show without their files: start with --pid=host")
	}
}

// dryTarget reports what would be recorded.
func (r *recording) dryTarget(p *preflightReport) (err error) {
	if r.process, err = checkProcesses(r.PIDs); err != nil {
		return err
	}
	if err := checkCgroups(r.Cgroups, CgroupRoots()); err != nil {
		return err
	}
	if len(r.Command) > 0 {
		if _, err := child.Find(r.Command[0]); err != nil {
			return err
		}
	}
	length := "for " + span(r.duration())
	if r.untilExit() {
		length = "until it ends"
	}
	p.line(good, "target", "%s, %s", r.subject(r.process), length)
	how := strings.Join(r.Types, ", ")
	if slices.Contains(r.Types, DefaultType) {
		how += fmt.Sprintf(" at %d Hz on each of %d CPUs", r.Frequency, runtime.NumCPU())
	}
	mark := good
	if r.lacksPrivileges() {
		mark, how = bad, how+": not without the capabilities above"
	}
	p.line(mark, "sampling", "%s", how)
	return nil
}

// dryOutputs reports what would be written.
func (r *recording) dryOutputs(p *preflightReport) error {
	for _, path := range r.Outputs {
		if err := checkOutput(path); err != nil {
			return err
		}
		o := output{path: path, format: r.Format}
		mark := good
		if text := o.mismatch(); text != "" {
			mark = warning
		}
		p.line(mark, "output", "%s, %s", o.name(), o.kind())
	}
	if len(r.Outputs) > 0 {
		return nil
	}
	o := output{path: stem(r.what(r.process)) + r.Now().Format("-20060102-150405") + extensions[formatOr(r.Format)], format: formatOr(r.Format)}
	if err := probe(filepath.Dir(o.path)); err != nil {
		return err
	}
	p.line(good, "output", "%s, %s", o.name(), o.kind())
	return nil
}

// trial begins to sample and stops at once: whatever the kernel, a security
// module or a filter of system calls refuses is only learnt by asking for it.
func (r *recording) trial(ctx context.Context, p *preflightReport) (err error) {
	if r.pipeline, err = newPipeline(ctx, r.Settings, r.Options, r.PIDs, nil); err != nil {
		return err
	}
	before := attached()
	begin := time.Now()
	if err := r.pipeline.start(ctx); err != nil {
		return r.explain(err)
	}
	took := time.Since(begin)
	list := attached().since(before)
	err = r.pipeline.stop(ctx)
	p.line(good, "attached", "%s; ready after %s, detached again", list, milliseconds(took))
	return err
}
