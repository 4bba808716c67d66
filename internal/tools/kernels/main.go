//go:build linux

// Program kernels records workloads with a known answer on other kernels, those
// of Debian for x86-64 and arm64, each started under qemu without hardware
// acceleration. Run it from the module's folder: make kernels. It needs the
// packages qemu-system-x86, qemu-system-arm, seabios, cpio and the compilers of
// both machines, and fetches the kernels' own. Arguments such as amd64/6.12 choose
// some of them.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A machine is what is emulated.
type machine struct {
	arch     string // as Go and Debian call it
	cc       string
	qemu     []string
	console  string
	versions []string // of kernels that Debian 12 offers
	consoles string   // folder for what machines print, "" for none
	parts    string   // what is done there
}

var machines = []machine{
	{
		arch: "amd64", cc: "gcc", console: "ttyS0", versions: []string{"6.1", "6.12"},
		qemu: []string{"qemu-system-x86_64", "-cpu", "max"},
	},
	{
		// pauth-impdef: the architecture's own algorithm for signing return
		// addresses takes half of the time.
		arch: "arm64", cc: "aarch64-linux-gnu-gcc", console: "ttyAMA0", versions: []string{"6.1"},
		qemu: []string{"qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"},
	},
}

// patience is how long a machine may take, from its start to its end.
const patience = 30 * time.Minute

func main() {
	consoles := flag.String("consoles", "", "`folder` that keeps what each machine has printed")
	parts := flag.String("parts", "record events hooks", "what to do there")
	flag.Parse()
	if err := run(*consoles, *parts, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

func run(consoles, parts string, chosen []string) error {
	dir, err := os.MkdirTemp("", "flametel-kernels-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var errs []error
	for i := range machines {
		m := &machines[i]
		m.consoles, m.parts = consoles, parts
		m.versions = slices.DeleteFunc(m.versions, func(v string) bool {
			return len(chosen) > 0 && !slices.Contains(chosen, m.arch+"/"+v)
		})
		if len(m.versions) > 0 {
			errs = append(errs, m.run(filepath.Join(dir, m.arch)))
		}
	}
	return errors.Join(errs...)
}

// run starts each kernel of a machine.
func (m *machine) run(dir string) error {
	initrd, err := m.makeInitrd(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, v := range m.versions {
		image, err := m.fetchKernel(dir, v)
		if err == nil {
			err = m.bootAll(image, initrd)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("linux %s on %s: %w", v, m.arch, err))
		}
	}
	return errors.Join(errs...)
}

// makeInitrd puts the init program, flametel and the workloads into an archive.
func (m *machine) makeInitrd(dir string) (string, error) {
	root := filepath.Join(dir, "root")
	for _, d := range []string{"proc", "sys", "dev", "tmp", "bin", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return "", err
		}
	}
	initrd := filepath.Join(dir, "initrd")
	calls := []string{"-static", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "internal/e2e/unwind/testdata/calls.c", "-o"}
	branches := "-fcf-protection"
	if m.arch == "arm64" {
		branches = "-mbranch-protection=standard" // return addresses are signed
	}
	in := func(name string) string { return filepath.Join(root, name) }
	return initrd, errors.Join(
		command("", "env", "CGO_ENABLED=0", "GOARCH="+m.arch, "go", "build", "-o", in("init"), "./internal/tools/kernels/init"),
		command("", "env", "CGO_ENABLED=0", "GOARCH="+m.arch, "go", "build", "-trimpath", "-ldflags=-w", "-o", in("bin/flametel"), "./cmd/flametel"),
		command("", m.cc, "-static", "-g", "-O1", "-fomit-frame-pointer", "-o", in("bin/burn"), "examples/workloads/burn.c"),
		command("", m.cc, append(calls, in("bin/calls"))...),
		command("", m.cc, append(calls, in("bin/protected"), branches)...),
		command("", "env", "CGO_ENABLED=0", "GOARCH="+m.arch, "go", "build", "-o", in("bin/hooks"), "./internal/tools/kernels/hooks"),
		m.compile(in("bin/reads"), "bpf/testdata/reads.c"),
		m.compile(in("bin/opens"), "bpf/testdata/opens.c"),
		m.compile32(in("bin/calls32")),
		command(root, "sh", "-c", "find . | cpio -o -H newc --quiet >"+initrd),
	)
}

func (m *machine) compile(to, source string, flags ...string) error {
	return command("", m.cc, append(flags, "-static", "-O1", "-o", to, source)...)
}

// compile32 makes a program that also makes the calls of 32-bit programs, if the
// machine lets others do that.
func (m *machine) compile32(to string) error {
	if m.arch != "amd64" {
		return nil
	}
	return m.compile(to, "bpf/testdata/calls32.c", "-no-pie")
}

// aptOptions make apt work for the machine, with lists and a cache in dir: those
// of the host are left alone.
func (m *machine) aptOptions(dir string) ([]string, error) {
	options := []string{"-oAPT::Architecture=" + m.arch, "-oAPT::Architectures=" + m.arch, "-oDir::State::status=/dev/null", "-oAPT::Sandbox::User="}
	for key, sub := range map[string]string{"State::lists": "lists", "Cache": "cache", "Cache::archives": "archives"} {
		at := filepath.Join(dir, "apt", sub)
		if err := os.MkdirAll(filepath.Join(at, "partial"), 0o755); err != nil {
			return nil, err
		}
		options = append(options, "-oDir::"+key+"="+at)
	}
	return options, nil
}

// fetchKernel returns the image of the newest cloud kernel of a version.
func (m *machine) fetchKernel(dir, version string) (string, error) {
	apt, err := m.aptOptions(dir)
	if err != nil {
		return "", err
	}
	with := func(args ...string) []string { return append(slices.Clone(apt), args...) }
	if err := command("", "apt-get", with("-qq", "update")...); err != nil {
		return "", err
	}
	out, err := exec.Command("apt-cache", with("search", "--names-only", `^linux-image-`+regexp.QuoteMeta(version)+`\.[0-9.+a-z-]*cloud-`+m.arch+`$`)...).Output()
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
	if err := command(into, "apt-get", with("-qq", "download", name)...); err != nil {
		return "", err
	}
	if err := command(into, "sh", "-c", "dpkg-deb -x *.deb ."); err != nil {
		return "", err
	}
	images, err := filepath.Glob(filepath.Join(into, "boot/vmlinuz-*"))
	if err != nil || len(images) == 0 {
		return "", fmt.Errorf("package %s has no kernel image", name)
	}
	return images[0], nil
}

// bootAll does the parts, each sort on a machine of its own.
func (m *machine) bootAll(image, initrd string) error {
	var beside, alone []string
	for _, part := range strings.Fields(m.parts) {
		if part == "hooks" {
			alone = append(alone, part)
		} else {
			beside = append(beside, part)
		}
	}
	var errs []error
	if len(beside) > 0 {
		errs = append(errs, m.boot(image, initrd, beside, "-accel", "tcg,thread=multi", "-smp", "2"))
	}
	if len(alone) > 0 {
		// The clock counts instructions, a nanosecond for each, and jumps when
		// nothing runs: what is measured does not depend on what else the host does.
		errs = append(errs, m.boot(image, initrd, alone, "-accel", "tcg,thread=single", "-smp", "1", "-icount", "shift=0,sleep=off"))
	}
	return errors.Join(errs...)
}

func (m *machine) boot(image, initrd string, parts []string, how ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args := slices.Concat(m.qemu[1:], how, []string{
		"-m", "2G", "-nographic", "-no-reboot", "-kernel", image, "-initrd", initrd,
		"-append", "console=" + m.console + " quiet panic=-1 " + strings.Join(parts, " "),
	})
	cmd := exec.CommandContext(ctx, m.qemu[0], args...)
	var console bytes.Buffer
	cmd.Stdout = &console
	if m.consoles != "" {
		file, err := os.Create(filepath.Join(m.consoles, m.arch+"-"+filepath.Base(image)+"-"+parts[0]+".log"))
		if err != nil {
			return err
		}
		defer file.Close()
		cmd.Stdout = io.MultiWriter(&console, file)
	}
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	text := strings.ReplaceAll(console.String(), "\r", "")
	if err != nil {
		return fmt.Errorf("qemu: %w\n%s", err, text)
	}
	return m.check(filepath.Base(image), parts, text)
}

// check looks at what a machine has printed.
func (m *machine) check(image string, parts []string, text string) error {
	var errs []error
	for _, part := range parts {
		switch part {
		case "record":
			errs = append(errs, checkSplit(image, text), complete(image, text), checkCalls(image, text))
		case "events":
			errs = append(errs, checkEvents(image, text))
		case "hooks":
			errs = append(errs, m.checkHooks(text))
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "failed:") {
			errs = append(errs, errors.New(strings.TrimSpace(line)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// checkSplit wants the shares of time that the workload's functions take.
func checkSplit(image, text string) error {
	for _, file := range []string{"/tmp/host.folded", "/tmp/command.folded"} {
		heavy, light, err := split(text, file)
		if err != nil {
			return err
		}
		share := 100 * float64(heavy) / float64(max(heavy+light, 1))
		fmt.Printf("%s: %s: heavy %d, light %d samples: %.0f %% (right is 70)\n", image, filepath.Base(file), heavy, light, share)
		if heavy+light < 50 || share < 60 || share > 80 {
			return fmt.Errorf("%s: the split is wrong", file)
		}
	}
	return nil
}

// checkEvents wants stacks of each kind, and lines of each trace; a machine without network sends nothing
// again, and locks need not be contended, but both must be recorded.
func checkEvents(kernel, text string) error {
	return errors.Join(
		atLeast(kernel, text, "EVENTS", "stacks", []least{
			{"off_cpu", 1}, {"syscalls", 1}, {"file_opens", 1}, {"file_reads", 1}, {"page_faults", 1},
			{"kernel_allocations", 1}, {"lock_contention", 0}, {"tcp_retransmits", 0},
		}),
		atLeast(kernel, text, "TRACE", "lines", []least{
			{"syscalls", 1}, {"opens", 1}, {"reads", 1}, {"offcpu", 1}, {"allocations", 1}, {"retransmits", 0},
		}))
}

// least is how many there have to be of something.
type least struct {
	name string
	n    int
}

// atLeast looks for lines of a mark, a name and a number.
func atLeast(kernel, text, mark, of string, wants []least) error {
	var errs []error
	for _, want := range wants {
		begin, n := mark+" "+want.name+" ", -1
		if at := strings.Index(text, begin); at >= 0 {
			_, _ = fmt.Sscan(text[at+len(begin):], &n)
		}
		fmt.Printf("%s: %s %s: %d %s\n", kernel, strings.ToLower(mark), want.name, n, of)
		if n < want.n {
			errs = append(errs, fmt.Errorf("%s %s: too few %s", strings.ToLower(mark), want.name, of))
		}
	}
	return errors.Join(errs...)
}

// checkCalls looks at the stacks of programs whose calls are known.
func checkCalls(kernel, text string) error {
	for _, program := range []string{"calls", "protected"} {
		var whole, all int
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
			if err != nil || !strings.HasPrefix(line, program+";") {
				continue
			}
			all += n
			// What the kernel does comes after it.
			if strings.Contains(line, ";_start;") && strings.Contains(line, ";main;a;b;c;spin") && !strings.Contains(line, "[truncated]") {
				whole += n
			}
		}
		fmt.Printf("%s: %s: %d of %d stacks have all calls\n", kernel, program, whole, all)
		if whole < 25 { // tables come late: see complete
			return fmt.Errorf("%s: stacks are cut", program)
		}
	}
	return nil
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
		return errors.New("too few stacks are complete")
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
