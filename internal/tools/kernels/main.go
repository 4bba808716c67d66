//go:build linux

// Program kernels records a workload with a known answer on other kernels:
// Debian's, each started under qemu without hardware acceleration. Run it from
// the module's folder after make build-flametel: make kernels. It needs the
// packages qemu-system-x86, seabios and cpio, and fetches the kernels' own.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// versions are the kernels that Debian 12 offers.
var versions = []string{"6.1", "6.12"}

// patience is how long a machine may take, from its start to its end.
const patience = 5 * time.Minute

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "flametel-kernels-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	initrd, err := makeInitrd(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, v := range versions {
		image, err := fetchKernel(dir, v)
		if err == nil {
			err = boot(image, initrd)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("linux %s: %w", v, err))
		}
	}
	return errors.Join(errs...)
}

// makeInitrd puts the init program, flametel and the workload into an archive.
func makeInitrd(dir string) (string, error) {
	root := filepath.Join(dir, "root")
	for _, d := range []string{"proc", "sys", "dev", "tmp", "bin"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return "", err
		}
	}
	initrd := filepath.Join(dir, "initrd")
	return initrd, errors.Join(
		command("", "env", "CGO_ENABLED=0", "go", "build", "-o", filepath.Join(root, "init"), "./internal/tools/kernels/init"),
		command("", "gcc", "-static", "-g", "-O1", "-fomit-frame-pointer", "-o", filepath.Join(root, "bin/burn"), "examples/workloads/burn.c"),
		command("", "cp", "bin/flametel", filepath.Join(root, "bin")),
		command(root, "sh", "-c", "find . | cpio -o -H newc --quiet >"+initrd),
	)
}

// fetchKernel returns the image of the newest cloud kernel of a version.
func fetchKernel(dir, version string) (string, error) {
	out, err := exec.Command("apt-cache", "search", "--names-only", `^linux-image-`+regexp.QuoteMeta(version)+`\.[0-9.+a-z-]*cloud-amd64$`).Output()
	if err != nil {
		return "", fmt.Errorf("look for a kernel: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	name, _, _ := strings.Cut(lines[len(lines)-1], " ")
	if name == "" {
		return "", errors.New("there is no such package; run apt-get update")
	}
	into := filepath.Join(dir, version)
	if err := os.Mkdir(into, 0o755); err != nil {
		return "", err
	}
	if err := command(into, "sh", "-c", "apt-get -qq download "+name+" && dpkg-deb -x *.deb ."); err != nil {
		return "", err
	}
	images, err := filepath.Glob(filepath.Join(into, "boot/vmlinuz-*"))
	if err != nil || len(images) == 0 {
		return "", fmt.Errorf("package %s has no kernel image", name)
	}
	return images[0], nil
}

func boot(image, initrd string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2G",
		"-nographic", "-no-reboot", "-kernel", image, "-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("qemu: %w\n%s", err, out)
	}
	text := strings.ReplaceAll(string(out), "\r", "")
	for _, file := range []string{"/tmp/host.folded", "/tmp/command.folded"} {
		heavy, light, err := split(text, file)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, text)
		}
		share := 100 * float64(heavy) / float64(max(heavy+light, 1))
		fmt.Printf("%s: %s: heavy %d, light %d samples: %.0f %% (right is 70)\n", filepath.Base(image), filepath.Base(file), heavy, light, share)
		if heavy+light < 50 || share < 60 || share > 80 {
			return fmt.Errorf("%s: the split is wrong", file)
		}
	}
	return complete(filepath.Base(image), text)
}

// complete checks that the workload, which keeps no frame pointers, is walked
// to its start by tables. Those come late on an emulated machine.
func complete(image, text string) error {
	whole, cut := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		switch {
		case err != nil:
		case strings.HasPrefix(line, "burn;_start;__libc_start_main;"):
			whole += n
		case strings.HasPrefix(line, "burn;[truncated];"):
			cut += n
		}
	}
	fmt.Printf("%s: complete stacks %d, cut %d\n", image, whole, cut)
	if whole < 50 {
		return fmt.Errorf("too few stacks are complete\n%s", text)
	}
	return nil
}

// split counts the samples of the workload's two functions.
func split(text, file string) (heavy, light int, err error) {
	_, text, found := strings.Cut(text, "BEGIN "+file+"\n")
	text, _, ended := strings.Cut(text, "\nEND "+file)
	if !found || !ended {
		return 0, 0, fmt.Errorf("%s was not written", file)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		if err != nil {
			continue
		}
		switch {
		case strings.Contains(line, ";main;heavy"):
			heavy += n
		case strings.Contains(line, ";main;light"):
			light += n
		}
	}
	return heavy, light, nil
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out.String())
	}
	return nil
}
