package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/cmd/flametel/internal/tally"
	"github.com/flametel/flametel/exporter/choose"
)

// pipeline is the receiver, the exporters and what connects them.
type pipeline struct {
	receiver  xreceiver.Profiles
	exporters []xexporter.Profiles
	outputs   []output // of the exporters
	choice    *choose.Choice
	// failed gets the first error after which the receiver gives nothing more.
	failed chan error

	mu    sync.Mutex
	tally *tally.Tally
}

// patience is how long a big file is waited for on a busy host: there is no later
// window that has its names. A signal ends it.
const patience = 20 * time.Second

// newPipeline makes the components; none of them runs yet.
func newPipeline(ctx context.Context, s *Settings, o *Options, pids []int, outputs []output) (*pipeline, error) {
	p := &pipeline{outputs: outputs, choice: o.choice(), failed: make(chan error, 1), tally: tally.New()}
	for i := range outputs {
		cfg := o.exporterConfig(s.Exporter, &outputs[i])
		// Once for all outputs, and for the summary.
		cfg.Include, cfg.Exclude, cfg.Frames = "", "", ""
		e, err := newExporter(ctx, s, cfg, telemetry(s.Messages, o.Quiet, o.Verbose))
		if err != nil {
			return nil, err
		}
		p.exporters = append(p.exporters, e)
	}
	cfg := o.receiverConfig(s.Receiver, pids)
	cfg.Symbols.Patience = patience
	r, err := newReceiver(ctx, s, cfg, telemetry(s.Messages, o.Quiet, o.Verbose), p)
	p.receiver = r
	return p, err
}

// start starts the exporters, then the receiver. When one fails, those that run
// are dropped as the program ends: shut down, they would write files that say
// there were no samples, over those of an earlier recording.
func (p *pipeline) start(ctx context.Context) error {
	for _, e := range p.exporters {
		if err := e.Start(ctx, p); err != nil {
			return err
		}
	}
	return p.receiver.Start(ctx, p)
}

// stop ends sampling and delivers the last window to the exporters, until ctx
// ends.
func (p *pipeline) stop(ctx context.Context) error {
	if err := p.receiver.Shutdown(ctx); err != nil {
		return fmt.Errorf("end of sampling: %w", err)
	}
	return nil
}

// write makes the exporters write their files, and notes at each output why that
// failed. That nobody reads standard output any more, as head does not, is no
// failure.
func (p *pipeline) write() error {
	for i, e := range p.exporters {
		err := e.Shutdown(context.Background())
		if p.outputs[i].path == stdoutPath && errors.Is(err, syscall.EPIPE) {
			continue
		}
		p.outputs[i].failed = err
	}
	return notWritten(p.outputs)
}

// Capabilities of the consumer that the receiver feeds.
func (*pipeline) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeProfiles hands what is chosen of profiles to all exporters and adds it
// to the summary.
func (p *pipeline) ConsumeProfiles(ctx context.Context, profiles pprofile.Profiles) error {
	p.choice.Apply(profiles)
	profiles.MarkReadOnly()
	p.mu.Lock()
	p.tally.Add(profiles)
	p.mu.Unlock()
	var errs []error
	for _, e := range p.exporters {
		errs = append(errs, e.ConsumeProfiles(ctx, profiles))
	}
	return errors.Join(errs...)
}

// counts returns the samples and distinct stacks so far, and how many samples
// were lost; known is false as long as nothing has come of those that were taken.
func (p *pipeline) counts(of *kind) (kept, stacks, lost int64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := of.tally(p.tally)
	if k.Accounting != nil {
		lost = k.Accounting.Lost
	}
	return k.Total, int64(k.Stacks()), lost, k.Accounting != nil || k.Total > 0
}

// GetExtensions makes the pipeline a component.Host without extensions.
func (*pipeline) GetExtensions() map[component.ID]component.Component { return nil }

// Report is how components tell their status. What they recover from they also
// log.
func (p *pipeline) Report(ev *componentstatus.Event) {
	switch ev.Status() {
	case componentstatus.StatusPermanentError, componentstatus.StatusFatalError:
		select {
		case p.failed <- ev.Err():
		default:
		}
	}
}
