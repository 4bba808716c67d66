package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/child"
	"github.com/flametel/flametel/cmd/flametel/internal/tally"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/receiver"
)

// recording is the state of one Run.
type recording struct {
	*Settings
	*Options
	process  string // name of the first process asked for
	outputs  []output
	command  *child.Command // nil without one
	pipeline *pipeline
	signals  *signals

	began   time.Time
	elapsed time.Duration // what the profiler accounts for has the last word
	ended   outcome
	phases  []phase
}

// Run makes a recording and returns the exit code of the program. The error is
// what the user has to know, if anything went wrong. Options must be valid.
func Run(ctx context.Context, s *Settings, o *Options) (code int, err error) {
	o.watched = s.Messages.Interactive() && !o.Quiet
	r := &recording{Settings: s, Options: o}
	if err := r.prepare(); err != nil {
		return r.notPrepared(err)
	}
	defer r.releaseOutputs()
	err = r.start(ctx)
	defer r.signals.stop()
	if err != nil {
		if r.command != nil {
			r.command.Abandon()
		}
		return r.failed(err)
	}
	if r.command != nil {
		if err := r.command.Release(); err != nil {
			// The recording has nothing to show; leave earlier files alone.
			return r.failed(errors.Join(err, r.stop()))
		}
	}
	return r.finish(r.wait())
}

// prepare finds what can go wrong before anything is started.
func (r *recording) prepare() (err error) {
	if r.process, err = checkProcesses(r.PIDs); err != nil {
		return err
	}
	if err := checkCgroups(r.Cgroups, CgroupRoots()); err != nil {
		return err
	}
	for _, id := range absent(r.Containers, "/proc") {
		r.Messages.Printf("flametel: warning: no process of container %s runs; docker ps or crictl ps shows the IDs of those that do", id)
	}
	for _, path := range r.Outputs {
		if err := checkOutput(path); err != nil {
			return err
		}
		if path == stdoutPath && r.Format == "pprof" && r.StdoutTerminal {
			return errors.New("pprof is binary and standard output is a terminal; send it to a file")
		}
		out := output{path: path, format: r.Format}
		if text := out.mismatch(); text != "" {
			r.Messages.Printf("flametel: warning: %s", text)
		}
		r.outputs = append(r.outputs, r.expand(out)...)
	}
	if len(r.outputs) == 0 {
		out, err := reserve(r.what(r.process), r.Now(), r.Format)
		if err != nil {
			return err
		}
		r.outputs = r.expand(out)
	}
	return r.prepareBaseline()
}

// prepareBaseline chooses the output that is compared with a baseline.
func (r *recording) prepareBaseline() error {
	if r.Baseline == "" {
		return nil
	}
	if st, err := os.Stat(r.Baseline); err != nil {
		return fmt.Errorf("--diff %s: %w", r.Baseline, cause(err))
	} else if st.IsDir() {
		return fmt.Errorf("--diff %s: is a folder; give a profile", r.Baseline)
	}
	paths := make([]string, len(r.outputs))
	for i := range r.outputs {
		paths[i] = r.outputs[i].path
	}
	if at := compared(paths); at >= 0 {
		r.outputs[at].twin = twinOf(r.outputs[at].path)
	}
	return nil
}

func (r *recording) releaseOutputs() {
	for i := range r.outputs {
		r.outputs[i].release()
	}
}

// start makes the command, which waits, and begins to sample.
func (r *recording) start(ctx context.Context) (err error) {
	pids := r.PIDs
	if len(r.Command) > 0 {
		if r.command, err = child.Start(r.Command); err != nil {
			return err
		}
		pids = []int{r.command.PID()}
	}
	back := hurry() // not sooner: the command would inherit it
	defer back()
	r.signals = watchSignals(r)
	if r.pipeline, err = newPipeline(ctx, r.Settings, r.Options, pids, r.outputs); err != nil {
		return err
	}
	err = r.whileStarting(func() error { return r.pipeline.start(ctx) })
	if interrupted := (*Interrupted)(nil); errors.As(err, &interrupted) {
		return err
	}
	if err != nil {
		if ended := r.endedMeanwhile(); ended != nil {
			return ended
		}
		return r.explain(err)
	}
	r.began = time.Now()
	r.ended.before = r.targetsEnded()
	r.announce()
	r.WarnOfNamespace(r.Messages)
	r.warnOfMissing()
	return nil
}

// notPrepared is failed, but what is wrong with the rest matters less than that we
// may not sample at all.
func (r *recording) notPrepared(err error) (int, error) {
	if r.lacksPrivileges() {
		return CodePrivileges, errors.Join(r.privilegeText(nil), err)
	}
	return r.failed(err)
}

// failed turns an error of ours into an exit code.
func (r *recording) failed(err error) (int, error) {
	var notRun *child.Error
	var interrupted *Interrupted
	switch {
	case errors.As(err, &interrupted):
		return SignalCode(interrupted.Signal), err
	case errors.As(err, &notRun):
		return notRun.Code, err
	case r.began.IsZero() && r.pipeline != nil && receiver.IsPrivilegeError(err):
		return r.StartFailed(err)
	case len(r.Command) > 0:
		return CodeOurs, err
	}
	return CodeFailure, err
}

// outcome is why a recording ended.
type outcome struct {
	signal os.Signal // nil if none
	err    error     // of the receiver
	// gone: what was recorded has ended, before: even before sampling began.
	gone, before bool
}

// wait records until the time is over, what is recorded ends, a signal comes or
// the receiver fails.
func (r *recording) wait() outcome {
	var over <-chan time.Time
	if d := r.duration(); d > 0 {
		timer := time.NewTimer(time.Until(r.began.Add(d)))
		defer timer.Stop()
		over = timer.C
	}
	var look <-chan time.Time
	if r.watchesEnd() {
		ticker := time.NewTicker(endedEvery)
		defer ticker.Stop()
		look = ticker.C
	}
	var ended <-chan struct{}
	if r.command != nil {
		ended = r.command.Ended()
	}
	progress := r.startProgress()
	defer progress.stop()
	for {
		select {
		case <-over:
			return outcome{}
		case <-ended:
			return outcome{signal: r.signals.now()}
		case <-look:
			if r.targetsEnded() {
				return outcome{gone: true, before: r.ended.before}
			}
		case s := <-r.signals.first:
			return outcome{signal: s}
		case <-r.signals.snapshot:
			r.snapshot()
		case err := <-r.pipeline.failed:
			return outcome{err: err}
		case <-progress.tick():
			progress.show()
		}
	}
}

// finish stops sampling, writes the files and says what came of it. What was
// recorded before a failure is written as well.
func (r *recording) finish(why outcome) (int, error) {
	r.elapsed, r.ended = time.Since(r.began), why
	back := hurry()
	stopErr := r.during("naming the last samples", r.stop)
	writeErr := r.during("writing "+r.names(), r.pipeline.write)
	if writeErr == nil || len(r.present()) > 0 {
		r.giveOutputs()
		r.sayEnded()
		r.summarize(why.signal)
	}
	back()
	code := r.code(why)
	if r.command != nil {
		code = r.awaitCommand()
	}
	if err := errors.Join(why.err, stopErr, writeErr); err != nil {
		return r.failed(err)
	}
	if err := r.printJSON(code); err != nil {
		return r.failed(err)
	}
	if r.Open {
		r.open()
	}
	return code, nil
}

// stop ends sampling and waits for the last samples, however long a busy host
// takes to name them: the user sees that it goes on. A signal cuts it short.
func (r *recording) stop() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-r.signals.first:
			cancel()
		case <-ctx.Done():
		}
	}()
	return r.pipeline.stop(ctx)
}

// code is the exit code of a recording that was written.
func (r *recording) code(why outcome) int {
	switch {
	case why.signal != nil:
		return SignalCode(why.signal)
	case r.nothing():
		return CodeNoSamples
	}
	return CodeOK
}

// awaitCommand returns the exit code of the command, which may outlive its
// recording.
func (r *recording) awaitCommand() int {
	select {
	case <-r.command.Ended():
	default:
		if !r.Quiet {
			r.Messages.Printf("waiting for %s (process %d) to end", terminal.Clip(r.Command[0], maxName), r.command.PID())
		}
	}
	return r.command.Code()
}

// nothing: no kind has a sample.
func (r *recording) nothing() bool {
	return !slices.ContainsFunc(r.chosen(), func(k kind) bool { return k.tally(r.pipeline.tally).Total > 0 })
}

// first is the profile kind that the summary is about.
func (r *recording) first() *kind { return &r.chosen()[0] }

// counted is what was counted of it.
func (r *recording) counted() *tally.Kind { return r.first().tally(r.pipeline.tally) }
