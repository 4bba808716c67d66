//go:build linux

// Program gallery makes docs/gallery: flame graphs of real workloads, recorded
// on this host by bin/flametel, the page that shows them, and one picture of them
// all for the README. Run it as root from the module's folder: make gallery, or
// make gallery SCENES="node dd" for some of the flame graphs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

// Where things are, from the module's folder.
const (
	program = "bin/flametel"
	folder  = "docs/gallery"
	page    = "docs/gallery.md"
	picture = "flametel.png"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only []string) error {
	// The names of folders stand in the files, so they are the same everywhere.
	dir := filepath.Join(os.TempDir(), "flametel-gallery")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the workloads: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	b, err := newBench(dir)
	if err != nil {
		return err
	}
	defer b.load.Stop()
	for i := range scenes {
		if len(only) > 0 && !slices.Contains(only, scenes[i].name) {
			continue
		}
		if err := b.record(ctx, &scenes[i]); err != nil {
			return fmt.Errorf("%s: %w", scenes[i].name, err)
		}
	}
	if err := b.photograph(ctx); err != nil {
		return err
	}
	return writePage()
}

// bench is what the workloads need.
type bench struct {
	dir  string // of the workloads
	self string // absolute path of flametel
	load measure.Group
}

func newBench(dir string) (*bench, error) {
	self, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, self: self, load: measure.Group{Dir: dir}}
	for _, name := range []string{"burn.c", "node_busy.js", "python_busy.py"} {
		from, err := measure.Workload(name)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	gcc := exec.Command("gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-ffile-prefix-map="+dir+"=examples/workloads", "-o", "burn", "burn.c")
	gcc.Dir = dir
	if out, err := gcc.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile burn.c: %w\n%s", err, out)
	}
	return b, errors.Join(
		os.WriteFile(filepath.Join(dir, "big.c"), []byte(bigSource()), 0o600),
		os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(nginxConf), 0o600),
	)
}

// bigSource is a C program that takes a compiler some seconds.
func bigSource() string {
	const functions = 1500
	var b strings.Builder
	for i := range functions {
		fmt.Fprintf(&b, "unsigned f%d(unsigned *a, unsigned n) { unsigned s = %d; for (unsigned i = 0; i < n; i++)"+
			" { s = s * 33 + (a[i] ^ %du); if (s & 64) a[i] += s >> (s & 7); } return s; }\n", i, i, i*7919)
	}
	return b.String()
}

// record makes the file of a scene.
func (b *bench) record(ctx context.Context, s *scene) error {
	// The command line stands in the file, so it has no paths of this machine.
	name := s.name + ".svg"
	var load measure.Group
	load.Dir = b.dir
	defer load.Stop()
	args := []string{"record", "-q", "-F", strconv.Itoa(s.frequency), "-o", name, "--title", s.title}
	for _, argv := range s.load {
		pid, err := load.Start(argv[0], argv[1:]...)
		if err != nil {
			return err
		}
		// Only them: what else runs here is nobody's business.
		args = append(args, "-p", strconv.Itoa(pid))
	}
	if len(s.load) > 0 {
		pause(ctx, time.Second)
	}
	cmd := exec.CommandContext(ctx, b.self, append(args, s.args...)...)
	cmd.Args[0] = "flametel"
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin", "GOCACHE="+filepath.Join(b.dir, "cache"), "GOFLAGS=")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	made, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return err
	}
	fmt.Printf("%-28s %4d kB  %s\n", filepath.Join(folder, name), len(made)/1000, s.title)
	return os.WriteFile(filepath.Join(folder, name), made, 0o644)
}

// photograph makes the picture for the README with headless Chromium.
func (b *bench) photograph(ctx context.Context) error {
	from, err1 := filepath.Abs(filepath.Join(folder, "host.svg"))
	to, err2 := filepath.Abs(filepath.Join(folder, picture))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--user-data-dir="+filepath.Join(b.dir, "chromium"), "--force-device-scale-factor=1",
		"--window-size=1200,640", "--virtual-time-budget=5000", "--screenshot="+to, "file://"+from)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("photograph with chromium: %w\n%s", err, out)
	}
	st, err := os.Stat(to)
	if err != nil {
		return fmt.Errorf("chromium made no picture: %w", err)
	}
	fmt.Printf("%-28s %4d kB\n", filepath.Join(folder, picture), st.Size()/1000)
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
