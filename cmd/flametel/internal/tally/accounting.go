package tally

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Accounting is what the profiler says about its own samples:
// Taken = Kept + Idle + Filtered + Lost.
type Accounting struct {
	Taken, Kept, Idle, Filtered, Lost int64
	// Missed counts the ticks of busy CPUs that never came: samples that were
	// not even taken.
	Missed int64
	// LeftOut are those of Kept that were removed afterwards, as the user asked.
	LeftOut int64
	// TruncatedStacks counts samples whose stack was cut or broke off.
	TruncatedStacks int64
	// UserStacks counts samples with a stack of user code, CompleteStacks those
	// of them that reach the start of the thread.
	UserStacks, CompleteStacks int64
	// Frames and UnknownFrames count each frame once for each sample.
	Frames, UnknownFrames int64
	// StandFor is how many events the samples stand for that were kept, if they
	// were chosen by chance; else 0.
	StandFor int64
	// Asked and Achieved are in hertz per CPU.
	Asked, Achieved float64
	CPUs            int64

	estimate, variance float64 // what was kept adds up to, and how exact that is

	lostBy       map[string]int64
	incompleteBy map[string]int64
	seconds      float64   // over which Achieved is the mean
	start, end   time.Time // of the windows; zero if unknown
}

// Duration is the time from the start of the first window to the end of the
// last, as the outputs show it; 0 if the profiler does not say.
func (a *Accounting) Duration() time.Duration { return a.end.Sub(a.start) }

// Error is the standard error of what the samples add up to, relative to it; 0 if
// none were chosen by chance.
func (a *Accounting) Error() float64 {
	if a.estimate <= 0 {
		return 0
	}
	return math.Sqrt(a.variance) / a.estimate
}

// cover adds a window.
func (a *Accounting) cover(start time.Time, d time.Duration) {
	if start.Unix() <= 0 || d < 0 {
		return
	}
	if a.start.IsZero() || start.Before(a.start) {
		a.start = start
	}
	if end := start.Add(d); end.After(a.end) {
		a.end = end
	}
}

// Loss is a number of samples lost by one cause.
type Loss struct {
	Cause string
	Count int64
}

// LostBy returns the causes of loss, largest first.
func (a *Accounting) LostBy() []Loss { return largestFirst(a.lostBy) }

// IncompleteBy returns why stacks of user code are not complete, the most
// frequent reason first.
func (a *Accounting) IncompleteBy() []Loss { return largestFirst(a.incompleteBy) }

func largestFirst(by map[string]int64) []Loss {
	losses := make([]Loss, 0, len(by))
	for cause, n := range maps.All(by) {
		losses = append(losses, Loss{cause, n})
	}
	slices.SortFunc(losses, func(x, y Loss) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Cause, y.Cause))
	})
	return losses
}

// The beginnings of the attributes of each cause of loss, and of each reason
// why a stack is not complete.
const (
	prefixLost       = "flametel.samples.lost."
	prefixIncomplete = "flametel.stacks.incomplete."
)

// account adds the attributes of one accounting profile.
func (k *Kind) account(d *dictionary, prof pprofile.Profile) {
	if k.Accounting == nil {
		k.Accounting = &Accounting{lostBy: map[string]int64{}, incompleteBy: map[string]int64{}}
	}
	a := k.Accounting
	counters := map[string]*int64{
		"flametel.samples.taken": &a.Taken, "flametel.samples.kept": &a.Kept,
		"flametel.samples.idle": &a.Idle, "flametel.samples.filtered": &a.Filtered,
		"flametel.samples.missed":    &a.Missed,
		"flametel.samples.left_out":  &a.LeftOut,
		"flametel.stacks.truncated":  &a.TruncatedStacks,
		"flametel.stacks.user":       &a.UserStacks,
		"flametel.samples.stand_for": &a.StandFor,
		"flametel.stacks.complete":   &a.CompleteStacks,
		"flametel.samples.lost":      &a.Lost, "flametel.frames.total": &a.Frames,
		"flametel.frames.unknown": &a.UnknownFrames,
	}
	a.cover(prof.Time().AsTime(), time.Duration(prof.DurationNano()))
	seconds := float64(prof.DurationNano()) / 1e9
	var estimate, relative float64
	d.attributes(prof.AttributeIndices(), func(key string, v pcommon.Value) {
		if counter := counters[key]; counter != nil {
			*counter += v.Int()
		} else if cause, ok := strings.CutPrefix(key, prefixLost); ok {
			a.lostBy[cause] += v.Int()
		} else if reason, ok := strings.CutPrefix(key, prefixIncomplete); ok {
			a.incompleteBy[reason] += v.Int()
		} else if key == "flametel.sampling.estimate" {
			estimate = v.Double()
		} else if key == "flametel.sampling.error" {
			relative = v.Double()
		} else if key == "flametel.cpus" {
			a.CPUs = v.Int()
		} else if key == "flametel.frequency.asked" {
			a.Asked = v.Double()
		} else if key == "flametel.frequency.achieved" && seconds > 0 {
			sum := a.Achieved*a.seconds + v.Double()*seconds
			a.seconds += seconds
			a.Achieved = sum / a.seconds
		}
	})
	a.estimate += estimate
	a.variance += estimate * relative * estimate * relative
}
