package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// completeRecord says what shells offer for the values of flags.
func completeRecord(cmd *cobra.Command) {
	completeTargets(cmd)
	offer(cmd, "type", record.Kinds())
	offer(cmd, "format", record.Formats())
	offer(cmd, "demangle", record.DemangleStyles())
	offer(cmd, "merge", record.Merges())
	offer(cmd, "layout", []string{"icicle", "flame"})
	for _, flag := range []string{"duration", "frequency", "drain-interval", "include", "exclude", "title"} {
		offer(cmd, flag, nil)
	}
	// After two dashes stands a command.
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
}

func completeTargets(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("pid", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return processes("/proc"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	})
	_ = cmd.RegisterFlagCompletionFunc("cgroup", func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return cgroups(record.CgroupRoots(), begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	offer(cmd, "container", nil)
}

// offer makes shells complete a flag by these values, and never by files.
func offer(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// maxOffered bounds what a shell is offered.
const maxOffered = 2000

// processes lists the running processes that have a program, each with its name.
func processes(root string) []string {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil || len(list) >= maxOffered {
			continue
		}
		if words, err := os.ReadFile(filepath.Join(root, e.Name(), "cmdline")); err != nil || len(words) == 0 {
			continue // a kernel thread
		}
		comm, err := os.ReadFile(filepath.Join(root, e.Name(), "comm"))
		if err != nil {
			continue
		}
		list = append(list, e.Name()+"\t"+terminal.Clip(strings.TrimSpace(string(comm)), 16))
	}
	return list
}

// cgroups lists those below the one whose path has been begun, in all trees.
func cgroups(roots []string, begun string) []string {
	dir, _ := filepath.Split("/" + strings.TrimPrefix(begun, "/"))
	var list []string
	for _, root := range roots {
		entries, err := os.ReadDir(filepath.Join(root, filepath.Clean(dir)))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && len(list) < maxOffered && terminal.Escape(e.Name()) == e.Name() {
				list = append(list, filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
