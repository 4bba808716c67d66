//go:build linux

package main

import (
	"errors"
	"fmt"
	"strings"
)

// known are the calls of the programs that hooks looks at, as number/error:count;
// c is for those of 32-bit programs.
var known = map[string]map[string]string{
	"amd64": {
		"file_opens opens":   "257/14:1 257/2:4286 257/36:1 257:5719 2:1 437:1 85:1",
		"file_reads reads":   "0:5000 17/14:1 17:301 19:100 295:200 327:50 40:10",
		"file_opens calls32": "257:1 c295:13 c437:14 c5:11 c8/2:12",
		"file_reads calls32": "c145:22 c180:23 c187:6 c239:7 c333:24 c378:25 c3:21",
	},
	"arm64": {
		"file_opens opens": "437:1 56/14:1 56/2:4286 56/36:1 56:5719",
		"file_reads reads": "286:50 63:5000 65:100 67/14:1 67:301 69:200 71:10",
	},
}

// checkHooks wants the same counts whatever the programs hang on, and nothing
// left of them at the end. It repeats what was measured.
func (m *machine) checkHooks(text string) error {
	var errs []error
	for of, want := range known[m.arch] {
		for _, way := range []string{"functions", "tracepoints"} {
			line := "HOOKS " + of + " " + way + " = " + want
			if !strings.Contains(text, line+"\n") {
				errs = append(errs, fmt.Errorf("not counted: %s", line))
			}
		}
	}
	if !strings.Contains(text, "HOOKS left = \n") {
		errs = append(errs, errors.New("programs are left after they were closed"))
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.ToLower(line), "hooks") {
			fmt.Print("  ", line)
		}
	}
	return errors.Join(errs...)
}
