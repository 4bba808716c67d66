package top

import (
	"regexp"
	"strings"
	"unicode"
)

// view is what the user chose to see. It knows nothing of terminals.
type view struct {
	choice
	input     string // the filter as it is typed
	typing    bool
	inputErr  string // why the filter is no expression
	selected  int    // line of the table
	top       int    // first line on the screen
	paused    bool
	help      bool
	status    string // what happened last
	statusBad bool
}

// request is what the program has to do for the user.
type request int

const (
	nothing request = iota
	quit
	save // write a flame graph
	freeze
)

// action is a key with its meaning; help and footer are made of the list.
type action struct {
	keys  []string // names as tcell gives them, lower case but for letters
	shown string
	word  string // for the footer, "" if it is not there
	text  string
	do    func(v *view, t *table) request
}

// actions is the one list of keys.
func actions() []action {
	return []action{
		{[]string{"q", "ctrl-c"}, "q, Ctrl-C", "quit", "leave", func(*view, *table) request { return quit }},
		{[]string{"s"}, "s", "self", "sort by self time: where samples ended", func(v *view, _ *table) request { v.sort = bySelf; return nothing }},
		{[]string{"t"}, "t", "total", "sort by total time: what called, too", func(v *view, _ *table) request { v.sort = byTotal; return nothing }},
		{[]string{"v", "tab"}, "v, Tab", "view", "functions, modules, processes in turn", (*view).nextLevel},
		{[]string{"/"}, "/", "filter", "show only lines whose function, module or process matches an expression", (*view).startTyping},
		{[]string{"enter"}, "Enter", "zoom", "show only the process of the selected line", (*view).zoomIn},
		{[]string{"esc", "backspace", "backspace2"}, "Esc", "back", "all processes again; then without the filter", (*view).back},
		{[]string{" ", "p"}, "Space, p", "pause", "hold the table, or go on", func(v *view, _ *table) request { v.paused = !v.paused; return freeze }},
		{[]string{"w"}, "w", "write SVG", "write a flame graph of the last minute", func(*view, *table) request { return save }},
		{[]string{"?", "h"}, "?, h", "help", "show or hide this list", func(v *view, _ *table) request { v.help = !v.help; return nothing }},
		{[]string{"up", "k"}, "Up, k", "", "the line above", func(v *view, t *table) request { return v.move(t, -1) }},
		{[]string{"down", "j"}, "Down, j", "", "the line below", func(v *view, t *table) request { return v.move(t, 1) }},
		{[]string{"pgup"}, "PgUp", "", "a page up", func(v *view, t *table) request { return v.move(t, -page) }},
		{[]string{"pgdn"}, "PgDn", "", "a page down", func(v *view, t *table) request { return v.move(t, page) }},
		{[]string{"home", "g"}, "Home, g", "", "the first line", func(v *view, t *table) request { return v.move(t, -len(t.rows)) }},
		{[]string{"end", "G"}, "End, G", "", "the last line", func(v *view, t *table) request { return v.move(t, len(t.rows)) }},
	}
}

const page = 10

// press takes a key: a letter as it is, another key by its name in lower case.
func (v *view) press(name string, t *table) request {
	if v.typing {
		v.typeKey(name)
		return nothing
	}
	if v.help && name == "esc" {
		v.help = false
		return nothing
	}
	for _, a := range actions() {
		for _, k := range a.keys {
			if k == name {
				v.status = ""
				return a.do(v, t)
			}
		}
	}
	return nothing
}

func (v *view) nextLevel(*table) request {
	v.level = (v.level + 1) % levels
	v.selected, v.top = 0, 0
	return nothing
}

func (v *view) startTyping(*table) request {
	v.typing = true
	return nothing
}

func (v *view) zoomIn(t *table) request {
	if v.selected >= len(t.rows) {
		return nothing
	}
	k := t.rows[v.selected].key
	v.zoom = &key{pid: k.pid, process: k.process}
	if v.level == processes {
		v.level = functions
	}
	v.selected, v.top = 0, 0
	return nothing
}

func (v *view) back(*table) request {
	switch {
	case v.zoom != nil:
		v.zoom = nil
	case v.input != "":
		v.setFilter("")
	}
	v.selected, v.top = 0, 0
	return nothing
}

func (v *view) move(t *table, by int) request {
	v.selected = max(0, min(v.selected+by, len(t.rows)-1))
	return nothing
}

// maxInput bounds a filter, in bytes.
const maxInput = 200

// typeKey takes a key while a filter is typed; the table follows at once.
func (v *view) typeKey(name string) {
	switch name {
	case "enter":
		v.typing = false
		if v.inputErr != "" {
			v.setFilter("")
		}
	case "esc", "ctrl-c":
		v.typing = false
		v.setFilter("")
	case "backspace", "backspace2":
		letters := []rune(v.input)
		v.setFilter(string(letters[:max(0, len(letters)-1)]))
	case "ctrl-u":
		v.setFilter("")
	default:
		if letters := []rune(name); len(letters) == 1 && unicode.IsPrint(letters[0]) && len(v.input) < maxInput {
			v.setFilter(v.input + name)
		}
	}
}

// setFilter compiles a filter. Capitals count only if there is one. As long as
// the text is no expression, the last one that was stays.
func (v *view) setFilter(text string) {
	v.input, v.inputErr = text, ""
	v.selected, v.top = 0, 0
	if text == "" {
		v.filter = nil
		return
	}
	expression := text
	if strings.ToLower(text) == text {
		expression = "(?i)" + text
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		v.inputErr = strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return
	}
	v.filter = re
}

// say shows what happened.
func (v *view) say(bad bool, text string) { v.status, v.statusBad = text, bad }
