package record

import (
	"fmt"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/target"
)

// endedEvery is how often we look whether the processes of a recording have ended.
const endedEvery = 100 * time.Millisecond

// watchesEnd: the recording is of processes that can end, and others cannot come.
func (o *Options) watchesEnd() bool { return len(o.PIDs) > 0 && len(o.Cgroups)+len(o.Containers) == 0 }

// targetsEnded reports whether the processes that are recorded have ended, and
// their children. Receivers that cannot tell have no such method.
func (r *recording) targetsEnded() bool {
	known, ok := r.pipeline.receiver.(interface{ TargetsEnded() bool })
	return ok && r.watchesEnd() && known.TargetsEnded()
}

// these names the processes that are recorded, and what they have done.
func (r *recording) these(one, many string) string {
	if len(r.PIDs) == 1 {
		return fmt.Sprintf("process %d %s", r.PIDs[0], one)
	}
	return fmt.Sprintf("all %d processes %s", len(r.PIDs), many)
}

// sayEnded says that a recording ended before its time, and why. Without samples
// the reason for that says it.
func (r *recording) sayEnded() {
	if r.ended.gone && !r.Quiet && !r.nothing() {
		r.Messages.Printf("%s after %s, and with it the recording", r.these("has ended", "have ended"), seconds(r.elapsed))
	}
}

// endedReason is why there are no samples of processes that have ended.
func (r *recording) endedReason() string {
	if r.ended.before {
		return r.these("had ended before sampling began", "had ended before sampling began")
	}
	return r.these("has ended", "have ended") + " after " + seconds(r.elapsed)
}

// endedMeanwhile returns an error if a process that was there has ended before
// sampling began.
func (r *recording) endedMeanwhile() error {
	for _, pid := range r.PIDs {
		if target.Check(pid) != nil {
			return fmt.Errorf("process %d had ended before sampling began", pid)
		}
	}
	return nil
}
