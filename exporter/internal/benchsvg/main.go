//go:build linux

// Program benchsvg measures flame graphs: what drawing them takes, how large the
// files are, and how long a browser makes its user wait. Run it from the module's
// folder: make bench-svg. For comparison it gives the same stacks to
// d3-flame-graph, which make test installs from npm, and to flamegraph.pl.
//
//	benchsvg [-sizes 1000,10000] [-browser=false]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

func main() {
	sizes := flag.String("sizes", "1000,10000,100000,1000000", "numbers of stacks")
	withBrowser := flag.Bool("browser", true, "measure in Chromium, too, up to 100,000 stacks")
	child := flag.String("draw", "", "internal: draw one file")
	flag.Parse()
	var err error
	if *child != "" {
		err = draw(*sizes, *child)
	} else {
		err = run(context.Background(), strings.Split(*sizes, ","), *withBrowser)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchsvg:", err)
		os.Exit(1)
	}
}

// drawn is what drawing one file took.
type drawn struct {
	Nodes   int
	Seconds float64 // of CPU, user and system
	MiB     float64 // of memory at the highest, beyond the graph itself
	Bytes   int64
	// Flat is the size of the file if most stacks were seen once. Of such a graph
	// more frames are wide enough to draw.
	Flat int64
}

func run(ctx context.Context, sizes []string, withBrowser bool) error {
	dir, err := os.MkdirTemp("", "benchsvg")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| stacks | frames | CPU s | MiB beyond the graph | file, MB | if most stacks were seen once, MB |\n| --- | --- | --- | --- | --- | --- |")
	files := map[string]string{}
	for _, size := range sizes {
		files[size] = filepath.Join(dir, size+".svg")
		d, err := drawInChild(ctx, size, files[size])
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %.2f | %.0f | %.2f | %.2f |\n", size, d.Nodes-1, d.Seconds, d.MiB, float64(d.Bytes)/1e6, float64(d.Flat)/1e6)
	}
	peers, err := compareFiles(ctx, dir, sizes)
	if err != nil || !withBrowser {
		return err
	}
	return browse(ctx, dir, sizes, files, peers)
}

// drawInChild draws in a process of its own, so that its memory is that of one
// file.
func drawInChild(ctx context.Context, size, path string) (drawn, error) {
	self, err := os.Executable()
	if err != nil {
		return drawn{}, err
	}
	cmd := exec.CommandContext(ctx, self, "-sizes", size, "-draw", path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return drawn{}, fmt.Errorf("draw %s stacks: %w", size, err)
	}
	var d drawn
	return d, json.Unmarshal(out, &d)
}

// draw is the child. It draws once to warm up, unless that takes long.
func draw(size, path string) error {
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	g := graph(n)
	rounds := 1
	if n <= 100_000 {
		rounds = 4
	}
	d := drawn{Nodes: len(g.Nodes)}
	for range rounds {
		before, err := settle()
		if err != nil {
			return err
		}
		start := cpuTime()
		if d.Bytes, err = drawFile(path, g); err != nil {
			return err
		}
		d.Seconds = (cpuTime() - start).Seconds()
		peak, err := status("VmHWM:")
		if err != nil {
			return err
		}
		d.MiB = float64(peak-before) / 1024
	}
	if d.Flat, err = drawFile(path+".flat", stackgen.New(n, 1).Graph()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(d)
}

// graph has a few stacks that hold most samples, as those for which the goals
// were set.
func graph(stacks int) *callgraph.Graph { return stackgen.New(stacks, 1).Concentrate().Graph() }

// drawFile returns the size of the file.
func drawFile(path string, g *callgraph.Graph) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := svg.Write(f, g, svg.Options{Layout: svg.Icicle}); err != nil {
		return 0, err
	}
	return f.Seek(0, io.SeekEnd)
}

func cpuTime() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
