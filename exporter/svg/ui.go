package svg

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// ui is what the script has to know beside the graph.
type ui struct {
	Flame    bool                   `json:"flame"` // the layout
	Unit     []step                 `json:"unit"`
	Seconds  float64                `json:"seconds"` // that a sample stands for, 0 if unknown
	Weight   int                    `json:"weight"`
	Kinds    []uiKind               `json:"kinds"` // by callgraph.Kind
	Marks    []mark                 `json:"marks"`
	Palette  []string               `json:"palette"`
	Legends  map[string][]colorStep `json:"legends"` // by way of colouring
	Texts    map[string]string      `json:"texts"`
	Keys     [][4]any               `json:"keys"`
	ByKey    map[string]string      `json:"byKey"` // actions
	Compared *uiCompared            `json:"compared"`
	About    string                 `json:"about"` // lines of provenance
	Colors   map[string]any         `json:"colors"`
	Outline  map[string]any         `json:"outline"` // of all frames, as attributes
	Geometry map[string]any         `json:"geometry"`
	Special  map[string]bool        `json:"special"` // names that are hatched
	Worker   string                 `json:"worker"`
}

// worker is a script that tests names apart from the page. It stands here for the
// same reason as the texts below.
const worker = `onmessage = e => {
	const [text, flags, names] = e.data, re = new RegExp(text, flags);
	postMessage(names.map(name => re.test(name)));
};`

type uiKind struct {
	Name   string   `json:"name"`
	Mark   string   `json:"mark"`
	Shades []string `json:"shades"`
}

// uiCompared is what makes a file a comparison.
type uiCompared struct {
	Labels     [2]string              `json:"labels"`
	Samples    [2]int64               `json:"samples"`
	Normalized bool                   `json:"normalized"`
	Noise      float64                `json:"noise"`
	Schemes    map[string]colorScheme `json:"schemes"`
}

func (d *drawing) ui() (string, error) {
	u := ui{
		ByKey: map[string]string{}, Flame: d.opts.Layout == Flame, Unit: d.unit.steps(), Seconds: secondsPerSample(d.Graph), Weight: d.opts.Weight,
		Marks: marks(), Palette: palette(), Legends: legends(), Texts: texts(), About: strings.Join(d.provenance(), "\n"), Worker: worker, Special: map[string]bool{
			callgraph.NameTruncated: true, callgraph.NameFull: true,
		},
		Colors: map[string]any{"small": colorSmall, "match": colorMatch, "other": colorOther, "group": colorGroup},
		Geometry: map[string]any{
			"pad": pad, "top": d.top(), "bottom": bottom + lineStep, // in a narrow window the foot takes two lines
			"legend": d.legendLine(), "hint": d.legendLine() + hintStep,
			"status": d.top() - framesStep, "step": rowStep, "size": rowSize, "char": charWidth,
			"labelPad": labelPad, "toolbar": toolbarWidth, "minWidth": minWidth, "maxElements": maxElements, "maxRows": maxRows,
		},
	}
	u.Texts["title"] = d.opts.Title
	for k := callgraph.Unknown; k <= callgraph.Thread; k++ {
		u.Kinds = append(u.Kinds, uiKind{kindName(k), markOf(k), shades(k)})
	}
	for _, k := range Keys() {
		if d.cmp == nil && strings.HasPrefix(k.Text, "comparison") {
			continue
		}
		u.Keys = append(u.Keys, [4]any{k.Action, k.Text, k.OnFrame, shownKeys.Replace(k.Keys)})
		for key := range strings.FieldsSeq(k.Keys) {
			u.ByKey[key] = k.Action
		}
	}
	if c := d.cmp; c != nil {
		u.Outline = map[string]any{"stroke": changeStroke, "stroke-width": 0.5}
		u.Compared = &uiCompared{
			Labels:  [2]string{display(c.Sides[0].Label), display(c.Sides[1].Label)},
			Samples: [2]int64{c.Sides[0].Samples, c.Sides[1].Samples}, Normalized: c.Normalized,
			Noise: noise, Schemes: schemes(),
		}
		u.Texts["self"], u.Texts["total"] = "Self before → after", "Total before → after"
		u.Texts["table"] = "What changed most"
	}
	b, err := json.Marshal(u)
	return string(b), err
}

// shownKeys writes names of keys as readers know them.
var shownKeys = strings.NewReplacer("C-", "Ctrl-", "Arrow", "")

// legends are those of the ways of colouring that are the same for all files.
func legends() map[string][]colorStep {
	out := map[string][]colorStep{"heat": heat()}
	for _, k := range append(legendKinds(), callgraph.Process) {
		out["kind"] = append(out["kind"], colorStep{Color: color(k), Text: kindName(k)})
	}
	for name, s := range schemes() {
		out[name] = s.steps()
	}
	return out
}

// kindName is a kind with its letter.
func kindName(k callgraph.Kind) string { return strings.TrimSpace(letter(k) + " " + k.String()) }

// texts are sentences that the script shows. They stand here and not there
// because they are packed in a file and the script is not.
func texts() map[string]string {
	return map[string]string{
		"hint":      "Click a frame to zoom in, press / to search, ? for all keys.",
		"search":    "Search names, or module:name",
		"how":       "A regular expression for functions; module:^libc\\. is one for the file names of modules, with a slash for their paths",
		"place":     " · outermost match ",
		"within":    " within ",
		"plain":     ": searched as plain text.",
		"slow":      "The expression takes too long here",
		"ofZoom":    " of the zoomed frame",
		"cpu":       " s of CPU time",
		"tooNarrow": " too narrow to draw",
		"longer":    " more characters",
		"back":      "), X takes back",
		"noise":     ", within noise",
		"about":     "About this recording",
		"keys":      "Keys and what they do",
		"bad":       "Not a regular expression (",
		"self":      "Self",
		"total":     "Total",
		"table":     "Functions",
		"previous":  "previous match",
		"next":      "next match",
		"case":      "match case",
		"narrower":  " frames narrower than ",
		"narrow":    "are not drawn one by one: click a pale bar to see them.",
		"callers":   " callers nearer to the root are not shown.",
		"deeper":    fmt.Sprintf(" frames beyond level %d are not drawn: zoom in to see them.", maxRows),
		"reverse":   "bottom-up: where samples ended, and from there the callers (r goes back)",
		"callersUp": ": callers above, callees below",
		"calleesUp": ": callees above, callers below",
		"escape":    " (Esc goes back)",
		"resets":    " of all) · Esc resets the zoom",
		"reset":     "Reset zoom",
		"shares":    " of all, self ",
		"copied":    "Copied: ",
		"pick":      "Point at a frame first, or go to one with the arrow keys.",
		"recursion": "recursion collapsed",
		"group1":    "threads merged",
		"group2":    "threads and processes merged",
		"elided":    "what is gone is hidden",
	}
}

// secondsPerSample is the time that a sample stands for: the period, where that
// is a time and samples are counted.
func secondsPerSample(g *callgraph.Graph) float64 {
	if g.SampleType.Unit != "count" || g.PeriodType.Unit != "nanoseconds" {
		return 0
	}
	return float64(max(0, g.Period)) / 1e9
}
