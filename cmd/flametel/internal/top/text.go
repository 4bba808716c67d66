package top

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// maxName is more than any terminal shows of a name; longer ones are cut before
// work is done on them.
const maxName = 1000

func escape(name string) string { return terminal.Clip(name, maxName) }

// minName is the least room for the name of a function.
const minName = 20

// shorten leaves out what says least of a name that is too long: the path of a
// Go package, as in github.com/flametel/flametel/exporter/svg.Write.
func shorten(name string, width int) string {
	if displaywidth.String(name) <= width {
		return name
	}
	end := strings.IndexAny(name, "([ ")
	if end < 0 {
		end = len(name)
	}
	return name[strings.LastIndexByte(name[:end], '/')+1:]
}

// percent is part of whole with one decimal; a part is never shown as nothing.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	share := 100 * float64(part) / float64(whole)
	if part > 0 && share < 0.05 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", share)
}

// clip cuts text to so many columns of a terminal.
func clip(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

// pad clips text to so many columns, or fills it up with spaces.
func pad(text string, width int, right bool) string {
	text = clip(text, width)
	space := strings.Repeat(" ", max(0, width-displaywidth.String(text)))
	if right {
		return space + text
	}
	return text + space
}
