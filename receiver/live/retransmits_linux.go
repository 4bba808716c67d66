package live

import (
	"errors"
	"slices"

	"github.com/flametel/flametel/bpf"
)

// retransmits are rare: they are told by what was counted since the last look.
type retransmits struct{ tracer *bpf.Tracer }

func openRetransmits(o *Options, opts bpf.Options) (Source, error) {
	tracer, err := bpf.NewTracer(bpf.TCPRetransmits(), opts)
	if err != nil {
		return nil, err
	}
	if err := setTargets(tracer, o.PIDs); err != nil {
		return nil, errors.Join(err, tracer.Close())
	}
	return &retransmits{tracer}, nil
}

// Events implements Source.
func (r *retransmits) Events() ([]Event, uint64, error) {
	samples, stats, err := r.tracer.Drain()
	clock := newClock()
	events := make([]Event, 0, len(samples))
	for i := range samples {
		s := &samples[i]
		e := Event{Time: clock.at(s.LastNanos), PID: int(s.PID), Comm: s.ThreadName(), Count: int64(s.Sums[0])}
		e.What = map[uint64]string{
			bpf.RetransmitSYN: "SYN", bpf.RetransmitSYNACK: "SYN-ACK",
			bpf.RetransmitData: "data", bpf.RetransmitLossProbe: "loss probe",
		}[s.Detail&bpf.RetransmitMask]
		if c, ok := bpf.ConnectionOf(s.Record); ok {
			e.Local, e.Remote = c.Local.String(), c.Remote.String()
		}
		events = append(events, e)
	}
	slices.SortFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return events, stats.Lost(), err
}

// Calls implements Source.
func (r *retransmits) Calls() ([]Call, uint64, error) { return nil, 0, errFamily(Syscalls) }

// Close implements Source.
func (r *retransmits) Close() error { return r.tracer.Close() }
