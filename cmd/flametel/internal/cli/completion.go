package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

const completionHelp = `Print a script that makes a shell complete the commands and flags of flametel, and process IDs.

Usage:
  flametel completion bash|zsh|fish

Examples:
  source <(flametel completion bash)                in this shell
  flametel completion bash >/etc/bash_completion.d/flametel
  flametel completion zsh >"${fpath[1]}/_flametel"
  flametel completion fish >~/.config/fish/completions/flametel.fish

Flags:
  -h, --help                  print this
`

// newCompletion stands in for the command that cobra would add.
func newCompletion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	cmd := &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Print a script for completion in a shell",
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("give one of %s", "bash, zsh, fish"), cmd}
			}
			out := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(out)
			case "fish":
				return cmd.Root().GenFishCompletion(out, true)
			}
			return &usageError{fmt.Errorf("%q is not one of bash, zsh, fish", args[0]), cmd}
		},
	}
	explain(cmd, completionHelp)
	return cmd
}
