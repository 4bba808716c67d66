package exporter

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"

	"github.com/flametel/flametel/exporter/callgraph"
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
func (e *fileExporter) write(final bool) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	graphs, began := e.take(final)
	graphs = e.selected(graphs)
	if len(graphs) == 0 && final && e.cfg.Interval == 0 {
		graphs = []*callgraph.Graph{emptyGraph()}
	}
	if len(graphs) == 0 {
		return nil
	}
	if e.template == nil {
		return e.writeStdout(graphs)
	}
	var errs []error
	for _, out := range e.outputs(graphs, began) {
		errs = append(errs, e.writeOne(out))
	}
	if e.cfg.MaxFiles > 0 && !isDevice(e.cfg.Path) {
		errs = append(errs, removeOldest(e.template, e.cfg.MaxFiles))
	}
	return errors.Join(errs...)
}

func (e *fileExporter) writeOne(out output) error {
	began := time.Now()
	err := writeFile(out.path, func(w io.Writer) error {
		return e.encoding.encode(w, out.graphs, e.cfg)
	})
	ctx := context.Background()
	if err != nil {
		e.metrics.FlamegraphFilesFailed.Add(ctx, 1)
		return err
	}
	e.metrics.FlamegraphFilesWritten.Add(ctx, 1)
	e.metrics.FlamegraphWriteDuration.Record(ctx, time.Since(began).Seconds())
	return nil
}

// writeStdout writes all graphs if the format has room for them, else the first.
func (e *fileExporter) writeStdout(graphs []*callgraph.Graph) error {
	if len(graphs) > 1 && !e.encoding.severalTypes {
		e.logger.Warn("only one sample type fits on standard output; choose with sample_type",
			zap.String("written", graphs[0].Name()), zap.Int("left_out", len(graphs)-1))
		graphs = graphs[:1]
	}
	return fill(e.stdout, func(w io.Writer) error {
		return e.encoding.encode(w, graphs, e.cfg)
	})
}

// selected returns the graphs of the configured sample type.
func (e *fileExporter) selected(graphs []*callgraph.Graph) []*callgraph.Graph {
	var out []*callgraph.Graph
	for _, g := range graphs {
		if t := e.cfg.SampleType; t != "" && t != g.Name() && t != g.SampleType.Type {
			continue
		}
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
		path := e.template.path(values{
			service: key.service, host: key.host, sampleType: g.Name(), start: began,
		})
		i, taken := byPath[path]
		if taken && e.encoding.severalTypes {
			outs[i].graphs = append(outs[i].graphs, g)
			continue
		}
		if taken {
			path = freePath(byPath, path, g)
		}
		byPath[path] = len(outs)
		outs = append(outs, output{path, []*callgraph.Graph{g}})
	}
	return outs
}

// freePath tells the files of two sample types apart when the template does
// not: -type, or if that is taken -type-unit, goes before the extension.
func freePath(taken map[string]int, path string, g *callgraph.Graph) string {
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(path, ext)
	name := safeValue(g.Name())
	for _, suffix := range []string{name, name + "-" + safeValue(g.SampleType.Unit)} {
		p := stem + "-" + suffix + ext
		if _, exists := taken[p]; !exists {
			return p
		}
	}
	// Types that agree in name and unit differ in what their period measures.
	return stem + "-" + name + "-" + safeValue(g.PeriodType.Type+" "+g.PeriodType.Unit) + ext
}
