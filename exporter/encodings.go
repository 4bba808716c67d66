package exporter

import (
	"path/filepath"

	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/exporter/svg"
)

// Layouts of an SVG.
const (
	layoutFlame  = string(svg.Flame)
	layoutIcicle = string(svg.Icicle)
)

// writeOptions are the settings of the configuration for all formats.
func (e *fileExporter) writeOptions() *formats.WriteOptions {
	c := e.cfg
	limit := int64(c.MaxSizeMiB) << 20
	if limit == 0 {
		limit = -1
	}
	return &formats.WriteOptions{
		Title: c.Title, Layout: svg.Layout(c.Layout), MaxBytes: limit, NoAnnotations: !c.Annotations,
		Facts: e.facts,
	}
}

// extensionOf returns the extension of a path, all of .pb.gz.
func extensionOf(path string) string {
	if f, ext := formats.ByExtension(path); f != nil {
		return ext
	}
	return filepath.Ext(path)
}
