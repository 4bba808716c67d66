package perfscript

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// frame is one call level as it is printed.
type frame struct {
	callgraph.Frame
	id int32
}

// inlinedModule stands where others have a file for calls that were inlined.
const inlinedModule = "inlined"

// frame reads a line such as
//
//	55d0c0001139 main+0x9 (/usr/sbin/nginx)
//
// Symbol and file are missing where -F leaves them out.
func (p *parser) frame(line string) (f frame, ok bool) {
	line = strings.TrimSpace(line)
	if f, ok := p.frames[line]; ok {
		return f, true
	}
	address, rest, _ := strings.Cut(line, " ")
	at, err := strconv.ParseUint(address, 16, 64)
	if err != nil {
		return frame{}, false
	}
	name, module := splitModule(strings.TrimSpace(rest))
	f.Frame = frameOf(at, name, module)
	f.id = p.first.Frame(f.Frame)
	p.frames[strings.Clone(line)] = f
	return f, true
}

// splitModule splits "operator()(int)+0x9 (/usr/lib/a (deleted))": the module is
// in the last parentheses that are not inside others.
func splitModule(text string) (name, module string) {
	if !strings.HasSuffix(text, ")") {
		return text, ""
	}
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			if i > 0 && text[i-1] != ' ' {
				return text, "" // the arguments of a function
			}
			return strings.TrimSpace(text[:i]), text[i+1 : len(text)-1]
		}
	}
	return text, ""
}

func frameOf(address uint64, name, module string) callgraph.Frame {
	module, offset, hasOffset := splitOffset(strings.TrimSuffix(module, " (deleted)"))
	if i := strings.LastIndex(name, "+0x"); i > 0 && isHex(name[i+3:]) {
		name = name[:i]
	}
	f := callgraph.Frame{Name: strings.Clone(name), Kind: callgraph.User, Module: strings.Clone(module)}
	if module == inlinedModule {
		f.Inlined, f.Module = true, ""
		return f
	}
	if module == callgraph.NameUnknown {
		f.Module = ""
	}
	// The kernel's half of the address space of x86-64 and arm64.
	kernel := callgraph.KindOf("", f.Module) == callgraph.Kernel || f.Module == "" && address>>63 == 1
	if name == "" || name == callgraph.NameUnknown {
		f.Name, f.Kind = unnamed(f.Module, offset, hasOffset, kernel), callgraph.Unknown
	} else {
		f.Kind = callgraph.KindOf("", f.Module)
	}
	if kernel {
		f.Kind = callgraph.Kernel
	}
	return f
}

// unnamed is the name of code without one. Addresses of a process say nothing
// without its mappings, so there is an offset only where perf printed it.
func unnamed(module string, offset uint64, hasOffset, kernel bool) string {
	if module == "" || kernel {
		return callgraph.NameUnknown
	}
	base := path.Base(module)
	if !strings.HasPrefix(base, "[") {
		base = "[" + base + "]"
	}
	if hasOffset {
		return fmt.Sprintf("%s+0x%x", base, offset)
	}
	return base
}

// splitOffset splits what -F dsoff prints: /usr/lib/libc.so.6+0x1234.
func splitOffset(module string) (file string, offset uint64, ok bool) {
	i := strings.LastIndex(module, "+0x")
	if i <= 0 {
		return module, 0, false
	}
	offset, err := strconv.ParseUint(module[i+3:], 16, 64)
	if err != nil {
		return module, 0, false
	}
	return module[:i], offset, true
}

func isHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }

// inlined gives inlined calls the module of the function that they are part of,
// which is the next towards the root that was not inlined.
func (p *parser) inlined() {
	module := ""
	for i := len(p.stack) - 1; i >= 0; i-- {
		f := &p.stack[i]
		if !f.Inlined {
			module = f.Module
			continue
		}
		f.Module, f.Kind = module, callgraph.KindOf("", module)
		f.id = p.first.Frame(f.Frame)
	}
}
