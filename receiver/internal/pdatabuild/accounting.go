package pdatabuild

import (
	"maps"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/receiver/internal/window"
)

// The attributes by which a window accounts for its samples. Readers know them
// by these names; changing one breaks them.
const (
	keyAccounting        = "flametel.accounting"
	keyTaken             = "flametel.samples.taken"
	keyKept              = "flametel.samples.kept"
	keyIdle              = "flametel.samples.idle"
	keyFiltered          = "flametel.samples.filtered"
	keyMissed            = "flametel.samples.missed"
	keyLost              = "flametel.samples.lost"
	keyLostPrefix        = "flametel.samples.lost."
	keyTruncated         = "flametel.stacks.truncated"
	keyUserStacks        = "flametel.stacks.user"
	keyComplete          = "flametel.stacks.complete"
	keyIncompletePrefix  = "flametel.stacks.incomplete."
	keyFrames            = "flametel.frames.total"
	keyUnknown           = "flametel.frames.unknown"
	keyUnknownPrefix     = "flametel.frames.unknown."
	keyFrequencyAsked    = "flametel.frequency.asked"
	keyFrequencyAchieved = "flametel.frequency.achieved"
	keyCPUs              = "flametel.cpus"
	keyShare             = "flametel.sampling.share"
	keyStandFor          = "flametel.samples.stand_for"
	keyEstimate          = "flametel.sampling.estimate"
	keyError             = "flametel.sampling.error"
	unitHertz            = "Hz"
	unitOne              = "1"
)

// accountingBytes is room for one attribute: its key, value, table entry and
// index. Keys hold at most a cause of loss, which are short and our own.
const accountingBytes = 160

// reserveAccounting puts the accounting resource first in the message and keeps
// room for it. It is filled at the end, when all losses are known.
func (m *message) reserveAccounting(tallies []*window.Tally) pprofile.ResourceProfiles {
	rp := m.out.ResourceProfiles().AppendEmpty()
	attrs := rp.Resource().Attributes()
	attrs.PutBool(keyAccounting, true)
	fillHost(attrs, m.HostName)
	m.size += attributesBound(attrs)
	for _, t := range tallies {
		// Nineteen keys, and one cause of loss that building may add.
		m.size += profileOverhead + accountingBytes*(20+len(t.Lost)+len(t.FramesUnknown)+len(t.Incomplete))
	}
	return rp
}

// fillAccounting writes one profile without samples for each kind.
func (m *message) fillAccounting(rp pprofile.ResourceProfiles, r *run) {
	profiles := m.openScope(rp)
	seconds := r.window.End.Sub(r.window.Start).Seconds()
	for _, t := range r.window.Tallies() {
		p := m.openProfile(profiles, t.Kind, 0)
		for _, a := range accounting(t, seconds) {
			p.AttributeIndices().Append(m.dict.attribute(a))
		}
	}
}

// accounting lists the attributes of a tally in a fixed order.
func accounting(t *window.Tally, seconds float64) []attribute {
	count := func(key string, n uint64) attribute { return intAttribute(key, int64(n)) }
	unknown := t.UnknownTotal()
	out := []attribute{
		count(keyTaken, t.Taken),
		count(keyKept, t.Kept),
		count(keyIdle, t.Idle),
		count(keyFiltered, t.Filtered),
		count(keyMissed, t.Missed),
		count(keyLost, t.LostTotal()),
		count(keyTruncated, t.Truncated),
		count(keyUserStacks, t.UserStacks),
		count(keyComplete, t.Complete),
		count(keyFrames, t.FramesNamed+unknown),
		count(keyUnknown, unknown),
		count(keyCPUs, uint64(t.CPUs)),
	}
	for _, cause := range slices.Sorted(maps.Keys(t.Lost)) {
		out = append(out, count(keyLostPrefix+cause, t.Lost[cause]))
	}
	for _, reason := range slices.Sorted(maps.Keys(t.Incomplete)) {
		out = append(out, count(keyIncompletePrefix+reason, t.Incomplete[reason]))
	}
	for _, reason := range slices.Sorted(maps.Keys(t.FramesUnknown)) {
		if n := t.FramesUnknown[reason]; n > 0 {
			out = append(out, count(keyUnknownPrefix+reason.String(), n))
		}
	}
	if t.Share > 0 && t.Share < 1 {
		out = append(out, doubleAttribute(keyShare, unitOne, t.Share))
	}
	if e := t.Estimate; e.Variance > 0 && e.Sum > 0 {
		out = append(out,
			count(keyStandFor, uint64(math.Round(e.Events))),
			doubleAttribute(keyEstimate, t.Kind.SampleTypes[t.Kind.Estimated].Unit, e.Sum),
			doubleAttribute(keyError, unitOne, math.Sqrt(e.Variance)/e.Sum))
	}
	if t.FrequencyAsked > 0 {
		out = append(out, doubleAttribute(keyFrequencyAsked, unitHertz, t.FrequencyAsked))
		if t.CPUs > 0 && seconds > 0 {
			// The ticks that a hypervisor leaves out on idle CPUs are no loss.
			achieved := float64(t.Taken+t.MissedIdle) / float64(t.CPUs) / seconds
			out = append(out, doubleAttribute(keyFrequencyAchieved, unitHertz, achieved))
		}
	}
	return out
}
