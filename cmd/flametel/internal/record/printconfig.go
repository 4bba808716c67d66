package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/flametel/flametel/exporter"
	"github.com/flametel/flametel/exporter/choose"
	"github.com/flametel/flametel/receiver"
)

// PrintConfig writes the configuration with which a collector does what the
// recording would do, again and again or until it is stopped.
func PrintConfig(s *Settings, o *Options) error {
	var text bytes.Buffer
	cfg := o.receiverConfig(s.Receiver, o.PIDs)
	fmt.Fprintf(&text, "# %s\n# as a collector does it until it is stopped: otelcol --config collector.yaml\n", oneLine(shellQuote(s.Args)))
	printReceiver(&text, cfg, o.Command, o.Types)
	names := printExporters(&text, s, o)
	fmt.Fprintf(&text, `service:
  telemetry:
    metrics:
      level: none # no metrics endpoint of the collector's own
  pipelines:
    profiles:
      receivers: [ebpf_profiler]
      exporters: [%s]
`, strings.Join(names, ", "))
	_, err := s.Stdout.Write(text.Bytes())
	return err
}

func printReceiver(text *bytes.Buffer, cfg *receiver.Config, command, types []string) {
	fmt.Fprintf(text, "receivers:\n  ebpf_profiler:\n    window: %v\n    drain_interval: %v\n", cfg.Window, cfg.DrainInterval)
	switch {
	case len(command) > 0:
		// A collector starts no commands; it finds those that run.
		fmt.Fprintf(text, "    targets:\n      executables: [%s]\n", yamlString(glob(filepath.Base(command[0]))))
	case len(cfg.Targets.PIDs)+len(cfg.Targets.Cgroups) > 0:
		printTargets(text, &cfg.Targets)
	}
	if cfg.CPU.Enabled {
		fmt.Fprintf(text, "    cpu:\n      frequency: %d # Hz per CPU\n", cfg.CPU.Frequency)
	} else {
		text.WriteString("    cpu:\n      enabled: false\n")
	}
	for _, name := range types {
		if name != DefaultType {
			fmt.Fprintf(text, "    %s: {}\n", name)
		}
	}
	if cfg.PerThread {
		fmt.Fprintf(text, "    per_thread: true\n")
	}
	if cfg.Symbols.Demangle != DefaultDemangle || !cfg.Symbols.Inlines {
		fmt.Fprintf(text, "    symbols:\n      demangle: %s\n      inlines: %t\n", cfg.Symbols.Demangle, cfg.Symbols.Inlines)
	}
}

func printTargets(text *bytes.Buffer, targets *receiver.TargetsConfig) {
	text.WriteString("    targets:\n")
	if len(targets.PIDs) > 0 {
		pids := strings.Trim(strings.ReplaceAll(fmt.Sprint(targets.PIDs), " ", ", "), "[]")
		fmt.Fprintf(text, "      pids: [%s]\n", pids)
	}
	if len(targets.Cgroups) > 0 {
		quoted := make([]string, len(targets.Cgroups))
		for i, c := range targets.Cgroups {
			quoted[i] = yamlString(c)
		}
		fmt.Fprintf(text, "      cgroups: [%s]\n", strings.Join(quoted, ", "))
	}
}

// printExporters returns the names of the exporters.
func printExporters(text *bytes.Buffer, s *Settings, o *Options) []string {
	text.WriteString("exporters:\n")
	outputs := o.collectorOutputs()
	names := make([]string, len(outputs))
	for i := range outputs {
		names[i] = "flamegraph"
		if len(outputs) > 1 {
			names[i] = fmt.Sprintf("flamegraph/%d", i+1)
		}
		printExporter(text, names[i], o.exporterConfig(s.Exporter, &outputs[i]))
	}
	return names
}

func printExporter(text *bytes.Buffer, name string, cfg *exporter.Config) {
	fmt.Fprintf(text, "  %s:\n    path: %s\n", name, yamlString(cfg.Path))
	if cfg.Format != "" {
		fmt.Fprintf(text, "    format: %s\n", cfg.Format)
	}
	fmt.Fprintf(text, "    interval: 0s # one file, complete when the collector stops\n    max_files: %d\n", cfg.MaxFiles)
	if cfg.SampleType != "" {
		fmt.Fprintf(text, "    sample_type: %s\n", cfg.SampleType)
	}
	if cfg.Title != "" {
		fmt.Fprintf(text, "    title: %s\n", yamlString(cfg.Title))
	}
	fmt.Fprintf(text, "    layout: %s\n    annotations: %t\n", cfg.Layout, cfg.Annotations)
	for _, e := range []struct{ key, value string }{{"include", cfg.Include}, {"exclude", cfg.Exclude}} {
		if e.value != "" {
			fmt.Fprintf(text, "    %s: %s\n", e.key, yamlString(e.value))
		}
	}
	if cfg.MaxSizeMiB != DefaultMaxMiB {
		fmt.Fprintf(text, "    max_size_mib: %d\n", cfg.MaxSizeMiB)
	}
	if cfg.Baseline != "" {
		fmt.Fprintf(text, "    baseline: %s\n", yamlString(cfg.Baseline))
	}
	if cfg.Frames != string(choose.All) {
		fmt.Fprintf(text, "    frames: %s\n", cfg.Frames)
	}
	if cfg.Merge != DefaultMerge {
		fmt.Fprintf(text, "    merge: %s\n", cfg.Merge)
	}
	if cfg.Idle {
		text.WriteString("    idle: true\n")
	}
}

// collectorOutputs are the outputs; instead of a default name, a template.
func (o *Options) collectorOutputs() []output {
	var outputs []output
	for i, path := range o.Outputs {
		out := output{path: path, format: o.Format}
		if o.Baseline != "" && i == compared(o.Outputs) {
			out.twin = twinOf(path)
		}
		outputs = append(outputs, o.expand(out)...)
	}
	if len(outputs) > 0 {
		return outputs
	}
	format := formatOr(o.Format)
	what := "host"
	if len(o.PIDs) > 0 {
		what = o.what(processName(o.PIDs[0]))
	} else if len(o.Command)+len(o.Cgroups)+len(o.Containers) > 0 {
		what = o.what("")
	}
	out := output{path: stem(what) + "-{start}" + extensions[format], format: o.Format}
	if o.Baseline != "" {
		out.twin = twinOf(out.path)
	}
	return o.expand(out)
}

// yamlString quotes a string for YAML, of which JSON is a part, in a collector's
// configuration, where a dollar begins a variable.
func yamlString(s string) string {
	var quoted bytes.Buffer
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(strings.ReplaceAll(s, "$", "$$")) // strings always can
	return strings.TrimSuffix(quoted.String(), "\n")
}

// glob returns a pattern that matches exactly a name.
func glob(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(name)
}

// oneLine keeps text within a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
