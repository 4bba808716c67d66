package record

import (
	"fmt"
	"time"
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
	r.Messages.Printf("recording %s at %d Hz %s%s", r.subject(r.process), r.Frequency, length, stop)
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
}

// startProgress shows progress unless it was not asked for or would be mixed
// with what a command writes to the same terminal.
func (r *recording) startProgress() *progress {
	p := &progress{recording: r}
	switch {
	case r.Quiet, r.command != nil && r.Messages.Interactive():
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
	p.Messages.Progress(p.text(time.Since(p.began)))
}

// text is the progress line: time, samples, losses.
func (p *progress) text(elapsed time.Duration) string {
	kept, lost := p.pipeline.counts(p.kind())
	of := ""
	if d := p.duration(); d > 0 {
		of = " of " + span(d)
	}
	return fmt.Sprintf("%s%s: %s, %s lost", span(elapsed.Round(time.Second)), of, counted(kept, "sample", "samples"), grouped(lost))
}

func (p *progress) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
		p.Messages.Done()
	}
}
