// Metricsgen declares the metrics of a component in Go, from its metadata.yaml,
// which mdatagen has made the configuration and the documentation of. It writes
// internal/metadata/generated_metrics.go in place of the builder that mdatagen
// puts there: that one has no histograms and does not compile with them.
//
//	metricsgen FOLDER
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"text/template"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: metricsgen FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "metricsgen:", err)
		os.Exit(1)
	}
}

// declared is what is taken of a metric in metadata.yaml.
type declared struct {
	Unit        string
	Description string
	Attributes  []string
	Histogram   *struct{}
	Sum         *struct {
		ValueType string `yaml:"value_type"`
	}
}

// metric is a metric and the name that mdatagen gives it in Go.
type metric struct {
	declared
	Name, Identifier string
}

// identifier finds the fields of the configuration that mdatagen makes.
var identifier = regexp.MustCompile("(?m)^\t(\\w+) +\\w+MetricConfig +`mapstructure:\"(.+)\"`$")

func run(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "metadata.yaml"))
	if err != nil {
		return err
	}
	var metadata struct{ Metrics map[string]declared }
	if err := yaml.Unmarshal(text, &metadata); err != nil {
		return fmt.Errorf("metadata.yaml: %w", err)
	}
	made := filepath.Join(folder, "internal", "metadata")
	config, err := os.ReadFile(filepath.Join(made, "generated_config.go"))
	if err != nil {
		return err
	}
	identifiers := make(map[string]string)
	for _, field := range identifier.FindAllSubmatch(config, -1) {
		identifiers[string(field[2])] = string(field[1])
	}
	var list []metric
	for _, name := range slices.Sorted(maps.Keys(metadata.Metrics)) {
		if identifiers[name] == "" {
			return fmt.Errorf("generated_config.go knows no metric %s", name)
		}
		list = append(list, metric{metadata.Metrics[name], name, identifiers[name]})
	}
	if err := write(filepath.Join(made, "generated_metrics.go"), list); err != nil {
		return err
	}
	// The test of the builder that is not there.
	err = os.Remove(filepath.Join(made, "generated_metrics_test.go"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

//go:embed metrics.go.tmpl
var source string

func write(name string, list []metric) error {
	var out bytes.Buffer
	if err := template.Must(template.New("metrics").Parse(source)).Execute(&out, list); err != nil {
		return err
	}
	text, err := format.Source(out.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644) // #nosec G306: a source file
}
