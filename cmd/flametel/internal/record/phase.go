package record

import (
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
	begin := time.Now()
	done := make(chan error, 1)
	go func() { done <- work() }()
	p := r.startProgress()
	defer p.stop()
	for {
		select {
		case err := <-done:
			took := time.Since(begin)
			r.phases = append(r.phases, phase{what, took})
			if r.Verbose {
				r.Messages.Printf("flametel: info: %s took %s", what, milliseconds(took))
			}
			return err
		case <-p.tick():
			r.Messages.Progress(what + ", " + span(time.Since(begin).Round(time.Second)))
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
	kept, _, _ := r.pipeline.counts(r.first())
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
