package svg

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// script is made from the files in script/ by go generate: without comments and
// indentation, but with all names.
//
//go:generate go run ../../internal/tools/joinjs script.min.js script
//go:embed script.min.js
var script string

// Write draws one weight of a graph. A graph without samples gives a valid file
// that says so, and why.
func Write(w io.Writer, g *callgraph.Graph, opts Options) error {
	return write(w, g, nil, opts)
}

// write draws a graph or, if c is not nil, its two weights. If the file gets too
// large, it tries again with fewer nodes, in proportion.
func write(w io.Writer, g *callgraph.Graph, c *callgraph.Comparison, opts Options) error {
	limit := opts.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	d := newDrawing(g, c, opts)
	nodes := len(g.Nodes)
	if most := int(float64(limit) / leastNodeBytes); limit > 0 && nodes > most {
		nodes = most
	}
	for {
		if nodes < len(g.Nodes) {
			d.shrink(nodes)
		}
		d.measure()
		payload, err := d.render()
		if err != nil {
			return err
		}
		rest := d.out.Len() + wrapping + len(script)
		if limit < 0 || nodes <= 1 || int64(rest+len(payload)) <= limit {
			return d.finish(w, payload)
		}
		share := max(0, float64(limit-int64(rest))) / float64(len(payload))
		nodes = int(float64(min(nodes, len(d.Nodes))) * min(0.9, share*0.97))
	}
}

// leastNodeBytes is the size of a node in a file below which no graph of real
// stacks was seen; the mean is 1.8.
const leastNodeBytes = 1.2

// drawing writes a file.
type drawing struct {
	*callgraph.Graph                  // what is drawn, perhaps without its smallest subtrees
	full             *callgraph.Graph // all of it
	cmp              *callgraph.Comparison
	out              bytes.Buffer
	opts             Options
	unit             unit
	summaries        []string // of the profile, or of both that are compared
	warnings         []string
	text             []line // below the title
	shrinker         *shrinker
	merged           *merged
	// By node: totals of the weight drawn, of the weight before in a comparison,
	// and what widths are in proportion to.
	totals, before []int64
	widths         []float64
	pic            *picture // nil if there is nothing to draw
}

func newDrawing(g *callgraph.Graph, c *callgraph.Comparison, opts Options) *drawing {
	if opts.Layout == "" {
		opts.Layout = Flame
	}
	u := unitOf(g.SampleType)
	d := &drawing{Graph: g, full: g, cmp: c, opts: opts, unit: u}
	if d.opts.Title == "" {
		d.opts.Title = d.defaultTitle()
	}
	d.opts.Title = display(d.opts.Title)
	d.summaries = d.summarize()
	d.warnings = d.findWarnings()
	return d
}

// measure computes totals and widths of the nodes that are drawn.
func (d *drawing) measure() {
	d.totals = d.Graph.AppendTotals(d.totals[:0], d.opts.Weight)
	if d.cmp != nil {
		d.before = d.Graph.AppendTotals(d.before[:0], callgraph.Before)
		c := *d.cmp
		c.Graph = d.Graph
		d.cmp = &c
		d.widths = sums(d.Graph, c.Widths(true))
		return
	}
	d.widths = slices.Grow(d.widths[:0], len(d.totals))[:len(d.totals)]
	for i, v := range d.totals {
		d.widths[i] = float64(v)
	}
}

// shrink leaves so many nodes.
func (d *drawing) shrink(nodes int) {
	if d.shrinker == nil {
		d.shrinker = newShrinker(d.full)
	}
	var m merged
	d.Graph, m = d.shrinker.shrink(nodes)
	d.merged = &m
}

// render draws everything up to the packed graph, which it returns.
func (d *drawing) render() (payload string, err error) {
	d.out.Reset()
	d.text = d.lines()
	if d.widths[0] > 0 {
		d.pic = plan(d.Graph, d.widths, d.totals, width-2*pad, d.mostElements())
	}
	d.open()
	if err := d.about(); err != nil {
		return "", err
	}
	d.head()
	d.legend()
	if d.pic == nil {
		d.noSamples()
	} else {
		d.frames()
		d.foot()
	}
	head, err := d.ui()
	if err != nil {
		return "", err
	}
	return encodePayload(d.Graph, head)
}

// The packed graph and the script come last, so that a browser draws the frames
// first.
const (
	beforeGraph  = `<metadata data-ft="graph">`
	beforeScript = "</metadata>\n<script><![CDATA[\n"
	afterScript  = "]]></script>\n</svg>\n"
	// wrapping is the number of bytes around both.
	wrapping = len(beforeGraph) + len(beforeScript) + len(afterScript)
)

func (d *drawing) finish(w io.Writer, payload string) error {
	if _, err := w.Write(d.out.Bytes()); err != nil {
		return err
	}
	for _, part := range []string{beforeGraph, payload, beforeScript, script, afterScript} {
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
	}
	return nil
}

// mostElements is how many frames to draw: in a small file at most as many as
// take half of it.
func (d *drawing) mostElements() int {
	const frameBytes = 220 // with its title and label
	if d.opts.MaxBytes <= 0 {
		return maxElements
	}
	return int(min(maxElements, d.opts.MaxBytes/2/frameBytes))
}

func (d *drawing) printf(format string, args ...any) { _, _ = fmt.Fprintf(&d.out, format, args...) }

func (d *drawing) open() {
	d.printf(`<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" data-ft="root" width="%d" height="%d" viewBox="0 0 %d %d" font-family="%s" font-size="%d" fill="%s">
`, width, d.height(), width, d.height(), escape(sansSerif), fontSize, ink)
	d.printf("<title>%s</title>\n", escape(d.opts.Title))
	d.printf("<desc>%s</desc>\n", escape(strings.Join(d.provenance(), "\n")))
	d.printf("<style>\n%s</style>\n", style())
}

// about writes what the file says about itself for programs.
func (d *drawing) about() error {
	a := about{
		Format: formatName, Version: formatVersion, Title: d.opts.Title, Facts: d.opts.Facts, Merged: d.merged,
	}
	if d.cmp != nil {
		a.Normalized = d.cmp.Normalized
		for _, s := range d.cmp.Sides {
			a.Sources = append(a.Sources, sourceOf(s, d.full.Group))
		}
	} else {
		for w := range d.full.Self {
			a.Sources = append(a.Sources, sourceOf(callgraph.Side{
				SampleType: d.full.SampleType, PeriodType: d.full.PeriodType, Period: d.full.Period,
				Total: d.full.Total(w), Samples: d.full.Samples(), Meta: d.full.Meta,
			}, d.full.Group))
		}
	}
	text, err := jsonText(a)
	d.printf(`<metadata data-ft="about">%s</metadata>`+"\n", text)
	return err
}
