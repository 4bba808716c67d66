package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/internal/atomicfile"
)

// groupKey is what a graph's group stands for.
type groupKey struct {
	service, host string
}

// String joins the fields with a byte that cannot stand in valid text, so that
// two keys never look the same.
func (g groupKey) String() string { return g.service + "\xff" + g.host }

func parseGroup(s string) groupKey {
	service, host, _ := strings.Cut(s, "\xff")
	return groupKey{service, host}
}

func firstOf(resource pcommon.Map, keys ...string) string {
	for _, key := range keys {
		if v, ok := resource.Get(key); ok && v.Type() == pcommon.ValueTypeStr && v.Str() != "" {
			return v.Str()
		}
	}
	return ""
}

// output is one file to be.
type output struct {
	path   string
	graphs []*callgraph.Graph
}

// write makes the files of the present interval. Without an interval the last
// call makes a file even if nothing came, so that the user finds the reason.
func (e *fileExporter) write(why occasion) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	graphs, began := e.take(why)
	graphs = e.selected(graphs)
	if len(graphs) == 0 && why == final && e.cfg.Interval == 0 {
		graphs = []*callgraph.Graph{emptyGraph()}
	}
	if len(graphs) == 0 {
		return nil
	}
	if e.template == nil {
		return e.writeStdout(graphs)
	}
	var errs []error
	fresh := map[string]bool{}
	outs := e.outputs(graphs, began)
	for _, out := range outs {
		fresh[out.path] = true
		errs = append(errs, e.writeOne(out, why))
		if e.baseline != nil {
			errs = append(errs, e.writeTwins(out))
		}
	}
	if why == periodic {
		e.baseline.keep(outs)
	}
	if e.cfg.MaxFiles > 0 && !atomicfile.IsDevice(e.cfg.Path) {
		errs = append(errs, removeOldest(e.template, e.cfg.MaxFiles, fresh))
	}
	return errors.Join(errs...)
}

func (e *fileExporter) writeOne(out output, why occasion) error {
	err := e.metered(out.path, func(w io.Writer) error {
		return e.format.Write(w, out.graphs, e.writeOptions())
	})
	if err != nil && (why == final || why == periodic && e.cfg.Interval > 0) { // else the next file holds the same again
		err = e.lose(out.graphs, err)
	}
	return err
}

// metered writes a file and counts it in our metrics.
func (e *fileExporter) metered(path string, write func(io.Writer) error) error {
	began := time.Now()
	ctx := context.Background()
	if err := atomicfile.Write(path, write); err != nil {
		e.metrics.FlamegraphFilesFailed.Add(ctx, 1)
		return err
	}
	e.metrics.FlamegraphFilesWritten.Add(ctx, 1)
	e.metrics.FlamegraphWriteDuration.Record(ctx, time.Since(began).Seconds())
	return nil
}

// lose counts the samples that could not be written and adds their number to
// the error.
func (e *fileExporter) lose(graphs []*callgraph.Graph, err error) error {
	var n int64
	for _, g := range graphs {
		n += g.Samples()
	}
	if n == 0 {
		return err
	}
	e.metrics.FlamegraphSamplesLost.Add(context.Background(), n)
	return &LostError{err, n}
}

// LostError is the error of a file that was not written, and of the samples that
// were to be in it.
type LostError struct {
	Err     error
	Samples int64
}

// Error says both.
func (e *LostError) Error() string { return fmt.Sprintf("%v; samples lost: %d", e.Err, e.Samples) }

// Unwrap returns why it was not written.
func (e *LostError) Unwrap() error { return e.Err }

// writeStdout writes all graphs if the format has room for them, else the first.
func (e *fileExporter) writeStdout(graphs []*callgraph.Graph) error {
	if len(graphs) > 1 && !e.format.SeveralTypes {
		e.logger.Warn("only one sample type fits on standard output; choose with sample_type",
			zap.String("written", graphs[0].Name()), zap.Int("left_out", len(graphs)-1))
		graphs = graphs[:1]
	}
	err := atomicfile.Fill(e.stdout, func(w io.Writer) error {
		return e.format.Write(w, graphs, e.writeOptions())
	})
	if err != nil {
		return e.lose(graphs, err)
	}
	return nil
}

// selected returns the graphs that are written.
func (e *fileExporter) selected(graphs []*callgraph.Graph) []*callgraph.Graph {
	var out []*callgraph.Graph
	for _, g := range graphs {
		// Accounting without samples belongs to no service, so with one file
		// for each there is none to put it in.
		if e.perService() && e.cfg.Interval > 0 && g.Total(0) == 0 {
			continue
		}
		out = append(out, g)
	}
	return out
}

func (e *fileExporter) perService() bool {
	return e.template != nil && e.template.has(placeService)
}

// emptyGraph stands for a recording in which nothing came.
func emptyGraph() *callgraph.Graph {
	g := callgraph.NewMerger(1).Graph()
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	return g
}

// outputs distributes graphs over files. Graphs come sorted by group and type,
// so the names are the same on every run.
func (e *fileExporter) outputs(graphs []*callgraph.Graph, began time.Time) []output {
	var outs []output
	byPath := map[string]int{}
	for _, g := range graphs {
		key := parseGroup(g.Group)
		v := values{service: key.service, host: key.host, sampleType: g.Name(), start: began}
		path := e.template.path(v)
		i, taken := byPath[path]
		if taken && e.format.SeveralTypes && !hasType(outs[i].graphs, g) {
			outs[i].graphs = append(outs[i].graphs, g)
			continue
		}
		if taken {
			path = e.freePath(byPath, v, g, outs[i].graphs[0])
		}
		byPath[path] = len(outs)
		outs = append(outs, output{path, []*callgraph.Graph{g}})
	}
	return outs
}

// hasType reports whether a file holds a graph of the same type, which then has
// another period. A reader of the file could not tell the two apart.
func hasType(graphs []*callgraph.Graph, g *callgraph.Graph) bool {
	return slices.ContainsFunc(graphs, func(h *callgraph.Graph) bool {
		return h.SampleType == g.SampleType && h.PeriodType == g.PeriodType
	})
}

// freePath tells the files of two graphs apart when the template does not: what
// differs goes to where the type stands, else before the extension.
func (e *fileExporter) freePath(taken map[string]int, v values, g, other *callgraph.Graph) string {
	path := ""
	for _, text := range differences(g, other) {
		if e.template.has(placeType) {
			v.sampleType = text
			path = e.template.path(v)
		} else {
			path = e.template.pathWith(v, "-"+safeValue(text))
		}
		if _, exists := taken[path]; !exists {
			break
		}
	}
	return path
}

// differences are texts that tell a graph from another of the same group, the
// shortest first. The last one tells it from all.
func differences(g, other *callgraph.Graph) []string {
	name := g.Name()
	texts := []string{name}
	if g.SampleType.Unit != other.SampleType.Unit {
		texts = append(texts, name+"-"+g.SampleType.Unit)
	} else if name == other.Name() && g.Period != other.Period {
		texts = []string{name + "-" + periodText(g)}
	}
	period := g.PeriodType
	return append(texts,
		name+"-"+period.Type+"-"+period.Unit,
		fmt.Sprintf("%s-%s-%s-%s-%s-%d", name, g.SampleType.Type, g.SampleType.Unit, period.Type, period.Unit, g.Period))
}

// periodText is how often samples of a graph were taken, or how far apart: 99Hz.
func periodText(g *callgraph.Graph) string {
	if g.PeriodType.Unit == "nanoseconds" && g.Period > 0 {
		return fmt.Sprintf("%.4gHz", 1e9/float64(g.Period))
	}
	return fmt.Sprintf("%d%s", g.Period, g.PeriodType.Unit)
}
