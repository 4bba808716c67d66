package symbols

import (
	"cmp"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/symbolize"
)

// verdict says in one sentence what of a file has names, "" if there is a reason
// why nothing has.
func verdict(d *symbolize.Description, inlines bool) string {
	n := &d.Names
	switch {
	case d.Reason != symbolize.ReasonNone:
		return ""
	case n.GoFunctions > 0:
		return "all " + figures.Counted(int64(n.GoFunctions), "function", "functions") + " of Go have names, files and lines"
	case n.Full && n.Debug:
		return "its functions have names, and inlined calls and lines are known"
	case n.Full && inlines:
		return "its functions have names; inlined calls and lines are not known without debug information"
	case n.Full:
		return "its functions have names"
	case n.Named == 0 && n.Functions == 0:
		return "stripped: nothing has a name; " + remedy(d) + " names it"
	case n.Named == 0:
		return "stripped: none of " + figures.Counted(int64(n.Functions), "function", "functions") + " has a name; " + remedy(d) + " names them"
	case n.Named < n.Functions:
		return "stripped: " + figures.Grouped(int64(n.Named)) + " of " + figures.Counted(int64(n.Functions), "function", "functions") +
			" have names, from .dynsym; " + remedy(d) + " names the rest"
	}
	return "stripped: what other files may call has a name, from .dynsym; " + remedy(d) + " names the rest"
}

// remedy is where names of a stripped file come from.
func remedy(d *symbolize.Description) string {
	id := cmp.Or(d.GNUBuildID, d.GoBuildID)
	if id == "" {
		return "a build that keeps its symbol table"
	}
	return "its debug package (build ID " + id + ")"
}
