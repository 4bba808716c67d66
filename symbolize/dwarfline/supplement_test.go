package dwarfline

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// shared makes two programs that have most of their debug information in
// common, so that dwz moves it into a third file.
func shared(t testing.TB, flags string) string {
	t.Helper()
	var header strings.Builder
	header.WriteString("extern volatile long sink;\n")
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		name := "part_" + string(c)
		header.WriteString("struct " + name + " { long some_long_name; char another_long_name[8]; struct " + name + " *the_next_one; };\n")
		header.WriteString("static inline __attribute__((always_inline)) long work_" + string(c) + "(struct " + name + " *first_argument, long second_argument) {\n	sink = second_argument;\n	return first_argument->some_long_name + second_argument;\n}\n")
	}
	program := func(own string) string {
		return "#include \"shared.h\"\nvolatile long sink;\nstruct part_a first; struct part_z last;\n__attribute__((noinline)) long " + own + "(long x) {\n	return work_a(&first, x) + work_z(&last, x + 1);\n}\nvoid _start(void) { " + own + "(sink); }\n"
	}
	const link = " -O2 -nostdlib -static -Wl,--build-id=sha1 -o "
	return fixture.Build(t, map[string]string{"shared.h": header.String(), "one.c": program("one"), "two.c": program("two")},
		"gcc "+flags+link+"one one.c", "gcc "+flags+link+"two two.c", "dwz -m common one two")
}

func TestSupplementaryFile(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-gdwarf-4", "-gdwarf-5"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			dir := shared(t, flags)
			path := filepath.Join(dir, "one")
			f, r := openELF(t, path)
			name, id, ok := SupplementName(f)
			require.True(t, ok)
			assert.Equal(t, "common", filepath.Base(name))
			assert.NotEmpty(t, id)
			fn := symbol(t, path, "one")

			sf, sr := openELF(t, filepath.Join(dir, "common"))
			with, err := Open(f, r, Options{Supplement: sf, SupplementReader: sr})
			require.NoError(t, err)
			without, err := Open(f, r, Options{})
			require.NoError(t, err)
			_, err = Open(f, r, Options{Supplement: f, SupplementReader: r})
			assert.ErrorIs(t, err, ErrSupplement) // its build ID is another

			got := map[string]bool{}
			refused := 0
			for pc := addr.File(fn.start); pc < addr.File(fn.start+fn.size); pc++ {
				lines := lookup(t, with, pc)
				for i := range lines {
					got[lines[i].Name] = true
				}
				bare, err := without.Lookup(pc, nil)
				if err != nil {
					refused++
					assert.ErrorIs(t, err, ErrSupplement)
					assert.Empty(t, bare)
					continue
				}
				for i := range bare { // without it there are fewer answers, never others
					assert.Equal(t, lines[i], bare[i])
				}
				assert.Len(t, bare, len(lines))
			}
			assert.Equal(t, map[string]bool{"one": true, "work_a": true, "work_z": true}, got)
			assert.Positive(t, refused)
		})
	}
}
