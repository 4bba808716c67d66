package svg

import "strings"

// Colours of text on the light page. The style sheet finds elements by them.
const (
	ink      = "#1b1f24"
	inkSoft  = "#3a424c"
	inkFaint = "#5c6570"
	inkWarn  = "#a33a00"
	inkLink  = "#0b57a4"
)

// darkRules turn the light page into a dark one. R stands for the selector of
// the svg element. Frames keep their colours: their text is dark on both. Text is
// drawn with fill; color is what tools that check contrast go by.
const darkRules = `R{fill:#e6edf3;color:#e6edf3;background:#14181d;color-scheme:dark}
R>[data-ft=page]{fill:#14181d}
R [fill="#1b1f24"]{fill:#e6edf3}
R [fill="#3a424c"]{fill:#b9c4cf}
R [fill="#5c6570"]{fill:#98a4b0}
R [fill="#a33a00"]{fill:#ff9d66}
R [data-ft=problem]{fill:#ff9d66}
R [data-ft=crumb]{fill:#7cc0ff}
R [stroke="#fff"]{stroke:#14181d}
R [opacity="0.6"]{opacity:.8}
R [fill="#E4E9F0"]{fill:#9AA7B8}
R [fill="#F1F3F5"]{fill:#77828F}
R [fill="#FBFBF8"]{fill:#BFC6CD}
R [fill="#EEF0F2"]{fill:#A8B0B9}
R [data-ft=ui] *{--page:#1d232a;--ink:#e6edf3;--line:#46515d;--soft:#2a323b;--link:#7cc0ff}
`

// lightRules are for what the script adds, which is HTML, and for printers and
// for readers who choose their own colours. Nothing that is drawn without the
// script depends on them. What the script moves when the window scrolls is no
// anchor of scrolling: browsers would hold on to it and scroll further.
const lightRules = `R:not(:root){overflow:visible}
R [data-ft=ui] *{--page:#fff;--ink:#1b1f24;--line:#8a94a0;--soft:#eef1f4;--link:#0b57a4;box-sizing:border-box}
R [data-ft=ui]{overflow:visible;overflow-anchor:none}
R [data-ft=frames] text,R [data-ft=frames]>path,R [data-ft=tip]{pointer-events:none}
R [data-ft=frames]>path{fill:none}
R [role=tree],R [data-ft=crumb]{cursor:pointer}
R [data-ft=crumb]{fill:` + inkLink + `}
R [data-ft=matched],R [data-ft=problem]{font-weight:600}
R [data-ft=matched]{font-size:13px}
R [data-ft=problem]{fill:` + inkWarn + `;text-anchor:end}
R [data-ft=tip]{font-family:` + monospace + `}
R [data-ft=tip] rect{fill:#20262d;stroke:#667}
R [data-ft=tip] text{fill:#f4f6f8;white-space:pre}
R [data-ft=tip] rect+text{font-weight:700}
R .ft{font:13px system-ui,sans-serif;color:var(--ink)}
R .ft button,R .ft input{font:inherit;height:26px;color:var(--ink);background:var(--page);border:1px solid var(--line);border-radius:5px;padding:0 8px;vertical-align:top}
R .ft button{cursor:pointer}
R .ft button[aria-pressed=true]{background:var(--soft);border-color:var(--link)}
R .ft input{font-family:monospace;width:250px}
R .ft input[aria-invalid=true]{text-decoration:underline wavy #c62f2f;border-color:#c62f2f}
R .bar{display:flex;gap:6px;justify-content:flex-end}
R .bar button{flex:none}
R .bar input{min-width:60px}
R .panel{background:var(--page);border:1px solid var(--line);border-radius:8px;padding:12px 16px;max-height:100%;overflow:auto;box-shadow:0 4px 18px #0006}
R .panel>button{float:right}
R .panel h2{font-size:16px;margin:0 0 8px}
R .panel table{border-collapse:collapse;width:100%}
R .panel th{text-align:left;font-weight:600}
R .panel td,R .panel th{padding:2px 8px 2px 0;vertical-align:top}
R .panel td.n,R .panel th.n{text-align:right;white-space:nowrap}
R .panel .f{font-family:monospace;overflow-wrap:anywhere}
R .panel td button{height:auto;border:0;padding:1px 0;background:none;color:var(--link);text-align:left}
R .panel kbd{font-family:monospace;white-space:nowrap}
R .panel pre{white-space:pre-wrap;overflow-wrap:anywhere;user-select:text;margin:0}
R rect[data-subject]{stroke:#000;stroke-width:2.5}
R [role=treeitem]:focus{outline:none;stroke:#000;stroke-width:2.5}
@media print{R [data-ft=ui],R [data-ft=tip]{display:none}
R{background:#fff;fill:#000}
R>[data-ft=page]{fill:#fff}
R [data-ft=frames] rect,R [data-ft=frames] g path{fill:#fff;stroke:#000;stroke-width:.5;opacity:1}
R [data-ft=frames] [fill="` + colorMatch + `"],R [data-ft=frames] [data-subject]{stroke-width:2.5}
R text{fill:#000}}
@media (forced-colors:active){R{forced-color-adjust:none;fill:CanvasText;background:Canvas}
R>[data-ft=page]{fill:Canvas}
R [data-ft=frames] rect,R [data-ft=frames] g path{fill:Canvas;stroke:CanvasText;stroke-width:1}
R [data-ft=frames] [fill="` + colorMatch + `"]{fill:Canvas;stroke:Highlight;stroke-width:3}
R [data-ft=frames] [data-subject]{stroke-width:3}
R [data-ft=frames]>path{stroke:CanvasText}
R [data-ft=tip] rect{fill:Canvas;stroke:CanvasText}
R text{fill:CanvasText;stroke:none}
R [data-ft=ui] *{--page:Canvas;--ink:CanvasText;--line:CanvasText;--soft:Canvas;--link:LinkText}}
@media (prefers-reduced-motion:reduce){R{scroll-behavior:auto}}
`

// style is the style sheet of the file. All rules are for our own elements only,
// so that it may stand in a page, and nothing in it loads anything. A page with
// scripts sets data-theme to what its reader chose.
func style() string {
	const root = "svg[data-ft=root]"
	rules := func(text, selector string) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			line = strings.TrimPrefix(line, "R")
			if line != lines[i] {
				line = selector + line
			}
			for _, before := range []string{"{", ",", ";"} {
				line = strings.ReplaceAll(line, before+"R{", before+selector+"{")
				line = strings.ReplaceAll(line, before+"R ", before+selector+" ")
				line = strings.ReplaceAll(line, before+"R>", before+selector+">")
			}
			lines[i] = line
		}
		return strings.Join(lines, "\n")
	}
	// Before print and forced colours, which win over the theme.
	light, media, _ := strings.Cut(lightRules, "@media")
	return rules(light, root) +
		rules(darkRules, root+"[data-theme=dark]") +
		"@media (prefers-color-scheme:dark){\n" + rules(darkRules, root+":not([data-theme=light])") + "}\n" +
		rules("@media"+media, root+strings.Repeat("[data-ft=root]", 2))
}
