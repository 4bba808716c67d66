//go:build linux

package main

import (
	"bufio"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// debugFiles is where distributions put the symbols that they strip.
const debugFiles = "/usr/lib/debug/.build-id"

// aliases knows which names of a module are of one address: which of them a
// profiler shows is its choice and no difference.
type aliases struct {
	files map[string]map[string]string // by path of the module
}

// canonical returns the first in the alphabet of the names that a function of a
// module has. Names that the module does not have stay as they are, but that of
// a function without a name, [module]+0xstart, is unknown as in perf.
func (a *aliases) canonical(module, function string) string {
	if strings.HasPrefix(function, "[") && strings.Contains(function, "]+0x") {
		return unknown
	}
	names, ok := a.files[module]
	if !ok {
		names = readAliases(module)
		if a.files == nil {
			a.files = map[string]map[string]string{}
		}
		a.files[module] = names
	}
	if first, ok := names[function]; ok {
		return first
	}
	return function
}

// readAliases returns nil for what is no readable file: code of a JIT compiler
// has one name.
func readAliases(module string) map[string]string {
	byAddress := map[uint64][]string{}
	if strings.HasPrefix(module, "[") {
		addKernel(byAddress)
	} else if id := addFile(byAddress, module); len(id) > 2 {
		addFile(byAddress, fmt.Sprintf("%s/%s/%s.debug", debugFiles, id[:2], id[2:]))
	}
	return group(byAddress)
}

func group(byAddress map[uint64][]string) map[string]string {
	names := map[string]string{}
	for _, same := range byAddress {
		first := same[0]
		for _, name := range same {
			first = min(first, name)
		}
		for _, name := range same {
			// A local name may occur at several addresses and then says nothing
			// about any of them.
			if old, ok := names[name]; ok && old != first {
				names[name] = name
				continue
			}
			names[name] = first
		}
	}
	return names
}

// addFile adds the functions of an ELF file and returns its build ID in
// hexadecimal digits.
func addFile(byAddress map[uint64][]string, path string) (buildID string) {
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	for _, read := range []func() ([]elf.Symbol, error){file.Symbols, file.DynamicSymbols} {
		symbols, err := read()
		if err != nil {
			continue // it has no such table
		}
		for _, s := range symbols {
			kind := elf.ST_TYPE(s.Info)
			if s.Section != elf.SHN_UNDEF && (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC || kind == elf.STT_NOTYPE) {
				byAddress[s.Value] = append(byAddress[s.Value], s.Name)
			}
		}
	}
	const header = 16 // of the note, with its name "GNU\0"
	if note := file.Section(".note.gnu.build-id"); note != nil {
		if data, err := note.Data(); err == nil && len(data) > header {
			return hex.EncodeToString(data[header:])
		}
	}
	return ""
}

// addKernel adds the functions of the kernel and its modules.
func addKernel(byAddress map[uint64][]string) {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var address uint64
		var kind, name string
		if n, _ := fmt.Sscanf(lines.Text(), "%x %s %s", &address, &kind, &name); n == 3 && strings.EqualFold(kind, "t") {
			byAddress[address] = append(byAddress[address], name)
		}
	}
}
