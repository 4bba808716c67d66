package dwarfline

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

// told is what addr2line says of one address: function and place, innermost
// first.
type told [][2]string

// addr2line asks binutils about all addresses at once.
func addr2line(t testing.TB, path string, pcs []addr.File) []told {
	t.Helper()
	var in bytes.Buffer
	for _, pc := range pcs {
		fmt.Fprintf(&in, "%#x\n", pc)
	}
	cmd := exec.Command("addr2line", "-a", "-f", "-i", "-e", path)
	cmd.Stdin = &in
	out, err := cmd.Output()
	require.NoError(t, err)
	answers := make([]told, 0, len(pcs))
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		if strings.HasPrefix(text, "0x") {
			answers = append(answers, nil)
			continue
		}
		require.True(t, lines.Scan())
		place, _, _ := strings.Cut(lines.Text(), " (discriminator")
		last := len(answers) - 1
		answers[last] = append(answers[last], [2]string{text, place})
	}
	require.Len(t, answers, len(pcs))
	return answers
}

// function is a function symbol.
type function struct{ start, size uint64 }

func functions(t testing.TB, path string) []function {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	syms, err := f.Symbols()
	require.NoError(t, err)
	var fs []function
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && s.Section != elf.SHN_UNDEF {
			fs = append(fs, function{s.Value, s.Size})
		}
	}
	slices.SortFunc(fs, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	return slices.CompactFunc(fs, func(a, b function) bool { return a.start == b.start })
}

// addresses spreads n addresses over the functions of a file.
func addresses(t testing.TB, path string, n int) []addr.File {
	t.Helper()
	fs := functions(t, path)
	total := uint64(0)
	for _, f := range fs {
		total += f.size
	}
	step := max(1, total/uint64(n))
	var pcs []addr.File
	at := uint64(0)
	for _, f := range fs {
		for ; at < f.size; at += step {
			pcs = append(pcs, addr.File(f.start+at))
		}
		at -= f.size
	}
	return pcs
}

// same compares an answer of ours with addr2line's.
func same(ours []Line, theirs told) string {
	if len(ours) == 0 {
		if len(theirs) == 1 && theirs[0][1] == "??:0" || theirs[0][1] == "??:?" {
			return "" // a name out of the symbol table at most
		}
		return "nothing"
	}
	if len(ours) != len(theirs) {
		return "depth"
	}
	for i, l := range ours {
		if name := cmp.Or(l.LinkageName, l.Name); name != theirs[i][0] {
			return "name"
		}
		line := "?"
		if l.Line != 0 {
			line = strconv.FormatInt(l.Line, 10)
		}
		if place := cmp.Or(l.File, "??") + ":" + line; place != theirs[i][1] && theirs[i][1] != "??:?" {
			return "place"
		}
	}
	return ""
}

// compare returns how many answers differ, by what differs.
func compare(t testing.TB, path string, pcs []addr.File) (differ map[string]int, inlined int) {
	t.Helper()
	d := openData(t, path)
	theirs := addr2line(t, path, pcs)
	differ = map[string]int{}
	for i, pc := range pcs {
		ours := lookup(t, d, pc)
		if len(ours) > 1 {
			inlined++
		}
		if why := same(ours, theirs[i]); why != "" {
			if differ[why]++; differ[why] <= 3 {
				t.Logf("%s at %#x: ours %+v\n theirs %v", why, pc, ours, theirs[i])
			}
		}
	}
	return differ, inlined
}
