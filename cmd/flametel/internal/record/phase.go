package record

import (
	"os"
	"strings"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// phase is a part of a recording other than sampling, and how long it took.
type phase struct {
	what string
	took time.Duration
}

// during does a part of the work, shows that it goes on if it takes long, and
// remembers its time.
func (r *recording) during(what string, work func() error) error {
	p := r.startProgress()
	defer p.stop()
	return r.await(what, work, p, func(took time.Duration) string { return what + ", " + span(took) }, nil)
}

const startingText = "starting: loading programs into the kernel"

// whileStarting is during for the start of sampling, which takes seconds on a busy
// host. A signal ends it: nothing is lost, so nobody has to wait for the kernel.
func (r *recording) whileStarting(work func() error) error {
	p := r.startProgress()
	defer p.stop()
	text := func(took time.Duration) string {
		return startingText + ", " + span(took) + "; Ctrl-C stops"
	}
	if r.watched {
		p.Messages.Progress(text(0))
	}
	return r.await("starting to sample", work, p, text, r.signals.first)
}

// await waits for work and shows meanwhile what text says. If a signal comes first,
// work is left alone: the program ends.
func (r *recording) await(what string, work func() error, p *progress, text func(took time.Duration) string, first <-chan os.Signal) error {
	begin := time.Now()
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			took := time.Since(begin)
			r.phases = append(r.phases, phase{what, took})
			if r.Verbose {
				r.Messages.Printf("flametel: info: %s took %s", what, milliseconds(took))
			}
			return err
		case sig := <-first:
			return &Interrupted{Signal: sig, command: r.Command}
		case <-p.tick():
			r.Messages.Progress(text(time.Since(begin).Round(time.Second)))
		}
	}
}

// names are the names of all outputs, for a message.
func (r *recording) names() string {
	var names []string
	for i := range r.outputs {
		names = append(names, r.outputs[i].name())
	}
	return strings.Join(names, ", ")
}

// snapshot writes the files as they are now. The recording goes on.
func (r *recording) snapshot() {
	kept, _, _, _ := r.pipeline.counts(r.first())
	if kept == 0 {
		r.Messages.Printf("flametel: no samples yet, so there is nothing to write")
		return
	}
	var files []output
	for _, o := range r.outputs {
		if o.path != stdoutPath {
			files = append(files, o)
		}
	}
	if len(files) == 0 {
		r.Messages.Printf("flametel: standard output is written at the end only; SIGUSR1 is for files")
		return
	}
	if err := r.during("writing what there is", r.Flush); err != nil {
		r.Messages.Printf("flametel: warning: %s", terminal.Escape(err.Error()))
		return
	}
	r.giveOutputs()
	if !r.Quiet {
		written := make([]string, len(files))
		for i := range files {
			written[i] = terminal.Escape(files[i].written())
		}
		r.Messages.Printf("%s so far; wrote %s and goes on", figures.Counted(kept, r.first().one, r.first().many), strings.Join(written, ", "))
	}
}
