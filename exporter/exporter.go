package exporter

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/choose"
	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/exporter/internal/metadata"
	"github.com/flametel/flametel/exporter/svg"
	"github.com/flametel/flametel/internal/atomicfile"
)

// Without an interval the file is rewritten as data comes, at most every
// rewriteEvery, and so seldom that rewriting takes at most one part in
// rewriteShare of the time.
const (
	rewriteEvery = 10 * time.Second
	rewriteShare = 100
)

var errNotRunning = errors.New("flamegraph exporter is not running; profiles that come before start or after shutdown are refused")

// fileExporter collects profiles in memory and writes them to files.
type fileExporter struct {
	cfg      *Config
	format   *formats.Format
	template *template // nil for standard output
	baseline *baseline // nil without one
	choice   *choose.Choice
	flusher  *Flusher // nil if nobody asks to flush
	facts    []svg.Fact
	logger   *zap.Logger
	metrics  *metadata.TelemetryBuilder
	stdout   io.Writer
	now      func() time.Time

	host   component.Host
	failed bool // the last status reported was an error
	stop   chan struct{}
	loop   sync.WaitGroup
	// writing is held while files are made, so that there is one writer.
	writing sync.Mutex

	mu      sync.Mutex // guards what follows
	running bool
	builder *callgraph.Builder
	began   time.Time     // when the present interval began
	arrived chan struct{} // holds one token while there is data not written
}

func newFileExporter(cfg *Config, set exporter.Settings) (*fileExporter, error) {
	format, err := cfg.format()
	if err != nil {
		return nil, err
	}
	choice, err := cfg.choice()
	if err != nil {
		return nil, err
	}
	base, err := newBaseline(cfg)
	if err != nil {
		return nil, err
	}
	metrics, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	e := &fileExporter{
		cfg:      cfg,
		format:   format,
		baseline: base,
		choice:   choice,
		logger:   set.Logger,
		metrics:  metrics,
		stdout:   os.Stdout,
		now:      time.Now,
		arrived:  make(chan struct{}, 1),
	}
	if set.BuildInfo.Command != "" {
		e.facts = []svg.Fact{{Name: "Program", Value: set.BuildInfo.Command + " " + set.BuildInfo.Version}}
	}
	if cfg.Path != pathStdout {
		if e.template, err = parseTemplate(cfg.Path); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *fileExporter) newBuilder() *callgraph.Builder {
	roots, _ := e.cfg.roots()
	opts := callgraph.Options{
		Detail:     e.format.Detail,
		Roots:      roots,
		SampleType: e.cfg.SampleType,
		Idle:       e.cfg.Idle,
		MaxBytes:   int64(e.cfg.MemoryLimitMiB) << 20,
	}
	if e.template != nil && (e.template.has(placeService) || e.template.has(placeHost)) {
		opts.Group = e.group
	}
	return callgraph.NewBuilder(opts)
}

func (e *fileExporter) start(_ context.Context, host component.Host) error {
	if err := errors.Join(e.prepare(), e.baseline.load()); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.host = host
	e.running = true
	e.builder = e.newBuilder()
	e.began = e.now()
	e.stop = make(chan struct{})
	if e.template != nil {
		e.loop.Add(1)
		go e.run()
	}
	if e.flusher != nil {
		e.flusher.add(e)
	}
	return nil
}

// prepare finds out at start whether files can be written.
func (e *fileExporter) prepare() error {
	switch {
	case e.template == nil:
		return nil
	case atomicfile.IsDevice(e.cfg.Path):
		return atomicfile.PrepareDevice(e.cfg.Path)
	}
	// A folder with a placeholder is made when its first file is written.
	return atomicfile.PrepareFolder(filepath.Dir(e.template.literals[0] + "x"))
}

// shutdown writes what is left. It may be called without start, and twice.
func (e *fileExporter) shutdown(context.Context) error {
	e.mu.Lock()
	if !e.running {
		e.mu.Unlock()
		return nil
	}
	e.running = false
	e.mu.Unlock()
	if e.flusher != nil {
		e.flusher.remove(e)
	}
	close(e.stop)
	e.loop.Wait()
	return e.write(final)
}

// consume adds profiles to the graph in memory; nothing waits for a disk here.
func (e *fileExporter) consume(_ context.Context, p pprofile.Profiles) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.running {
		return consumererror.NewPermanent(errNotRunning)
	}
	e.choice.Apply(p)
	e.builder.Add(p)
	select {
	case e.arrived <- struct{}{}:
	default:
	}
	return nil
}

func (e *fileExporter) run() {
	defer e.loop.Done()
	if e.cfg.Interval > 0 {
		e.runIntervals()
	} else {
		e.runRewrites()
	}
}

func (e *fileExporter) runIntervals() {
	ticker := time.NewTicker(e.cfg.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-ticker.C:
			e.report(e.write(periodic))
		}
	}
}

func (e *fileExporter) runRewrites() {
	pause := time.NewTimer(rewriteEvery)
	defer pause.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-pause.C:
		}
		select {
		case <-e.stop:
			return
		case <-e.arrived:
		}
		began := time.Now()
		e.report(e.write(periodic))
		pause.Reset(max(rewriteEvery, rewriteShare*time.Since(began)))
	}
}

// report logs a failed write and tells the collector, which goes on: the next
// interval may find the disk in better shape.
func (e *fileExporter) report(err error) {
	if err != nil {
		e.logger.Error("profiles not written", zap.Error(err))
		if !e.failed {
			componentstatus.ReportStatus(e.host, componentstatus.NewRecoverableErrorEvent(err))
		}
	} else if e.failed {
		componentstatus.ReportStatus(e.host, componentstatus.NewEvent(componentstatus.StatusOK))
	}
	e.failed = err != nil
}

// occasion is why files are written.
type occasion int

const (
	periodic occasion = iota // an interval is over, or data has come
	flush                    // somebody asked
	final                    // the exporter ends
)

// take returns the graphs to be written now and when their collection began.
func (e *fileExporter) take(why occasion) ([]*callgraph.Graph, time.Time) {
	e.mu.Lock()
	began, builder := e.began, e.builder
	if e.cfg.Interval > 0 && why == periodic {
		// A start that is not later than the last would give two files one name.
		e.began = laterSecond(e.now(), began)
		e.builder = e.newBuilder()
		e.mu.Unlock()
		return builder.Graphs(), began
	}
	defer e.mu.Unlock()
	return builder.Graphs(), began
}

func laterSecond(now, than time.Time) time.Time {
	if next := than.Truncate(time.Second).Add(time.Second); now.Before(next) {
		return next
	}
	return now
}

// group is the key by which graphs are kept apart: the values of the
// placeholders in the path that depend on the resource.
func (e *fileExporter) group(resource pcommon.Map) string {
	var g groupKey
	if e.template.has(placeService) {
		g.service = firstOf(resource, "service.name", "process.executable.name")
	}
	if e.template.has(placeHost) {
		g.host = firstOf(resource, "host.name")
	}
	return g.String()
}
