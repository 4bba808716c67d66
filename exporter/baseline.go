package exporter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/exporter/svg"
	"github.com/flametel/flametel/internal/atomicfile"
)

// baselinePrevious is the baseline that stands for the interval before.
const baselinePrevious = "previous"

// twinExtension is that of the differential flame graph beside a file.
const twinExtension = ".diff.svg"

func (c *Config) validateBaseline() error {
	switch {
	case c.Baseline == "":
		return nil
	case c.Path == pathStdout || atomicfile.IsDevice(c.Path):
		return fmt.Errorf("baseline: there is no place beside %s for a second file; choose a path", c.Path)
	case c.Baseline == baselinePrevious && c.Interval == 0:
		return fmt.Errorf("baseline: %q needs an interval, as there is no file before the only one", c.Baseline)
	case c.Baseline == baselinePrevious:
		return nil
	}
	t, err := parseTemplateOf("baseline", c.Baseline)
	if err != nil {
		return err
	}
	if t.has(placeStart) {
		return fmt.Errorf("baseline: {%s} differs for each file; use {%s}, {%s}, {%s} or %q", placeStart, placeService, placeType, placeHost, baselinePrevious)
	}
	return nil
}

// baseline is what files are compared with.
type baseline struct {
	template *template // nil: the interval before
	// fixed is the profile of a template without placeholders, read at start.
	fixed *formats.Profile
	// before are the graphs of the interval before.
	before map[graphID]labelled
	// complained are the paths that a warning was logged for.
	complained map[string]bool
}

// graphID is what tells a graph from the others of its interval.
type graphID struct {
	group              string
	sampleType, period callgraph.ValueType
	length             int64
}

func idOf(g *callgraph.Graph) graphID {
	return graphID{g.Group, g.SampleType, g.PeriodType, g.Period}
}

// labelled is a graph and what readers call it.
type labelled struct {
	graph *callgraph.Graph
	label string
}

// newBaseline returns nil if files are compared with nothing.
func newBaseline(c *Config) (*baseline, error) {
	if c.Baseline == "" {
		return nil, nil
	}
	b := &baseline{before: map[graphID]labelled{}, complained: map[string]bool{}}
	if c.Baseline == baselinePrevious {
		return b, nil
	}
	var err error
	b.template, err = parseTemplateOf("baseline", c.Baseline)
	return b, err
}

// load reads a baseline that is the same for all files.
func (b *baseline) load() error {
	if b == nil || b.template == nil || len(b.template.places) > 0 {
		return nil
	}
	path := b.template.path(values{})
	p, err := readProfile(path)
	if err != nil {
		return fmt.Errorf("baseline: %s: %w", path, err)
	}
	b.fixed = p
	return nil
}

func readProfile(path string) (*formats.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return formats.Read(f, formats.ReadOptions{})
}

// maxComplaints bounds the paths that are remembered.
const maxComplaints = 1000

// find returns what a graph is compared with, nil if there is nothing.
func (e *fileExporter) find(g *callgraph.Graph) labelled {
	b := e.baseline
	if b.template == nil {
		return b.before[idOf(g)]
	}
	key := parseGroup(g.Group)
	path := b.template.path(values{service: key.service, host: key.host, sampleType: g.Name()})
	p, err := b.fixed, error(nil)
	if p == nil {
		p, err = readProfile(path)
	}
	if err == nil {
		var before *callgraph.Graph
		after := &formats.Profile{Graphs: []*callgraph.Graph{g}}
		if before, _, err = formats.Pair(p, after, ""); err == nil {
			return labelled{before, filepath.Base(path)}
		}
	}
	if !b.complained[path] && len(b.complained) < maxComplaints {
		b.complained[path] = true
		e.logger.Warn("A file is compared with nothing.", zap.String("baseline", path), zap.String("type", g.Name()), zap.Error(err))
	}
	return labelled{}
}

// writeTwins writes the differential flame graphs of one file.
func (e *fileExporter) writeTwins(out output) error {
	var errs []error
	for i, g := range out.graphs {
		before := e.find(g)
		if before.graph == nil {
			continue
		}
		path := twinPath(out.path)
		if i > 0 {
			path = strings.TrimSuffix(path, twinExtension) + "-" + safeValue(g.Name()) + twinExtension
		}
		c := callgraph.Compare(before.graph, g, callgraph.CompareOptions{
			Labels: [2]string{before.label, filepath.Base(out.path)},
		})
		errs = append(errs, e.metered(path, func(w io.Writer) error {
			return svg.WriteComparison(w, c, e.writeOptions().SVG())
		}))
	}
	return errors.Join(errs...)
}

// twinPath is the path of the differential flame graph beside a file.
func twinPath(path string) string {
	return strings.TrimSuffix(path, extensionOf(path)) + twinExtension
}

// keep makes the graphs of an interval those before the next.
func (b *baseline) keep(outs []output) {
	if b == nil || b.template != nil {
		return
	}
	clear(b.before)
	for _, out := range outs {
		for _, g := range out.graphs {
			b.before[idOf(g)] = labelled{g, filepath.Base(out.path)}
		}
	}
}

// removeTwins removes what stands beside a file that was removed. Those of its
// further types can be told from other files if there is a start in the name.
func (t *template) removeTwins(path string) error {
	twins := []string{twinPath(path)}
	if t.has(placeStart) {
		more, err := filepath.Glob(globQuote(strings.TrimSuffix(path, extensionOf(path))) + "-*" + twinExtension)
		if err != nil {
			return err
		}
		twins = append(twins, more...)
	}
	var errs []error
	for _, twin := range twins {
		if st, err := os.Lstat(twin); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(twin); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// makesTwins reports whether a path of the template itself looks like that of a
// twin, so that no file can be told from one.
func (t *template) makesTwins() bool {
	return strings.HasSuffix(t.literals[len(t.literals)-1], twinExtension)
}
