package pdatabuild

import (
	"cmp"
	"crypto/rand"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
)

// ScopeName is the instrumentation scope of all profiles.
const ScopeName = "github.com/flametel/flametel/receiver"

// DefaultMaxBytes is the bound of an encoded message: a quarter below the 4 MiB
// that gRPC receivers accept unless told otherwise.
const DefaultMaxBytes = 3 << 20

// Settings are what the Builder needs to know besides the window.
type Settings struct {
	// HostName is the value of host.name, left out if empty.
	HostName string
	// Version is the version of the instrumentation scope.
	Version string
	// MaxBytes bounds each encoded message; 0 means DefaultMaxBytes.
	MaxBytes int
	// NewID makes the identifier of a profile; nil means random ones.
	NewID func() pprofile.ProfileID
}

// Builder makes messages of windows. It keeps nothing between windows and is
// safe for concurrent use.
type Builder struct{ Settings }

// New returns a Builder.
func New(s Settings) *Builder {
	if s.MaxBytes == 0 {
		s.MaxBytes = DefaultMaxBytes
	}
	if s.NewID == nil {
		s.NewID = randomID
	}
	return &Builder{s}
}

func randomID() (id pprofile.ProfileID) {
	rand.Read(id[:]) // never fails
	return id
}

// Message is one batch of profiles.
type Message struct {
	Profiles pprofile.Profiles
	// Kept is the number of observations in the message by kind.
	Kept map[*source.Descriptor]uint64
}

// Build returns the profiles of a closed window, at least one message, each
// smaller than MaxBytes when encoded. A sample that would not even fit into a
// message of its own moves from kept to lost in the window's tally.
func (b *Builder) Build(w *window.Window) []Message {
	r := &run{Builder: b, window: w}
	first := r.next()
	accounting := first.reserveAccounting(w.Tallies())
	for _, s := range sorted(w.Series()) {
		r.addSeries(s)
	}
	first.fillAccounting(accounting, r)
	return r.messages
}

// sorted returns the series by process, so that the same window always gives
// the same messages.
func sorted(series []*window.Series) []*window.Series {
	return slices.SortedStableFunc(slices.Values(series), func(a, b *window.Series) int {
		return cmp.Or(cmp.Compare(a.Process.PID, b.Process.PID), cmp.Compare(a.Process.StartNanos, b.Process.StartNanos))
	})
}

// run is the state of one Build.
type run struct {
	*Builder
	window   *window.Window
	messages []Message
	current  *message
}

// next begins a new message.
func (r *run) next() *message {
	pd := pprofile.NewProfiles()
	kept := make(map[*source.Descriptor]uint64)
	r.messages = append(r.messages, Message{Profiles: pd, Kept: kept})
	r.current = &message{
		run:       r,
		out:       pd,
		kept:      kept,
		dict:      newDictionary(pd.Dictionary()),
		resources: make(map[*window.Process]pprofile.ProfilesSlice),
	}
	return r.current
}

func (r *run) addSeries(s *window.Series) {
	for _, sample := range s.Samples {
		if !r.current.fits(s, sample) {
			if r.current.samples > 0 {
				r.next()
			}
			if !r.current.fits(s, sample) {
				r.window.Tally(s.Kind).Withdraw(sample, window.CauseOversized)
				continue
			}
		}
		r.current.add(s, sample)
	}
}
