package pdatabuild

import (
	"strings"

	"github.com/flametel/flametel/receiver/internal/window"
)

// unreserved returns a function's name as a program gave it, in quotes if it is
// one that stands for something other than a function: [unknown], [truncated],
// [not kept: ...] or [module]+0xoffset. A program may call its functions as it
// likes, in a perf map for instance, but neither a reader nor a count must take
// them for missing ones.
func unreserved(name string) string {
	if !strings.HasPrefix(name, "[") {
		return name
	}
	if name == unknownName || name == window.TruncatedName || strings.HasPrefix(name, "[not kept") || strings.Contains(name, "]+0x") {
		return `"` + name + `"`
	}
	return name
}
