package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// explain makes a text the help of a command. What it says about each flag also
// becomes the flag's description, which shells show when they complete it.
func explain(cmd *cobra.Command, help string) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = fmt.Fprint(cmd.OutOrStdout(), help)
	})
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage = description(help, f.Name)
	})
}

// description is what the line of a flag says in a help text, whose columns are
// apart by two spaces or more.
func description(help, flag string) string {
	for line := range strings.Lines(help) {
		_, rest, found := strings.Cut(line, "--"+flag+" ")
		if !found || !strings.HasPrefix(strings.TrimSpace(line), "-") {
			continue
		}
		_, text, _ := strings.Cut(rest, "  ")
		text, _, _ = strings.Cut(strings.TrimSpace(text), "  ")
		return text
	}
	return ""
}
