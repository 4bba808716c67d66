package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/version"
)

const manHelp = `Print the manual page of a command, or write those of all commands into a folder.

Usage:
  flametel man [COMMAND]
  flametel man --folder FOLDER

Examples:
  flametel man record | man -l -                    read one
  flametel man --folder /usr/local/share/man/man1   install all

Flags:
      --folder FOLDER         write all pages there; it must exist
  -h, --help                  print this
`

func newMan(code *int) *cobra.Command {
	folder := ""
	cmd := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print a manual page",
		RunE: func(cmd *cobra.Command, args []string) error {
			if folder != "" && len(args) == 0 {
				return failure(code, record.CodeFailure, writePages(cmd.Root(), folder))
			}
			if folder != "" || len(args) > 1 {
				return &usageError{errors.New("give one command, or --folder for all"), cmd}
			}
			of := cmd.Root()
			if len(args) == 1 {
				if of = subCommand(of, args[0]); of == nil {
					return unknownCommand(cmd.Root(), args)
				}
			}
			return failure(code, record.CodeFailure, writePage(cmd.OutOrStdout(), of))
		},
	}
	cmd.Flags().StringVar(&folder, "folder", "", "")
	explain(cmd, manHelp)
	return cmd
}

func subCommand(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name && c.IsAvailableCommand() {
			return c
		}
	}
	return nil
}

// writePages writes a page for each command.
func writePages(root *cobra.Command, folder string) error {
	for _, c := range append(root.Commands(), root) {
		if c != root && !c.IsAvailableCommand() {
			continue
		}
		var page bytes.Buffer
		if err := writePage(&page, c); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, pageName(c)+".1"), page.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pageName is flametel-record for the command flametel record.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// writePage makes a manual page (man(7)) of the help text of a command, so that
// the two say the same.
func writePage(w io.Writer, c *cobra.Command) error {
	var help bytes.Buffer
	old := c.OutOrStdout()
	c.SetOut(&help)
	c.HelpFunc()(c, nil)
	c.SetOut(old)

	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"flametel %s\" \"Flametel\"\n", strings.ToUpper(pageName(c)), version.Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(strings.ToLower(c.Short[:1])+c.Short[1:]))
	paragraphs := strings.Split(strings.TrimSpace(help.String()), "\n\n")
	for i, p := range paragraphs {
		if usage, is := strings.CutPrefix(p, "Usage:\n"); is { // it comes first in manuals
			writeSynopsis(&b, usage)
			paragraphs = slices.Delete(paragraphs, i, i+1)
			break
		}
	}
	b.WriteString(".SH DESCRIPTION\n")
	for _, p := range paragraphs {
		writeParagraph(&b, p)
	}
	b.WriteString(".SH SEE ALSO\n" + roff(seeAlso(c)) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func seeAlso(c *cobra.Command) string {
	var pages []string
	for _, other := range append([]*cobra.Command{c.Root()}, c.Root().Commands()...) {
		if other != c && (other == c.Root() || other.IsAvailableCommand()) {
			pages = append(pages, pageName(other)+"(1)")
		}
	}
	return strings.Join(pages, ", ")
}

func writeSynopsis(b *strings.Builder, usage string) {
	b.WriteString(".SH SYNOPSIS\n.nf\n")
	for line := range strings.Lines(usage) {
		b.WriteString(".B " + roff(strings.TrimSpace(line)) + "\n")
	}
	b.WriteString(".fi\n")
}

// writeParagraph writes the lines between two empty ones. A line that is not
// indented and ends in a colon is a heading; what is indented below it is a list.
func writeParagraph(b *strings.Builder, text string) {
	b.WriteString(".PP\n")
	inList := false
	for line := range strings.Lines(text + "\n") {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		indented := strings.HasPrefix(line, "  ")
		word, rest, leads := strings.Cut(line, ": ")
		switch {
		case !indented && strings.HasSuffix(line, ":"):
			fmt.Fprintf(b, ".SH %s\n", roff(strings.ToUpper(strings.TrimSuffix(line, ":"))))
			inList = false
		case !indented && leads && isHeading(word):
			fmt.Fprintf(b, ".SH %s\n%s\n", roff(strings.ToUpper(word)), roff(rest))
			inList = false
		case indented && isTerm(line):
			term, meaning := columns(trimmed)
			fmt.Fprintf(b, ".TP\n.B %s\n", roff(term))
			if meaning != "" {
				b.WriteString(roff(meaning) + "\n")
			}
			inList = true
		case indented && inList:
			b.WriteString(roff(strings.Join(strings.Fields(trimmed), " ")) + "\n")
		default:
			b.WriteString(roff(trimmed) + "\n")
		}
	}
}

// isHeading: what stands before a colon at the beginning of a line is a section
// of manuals.
func isHeading(word string) bool {
	return slices.Contains([]string{"Signals", "Keys", "Exit codes", "Privileges", "Environment", "Files"}, word)
}

// isTerm: the line begins an entry of a list; those that only go on are indented
// deeper.
func isTerm(line string) bool {
	return len(line)-len(strings.TrimLeft(line, " ")) <= 6
}

// columns splits a line where two spaces or more are, into a term and its meaning.
func columns(line string) (term, meaning string) {
	term, meaning, _ = strings.Cut(line, "  ")
	return term, strings.Join(strings.Fields(meaning), " ")
}

// roff escapes text.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
