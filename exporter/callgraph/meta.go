package callgraph

import (
	"cmp"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Meta says where a graph comes from and how much of the truth it holds.
type Meta struct {
	Start    time.Time     // of the first profile; zero if unknown
	Duration time.Duration // from Start to the end of the last profile
	Hosts    []string      // sorted, distinct
	// Accounting is what the profiler says about its own losses; nil if the
	// source does not say.
	Accounting *Accounting
	// Saturated: values were cut because the total exceeded the largest int64.
	Saturated bool
	// NotKept is the weight that stands in the frame NameFull, because the
	// graph had reached its memory limit.
	NotKept int64
	// Invalid counts samples that add nothing because they are malformed: no
	// value and no timestamp, or a negative value.
	Invalid int64
	// Records is the number of samples added, each as one, whatever it counts.
	Records int64
}

// Accounting adds up what the profiler took and lost. All figures are samples,
// unless said otherwise. Taken = Kept + Idle + Filtered + Lost.
type Accounting struct {
	Taken, Kept, Idle, Filtered, Lost int64
	LostBy                            []Loss // sorted by cause
	// LeftOut are those of Kept that were removed later, on request.
	LeftOut int64
	// Missed are ticks of busy CPUs that never came; they are no part of Taken.
	Missed          int64
	TruncatedStacks int64
	// Frames and UnknownFrames count each frame once for every sample it
	// stands in.
	Frames, UnknownFrames int64
	// FrequencyAsked and FrequencyAchieved are in hertz per CPU, 0 if unknown.
	FrequencyAsked, FrequencyAchieved float64
	CPUs                              int64

	achievedWeight float64 // seconds over which FrequencyAchieved is the mean
}

// Loss is a number of samples lost by one cause.
type Loss struct {
	Cause string
	Count int64
}

// Names of the attributes by which our receiver accounts for its samples. The
// profile that carries them has no samples of its own.
const (
	attrAccounting = "flametel.accounting"
	attrPrefix     = "flametel."
	attrLostPrefix = "flametel.samples.lost."

	attrThreadName = "thread.name"
	attrThreadID   = "thread.id"
)

// maxCauses bounds the causes of loss that are kept apart: ours are fewer, and a
// foreign source must not make the list grow for ever.
const maxCauses = 64

// add adds the attributes of one accounting profile that covers a time.
func (a *Accounting) add(attrs map[string]pcommon.Value, covers time.Duration) {
	counters := map[string]*int64{
		"samples.taken": &a.Taken, "samples.kept": &a.Kept, "samples.idle": &a.Idle,
		"samples.filtered": &a.Filtered, "samples.lost": &a.Lost,
		"samples.left_out": &a.LeftOut, "samples.missed": &a.Missed,
		"stacks.truncated": &a.TruncatedStacks,
		"frames.total":     &a.Frames, "frames.unknown": &a.UnknownFrames,
	}
	for name, counter := range counters {
		*counter = clampedSum(*counter, integer(attrs[attrPrefix+name]))
	}
	for key, v := range attrs {
		if len(key) > len(attrLostPrefix) && key[:len(attrLostPrefix)] == attrLostPrefix {
			a.addLoss(key[len(attrLostPrefix):], integer(v))
		}
	}
	a.CPUs = max(a.CPUs, integer(attrs[attrPrefix+"cpus"]))
	a.FrequencyAsked = max(a.FrequencyAsked, float(attrs[attrPrefix+"frequency.asked"]))
	if achieved, ok := attrs[attrPrefix+"frequency.achieved"]; ok {
		a.addAchieved(float(achieved), covers.Seconds())
	}
}

// addAchieved keeps the mean frequency over time; that of a short window
// without a tick is 0 and counts too.
func (a *Accounting) addAchieved(hertz, seconds float64) {
	if hertz < 0 || seconds <= 0 {
		return
	}
	sum := a.FrequencyAchieved*a.achievedWeight + hertz*seconds
	a.achievedWeight += seconds
	a.FrequencyAchieved = sum / a.achievedWeight
}

func (a *Accounting) addLoss(cause string, n int64) {
	i, found := slices.BinarySearchFunc(a.LostBy, cause, func(l Loss, c string) int {
		return cmp.Compare(l.Cause, c)
	})
	if !found {
		if n <= 0 || len(a.LostBy) >= maxCauses {
			return
		}
		a.LostBy = slices.Insert(a.LostBy, i, Loss{Cause: cause})
	}
	a.LostBy[i].Count = clampedSum(a.LostBy[i].Count, n)
}

// merge adds the figures of another host. CPUs add up; a host that asked for
// less than another is not told apart.
func (a *Accounting) merge(b *Accounting) {
	for _, c := range []struct{ to, from *int64 }{
		{&a.Taken, &b.Taken}, {&a.Kept, &b.Kept}, {&a.Idle, &b.Idle},
		{&a.Filtered, &b.Filtered}, {&a.Lost, &b.Lost}, {&a.LeftOut, &b.LeftOut}, {&a.Missed, &b.Missed},
		{&a.TruncatedStacks, &b.TruncatedStacks},
		{&a.Frames, &b.Frames}, {&a.UnknownFrames, &b.UnknownFrames}, {&a.CPUs, &b.CPUs},
	} {
		*c.to = clampedSum(*c.to, *c.from)
	}
	for _, l := range b.LostBy {
		a.addLoss(l.Cause, l.Count)
	}
	a.FrequencyAsked = max(a.FrequencyAsked, b.FrequencyAsked)
	a.addAchieved(b.FrequencyAchieved, b.achievedWeight)
}

// integer reads a count; anything else than a positive integer, or a float that
// is one, is 0.
func integer(v pcommon.Value) int64 {
	if v == (pcommon.Value{}) {
		return 0
	}
	switch v.Type() {
	case pcommon.ValueTypeInt:
		return max(0, v.Int())
	case pcommon.ValueTypeDouble:
		if f := v.Double(); f > 0 && f < math.MaxInt64 {
			return int64(f)
		}
	}
	return 0
}

// float reads a number; anything that is not a positive finite one is 0.
func float(v pcommon.Value) float64 {
	if v == (pcommon.Value{}) {
		return 0
	}
	switch v.Type() {
	case pcommon.ValueTypeInt:
		return max(0, float64(v.Int()))
	case pcommon.ValueTypeDouble:
		if f := v.Double(); f > 0 && !math.IsInf(f, 0) {
			return f
		}
	}
	return 0
}

// clampedSum adds two non-negative numbers; the largest int64 if the sum
// exceeds it.
func clampedSum(a, b int64) int64 {
	b, _ = addClamped(a, b)
	return a + b
}

// span is the time from the first to the last of several profiles.
type span struct {
	start, end time.Time
}

func (s *span) add(start time.Time, d time.Duration) {
	if start.IsZero() || start.Unix() <= 0 {
		return
	}
	if s.start.IsZero() || start.Before(s.start) {
		s.start = start
	}
	if end := start.Add(d); end.After(s.end) {
		s.end = end
	}
}
