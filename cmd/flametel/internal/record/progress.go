package record

import (
	"fmt"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
)

// Progress is shown so often, on a terminal and elsewhere.
const (
	progressEvery = time.Second
	logEvery      = 10 * time.Second
)

// announce is the first line: what is recorded, how and for how long.
func (r *recording) announce() {
	if r.Quiet {
		return
	}
	length := "for " + span(r.duration())
	stop := "; Ctrl-C stops early"
	switch {
	case r.untilExit():
		length, stop = "until it ends", ""
	case r.command != nil:
		length, stop = "for at most "+span(r.duration()), ""
	}
	r.Messages.Printf("recording %s %s %s%s", r.subject(r.process), r.how(), length, stop)
	if r.Frequency > fastFrequency {
		r.Messages.Printf("flametel: warning: above %d Hz sampling slows down what it measures", fastFrequency)
	}
}

// fastFrequency in Hz is one sample each millisecond and CPU; with some 10 us
// for each, sampling takes a hundredth of the time.
const fastFrequency = 1000

// progress shows how a recording goes on.
type progress struct {
	*recording
	ticker *time.Ticker // nil if it is not shown

	// When it was shown last, and what CPU time we had used then.
	shown time.Time
	used  time.Duration
}

// startProgress shows progress unless it was not asked for or would be mixed
// with what a command writes to the same terminal.
func (r *recording) startProgress() *progress {
	p := &progress{recording: r, shown: r.began, used: OwnCPU()}
	runs := r.command != nil && !r.began.IsZero()
	switch {
	case r.Quiet, runs && r.Messages.Interactive():
	case r.Messages.Interactive():
		p.ticker = time.NewTicker(progressEvery)
	default:
		p.ticker = time.NewTicker(logEvery)
	}
	return p
}

func (p *progress) tick() <-chan time.Time {
	if p.ticker == nil {
		return nil
	}
	return p.ticker.C
}

func (p *progress) show() {
	now, used := time.Now(), OwnCPU()
	own := float64(used-p.used) / float64(max(now.Sub(p.shown), 1))
	p.shown, p.used = now, used
	p.Messages.Progress(p.text(now.Sub(p.began), own))
}

// text is the progress line: time, samples, losses, and the part of one CPU that
// we use ourselves.
func (p *progress) text(elapsed time.Duration, own float64) string {
	kept, stacks, lost, known := p.pipeline.counts(p.first())
	counts := "no samples yet"
	switch {
	case !known: // a busy host is slow to read the symbols of all that runs
		counts = "the first samples are being named"
	case kept+lost > 0:
		counts = fmt.Sprintf("%s, %s, %s lost", figures.Counted(kept, p.first().one, p.first().many), figures.Counted(stacks, "stack", "stacks"), figures.Grouped(lost))
	}
	of := ""
	if d := p.duration(); d > 0 {
		of = " of " + span(d)
	}
	return fmt.Sprintf("%s%s: %s, own CPU %.1f%%", span(elapsed.Round(time.Second)), of, counts, 100*own)
}

func (p *progress) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
		p.Messages.Done()
	}
}
