package svg

// Key is something that the page does, and the key for it.
type Key struct {
	// Keys are names of KeyboardEvent.key, separated by spaces. "C-" stands for
	// the control or command key.
	Keys string
	// Action is its name in the script.
	Action string
	// Text says what it does.
	Text string
	// OnFrame: it acts on the frame under the pointer or with the focus, and
	// stands in the menu of frames.
	OnFrame bool
}

// Keys is the one list of keys: the help in the page is made from it, the script
// looks keys up in it, and the table in the documentation is compared with it.
func Keys() []Key {
	return []Key{
		{"/ F3 C-f", "search", "search functions by regular expression; module:x searches modules by file name", false},
		{"n", "next", "next match, the heaviest first", false},
		{"N", "previous", "previous match", false},
		{"i", "info", "about this recording; while searching: match case or not", false},
		{"Escape", "escape", "close what is open, then the search, then the zoom, then the sandwich", false},
		{"0", "reset", "reset the zoom", false},
		{"Backspace", "back", "back to the previous zoom, as the browser's back button", false},
		{"ArrowUp ArrowDown ArrowLeft ArrowRight", "move", "move the focus from frame to frame", false},
		{"Enter", "zoom", "zoom into the frame", true},
		{"c", "copyName", "copy the function's name", true},
		{"C", "copyStack", "copy the stack with its figures", true},
		{"s", "sandwich", "sandwich: all callers and callees of the function", true},
		{"x", "exclude", "leave out all stacks through the function, process or thread", true},
		{"X", "include", "take back what was left out", false},
		{"t", "table", "table of functions, then of modules", false},
		{"v", "invert", "turn upside down: flame or icicle", false},
		{"r", "reverse", "bottom-up: start from where samples ended", false},
		{"R", "recursion", "collapse functions that call themselves", false},
		{"g", "group", "merge threads, then processes, then none", false},
		{"k", "color", "colour by kind, module or self share; of comparisons also by change", false},
		{"d", "dark", "dark, light or as the system is", false},
		{"e", "elided", "comparison: show or hide what is gone", false},
		{"w", "swap", "comparison: swap before and after", false},
		{"? h", "help", "this list", false},
	}
}
