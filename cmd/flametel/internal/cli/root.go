package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/version"
)

// newRoot makes the command tree. A sub-command that fails sets the exit code.
func newRoot(s *record.Settings, code *int) *cobra.Command {
	root := &cobra.Command{
		Use:           "flametel",
		Short:         "Profile a Linux host and draw flame graphs",
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       version.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [command]",
		Short: "Say how to use a command",
		RunE: func(_ *cobra.Command, args []string) error {
			target, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(root, rest)
			}
			return target.Help()
		},
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate(versionText())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, s.Args, err) })
	root.AddCommand(newRecord(s, code), newTop(s, code), newTrace(s, code), newConvert(s, code), newDiff(s, code), newSymbols(s, code), newUnwind(s, code), newVersion(), newMan(code), newCompletion())
	ofOthers := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root {
			ofOthers(cmd, args)
			return
		}
		_, _ = fmt.Fprint(cmd.OutOrStdout(), rootHelp(root))
	})
	return root
}

// rootHelp lists the sub-commands.
func rootHelp(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Flametel profiles a Linux host with eBPF and draws flame graphs.\n\nUsage:\n  flametel command [flags]\n\nCommands:\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			fmt.Fprintf(&b, "  %-12s %s\n", c.Name(), c.Short)
		}
	}
	b.WriteString("\nStart with: sudo flametel record\nEach command explains itself: flametel record --help\n")
	return b.String()
}

// unknownCommand is the error for what is not a sub-command.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	const near = 2 // letters that differ
	root.SuggestionsMinimumDistance = near
	text := fmt.Sprintf("unknown command %q", args[0])
	if like := root.SuggestionsFor(args[0]); len(like) > 0 {
		text += fmt.Sprintf("; did you mean %s?", like[0])
	}
	return &usageError{errors.New(text), root}
}

// versionText is what "flametel version" and "flametel --version" print.
func versionText() string {
	return fmt.Sprintf("flametel %s (%s, %s/%s)\n", version.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			_, _ = fmt.Fprint(cmd.OutOrStdout(), versionText())
		},
	}
}
