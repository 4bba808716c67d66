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

	"github.com/stretchr/testify/assert"
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
type function struct {
	start, size uint64
	name        string
}

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
			fs = append(fs, function{s.Value, s.Size, s.Name})
		}
	}
	slices.SortFunc(fs, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	return fs
}

// addresses spreads n addresses over the functions of a file.
func addresses(t testing.TB, path string, n int) []addr.File {
	t.Helper()
	fs := slices.CompactFunc(functions(t, path), func(a, b function) bool { return a.start == b.start })
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

// llvmSymbolizer asks LLVM, which knows some forms that binutils do not.
func llvmSymbolizer(t testing.TB, path string, pcs []addr.File) []told {
	t.Helper()
	var in bytes.Buffer
	for _, pc := range pcs {
		fmt.Fprintf(&in, "%#x\n", pc)
	}
	cmd := exec.Command("llvm-symbolizer-14", "--obj="+path, "--no-demangle", "--functions=linkage", "--inlines")
	cmd.Stdin = &in
	out, err := cmd.Output()
	require.NoError(t, err)
	answers := make([]told, 0, len(pcs))
	for block := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n\n") {
		var a told
		lines := strings.Split(block, "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			place := lines[i+1][:strings.LastIndexByte(lines[i+1], ':')] // without the column
			a = append(a, [2]string{lines[i], place})
		}
		answers = append(answers, a)
	}
	require.Len(t, answers, len(pcs))
	return answers
}

// verdict says how an answer of ours and one of an oracle differ.
type verdict string

const (
	agrees  verdict = "agrees"
	nothing verdict = "we have no answer"
	depth   verdict = "depth"
	names   verdict = "name"
	places  verdict = "place"
	// For an entry without a linkage name binutils print the symbol that the
	// machine code has, even if the entry is that of an inlined function.
	symbolName verdict = "explained: the symbol instead of the name"
)

// judge compares two answers; symbols has the names of the machine code.
func judge(ours []Line, theirs told, symbols []string) verdict {
	if len(ours) == 0 {
		if len(theirs) == 1 && (strings.HasPrefix(theirs[0][1], "??:") || strings.HasSuffix(theirs[0][1], ":?")) {
			return agrees // a name out of the symbol table at most
		}
		return nothing
	}
	if len(ours) != len(theirs) {
		return depth
	}
	v := agrees
	for i, l := range ours {
		line := "0"
		if l.Line != 0 {
			line = strconv.FormatInt(l.Line, 10)
		}
		place := cmp.Or(l.File, "??") + ":" + line
		if strings.TrimSuffix(strings.Replace(theirs[i][1], ":?", ":0", 1), "??:0") != place && !strings.HasPrefix(theirs[i][1], "??:") {
			return places
		}
		name := cmp.Or(l.LinkageName, l.Name)
		switch {
		case name == theirs[i][0]:
		case l.LinkageName == "" && slices.Contains(symbols, theirs[i][0]):
			v = symbolName
		default:
			return names
		}
	}
	return v
}

// requireAgreement compares the answers for n addresses with an oracle's.
func requireAgreement(t *testing.T, path string, n int, oracle func(testing.TB, string, []addr.File) []told) {
	t.Helper()
	d := openData(t, path)
	pcs := addresses(t, path, n)
	theirs := oracle(t, path, pcs)
	fs := functions(t, path)
	count := map[verdict]int{}
	inlined := 0
	for i, pc := range pcs {
		ours := lookup(t, d, pc)
		if len(ours) > 1 {
			inlined++
		}
		var symbols []string
		for _, f := range fs {
			if uint64(pc)-f.start < f.size {
				symbols = append(symbols, f.name)
			}
		}
		v := judge(ours, theirs[i], symbols)
		if count[v]++; v != agrees && v != symbolName && count[v] <= 3 {
			t.Logf("%s at %#x: ours %+v\n theirs %v", v, pc, ours, theirs[i])
		}
	}
	good := count[agrees] + count[symbolName]
	t.Logf("%d addresses, %d in inlined calls: %v", len(pcs), inlined, count)
	assert.GreaterOrEqual(t, len(pcs), n)
	assert.Greater(t, inlined, n/5)
	assert.GreaterOrEqual(t, float64(good), 0.995*float64(len(pcs)))
}
