//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// scene is one flame graph of the gallery.
type scene struct {
	name  string // of the file
	title string
	// load is what is recorded, if it is no command of args: command lines, run in
	// the folder of the workloads.
	load      [][]string
	frequency int // Hz
	// args are those of flametel record; what follows two dashes is run.
	args []string
	see  string // what is to be seen, for the page
}

// nginxConf is for one process on a port of loopback that nobody else uses.
const nginxConf = "daemon off; master_process off; pid nginx.pid; error_log stderr crit; events {} http { access_log off; " +
	"keepalive_requests 1000000; server { listen 127.0.0.1:18080; return 200 hello; } }"

func shell(format string, args ...any) []string {
	return []string{"sh", "-c", fmt.Sprintf(format, args...)}
}

var nginxCommand = shell(`exec nginx -p . -e stderr -c "$(pwd)/nginx.conf"`)

var scenes = []scene{
	{
		name: "burn", frequency: 499, title: "A C program with a known split",
		args: []string{"--", "./burn", "5"},
		see:  "`heavy` has 70 % of the time and `light` 30 %, as the source says.",
	},
	{
		name: "python", frequency: 499, title: "CPython",
		args: []string{"--", "python3", "python_busy.py", "5"},
		see:  "The interpreter's own functions; press `/` and search for `PyEval`.",
	},
	{
		name: "node", frequency: 299, title: "Node.js",
		args: []string{"--", "node", "--perf-basic-prof", "node_busy.js", "5"},
		see:  "Code that V8 made at run time is violet and has names, thanks to `--perf-basic-prof`.",
	},
	{
		name: "gcc", frequency: 199, title: "GCC compiles C",
		args: append([]string{"--"}, shell("gcc -O2 -c big.c -o big.o")...),
		see:  "A command with its children: the shell, the driver, `cc1` and `as`. What Debian stripped of symbols is grey.",
	},
	{
		name: "go", frequency: 19, title: "The Go compiler builds the standard library",
		args: append([]string{"-d", "8", "--merge", "none", "--include", "cmd/compile"}, append([]string{"--"}, shell("go build -a -o /dev/null fmt net/url encoding/xml")...)...),
		see:  "Many short processes merged (`--merge none`), only those with compiler functions (`--include`).",
	},
	{
		name: "dd", frequency: 499, title: "dd reads and writes",
		args: append([]string{"--"}, shell("dd if=/dev/zero of=/dev/null bs=64k count=600000 status=none")...),
		see:  "Kernel frames, orange, on top of those of the program that called.",
	},
	{
		name: "nginx", frequency: 499, title: "nginx under load",
		load: [][]string{nginxCommand, shell("sleep 0.5; exec wrk -t1 -c16 -d30s http://127.0.0.1:18080/")},
		args: []string{"-d", "5"},
		see:  "A web server and its clients, and what TCP on loopback costs both: search for `tcp_`.",
	},
	{
		name: "host", frequency: 199, title: "A busy host",
		load: [][]string{
			{"./burn", "60"}, {"node", "--perf-basic-prof", "node_busy.js", "60"}, {"/usr/bin/python3", "python_busy.py", "60"},
			shell("while :; do dd if=/dev/zero of=/dev/null bs=64k count=100000 status=none; done"),
			nginxCommand, shell("sleep 0.5; exec wrk -t1 -c16 -d60s http://127.0.0.1:18080/"),
			shell("while :; do gcc -O2 -c big.c -o big.o; done"),
		},
		args: []string{"-d", "8"},
		see:  "Seven programs on two CPUs: compiled C, GCC, the kernel under `dd`, a web server and its client, V8 and CPython. This is the picture of the README.",
	},
}

// writePage writes the page that shows the files.
func writePage() error {
	var b strings.Builder
	b.WriteString("# Gallery\n\n" +
		"Real recordings, made by `make gallery` on a virtual machine with two CPUs; the file\n" +
		"`internal/tools/gallery/scenes.go` lists them and writes this page. The pictures below are the very\n" +
		"SVG files: here, as images, they show what is wide enough. Open one by itself (download it, or \"raw\")\n" +
		"and it is interactive: click to zoom, `/` to search, `?` for all keys.\n")
	for i := range scenes {
		s := &scenes[i]
		fmt.Fprintf(&b, "\n## %s\n\n```\nflametel record %s\n```\n\n%s\n\n[![flame graph: %s](gallery/%s.svg)](gallery/%s.svg)\n",
			s.title, s.command(), s.see, s.title, s.name, s.name)
	}
	return os.WriteFile(page, []byte(b.String()), 0o644)
}

// command is what a user would type for a scene.
func (s *scene) command() string {
	args := []string{"-F", strconv.Itoa(s.frequency), "-o", s.name + ".svg"}
	if len(s.load) > 0 {
		args = append(args, "-p", "PID,...")
	}
	return commandLine(append(args, s.args...))
}

// commandLine writes arguments as they are typed.
func commandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if strings.ContainsAny(a, " ^$()*|'\"") {
			quoted[i] = "'" + a + "'"
		}
	}
	return strings.Join(quoted, " ")
}
