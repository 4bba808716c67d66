package svg

import (
	"fmt"
	"strconv"
	"sync"
	"unicode/utf16"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Colours of kinds. Any two of the four kinds of code, in any of their shades,
// stay apart for readers with protanopia, deuteranopia and tritanopia (CIE76
// distance of 25 and more by the matrices of Machado et al. 2009), and the text
// on each has a contrast above 4.5:1. They are the same on a dark page.
// Groupings are nearly white: colour means code.
func color(k callgraph.Kind) string {
	switch k {
	case callgraph.Kernel:
		return "#F5A142"
	case callgraph.User:
		return "#8BBDEE"
	case callgraph.JIT:
		return "#B65EE8"
	case callgraph.Process, callgraph.Thread:
		return colorGroup
	}
	return "#C9C9C9"
}

// Other colours of frames.
const (
	colorGroup = "#E4E9F0"
	colorSmall = "#F1F3F5" // of a bar of frames too narrow to draw
	colorMatch = "#FFE14D" // of what a search found
	colorText  = "#101418" // of labels
)

// shadeCount is the number of shades of a kind. By them neighbours are told
// apart; which one a function gets depends on its name.
const shadeCount = 4

// shades returns the colours that frames of a kind can have.
func shades(k callgraph.Kind) []string { return allShades()[k] }

// allShades are made once, as each frame drawn needs those of its kind.
var allShades = sync.OnceValue(func() (all [callgraph.Thread + 1][]string) {
	for k := range all {
		all[k] = mix(callgraph.Kind(k))
	}
	return all
})

// mix returns the colour of a kind, and that mixed with white in steps of 3 %.
// That of JIT is mixed with black in steps of 2 %: lighter, readers with
// deuteranopia take it for user code.
func mix(k callgraph.Kind) []string {
	base := color(k)
	if !k.IsCode() {
		return []string{base, base, base, base}
	}
	var out []string
	for i := range shadeCount {
		mixed := "#"
		for c := range 3 {
			v, _ := strconv.ParseUint(base[1+2*c:3+2*c], 16, 8)
			if k == callgraph.JIT {
				mixed += fmt.Sprintf("%02X", int(v)-int(v)*2*i/100)
			} else {
				mixed += fmt.Sprintf("%02X", int(v)+(255-int(v))*3*i/100)
			}
		}
		out = append(out, mixed)
	}
	return out
}

// shadeOf picks the shade of a name. It hashes UTF-16, as that is what strings
// in the script are made of.
func shadeOf(name string) int {
	var h int32
	for _, unit := range utf16.Encode([]rune(name)) {
		h = h*31 + int32(unit)
	}
	return int(uint32(h) % shadeCount)
}

// legendKinds are the kinds in the order of the legend.
func legendKinds() []callgraph.Kind {
	return []callgraph.Kind{callgraph.User, callgraph.Kernel, callgraph.JIT, callgraph.Unknown}
}

// letters mark kinds without colour, in the legend and in tooltips.
func letter(k callgraph.Kind) string {
	switch k {
	case callgraph.Kernel:
		return "K"
	case callgraph.User:
		return "U"
	case callgraph.JIT:
		return "J"
	case callgraph.Unknown:
		return "?"
	}
	return ""
}

// A mark tells something about frames without colour: a line of a pattern along
// an edge, or across the whole frame. All marks of one sort are one path.
type mark struct {
	// Name is its key; Dash, Width and Stroke are attributes of the path.
	Name   string  `json:"name"`
	Dash   string  `json:"dash"`
	Width  float64 `json:"width"`
	Stroke string  `json:"stroke"`
	// X and Y are where it begins on a frame. In Path, the commands from there on,
	// W stands for the width of the frame less Less.
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Path string  `json:"path"`
	Less float64 `json:"less"`
}

// marks are in the order in which they are drawn.
var marks = sync.OnceValue(func() []mark {
	down := fmt.Sprintf("v%d", rowSize)
	return []mark{
		{"kernel", "", 2, "#7A4A00", 1, 0, down, 0},                      // along the left edge
		{"JIT", "4 2", 2, "#3F0D63", 1, 0, down, 0},                      // likewise
		{"unknown", "1.5 2.5", 2, "#4A4A4A", 1, 0, down, 0},              // likewise
		{"inlined", "3 3", 1, colorText, 2, rowSize - 0.5, "hW", 4},      // along the lower edge
		{"hatched", "1.5 4.5", 15, "#00000055", 0, rowSize / 2, "hW", 0}, // across
		// Around, at the very edge, where it leaves the descent of the label alone.
		{"new", "", 1, "#7A0000", 0.5, 0.5, fmt.Sprintf("hWv%dh-Wz", rowSize-1), 1},
	}
})

// markOf is the mark of a kind along its left edge; user code has none.
func markOf(k callgraph.Kind) string {
	switch k {
	case callgraph.Kernel, callgraph.JIT, callgraph.Unknown:
		return k.String()
	}
	return ""
}

// palette are the colours of modules, of the ten with the largest share; the
// rest is grey.
func palette() []string {
	return []string{
		"#8BBDEE", "#F5A142", "#7FCB8B", "#D79BE8", "#E8D14A",
		"#F2938C", "#6FD0CB", "#B8A88F", "#A9B4F5", "#C3D977",
	}
}

const colorOther = "#D3D6DA" // of modules beyond the palette

// A step is a colour for what is at least a threshold.
type colorStep struct {
	Min   float64 `json:"min"`
	Color string  `json:"color"`
	Text  string  `json:"text"`
}

// heat are the colours by the share of a function's own weight in all.
func heat() []colorStep {
	return []colorStep{
		{0.1, "#F0643C", "self 10% and more"},
		{0.03, "#F58F55", "3 to 10%"},
		{0.01, "#FABA80", "1 to 3%"},
		{0.002, "#FBDDBB", "0.2 to 1%"},
		{0, "#EEF0F2", "less"},
	}
}
