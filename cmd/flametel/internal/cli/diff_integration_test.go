//go:build integration

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// comparedProgram spends its time in two functions, three to one or as it is told,
// and as much CPU time on every machine. A step needs the one before, in registers:
// how fast one copy of a loop over memory is beside another depends on the CPU.
// MORE makes another build of it, whose code stands elsewhere and is inlined
// otherwise.
const comparedProgram = `
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
static void turn(unsigned long n) {
	unsigned long x = sink | 1;
	for (unsigned long i = 0; i < n; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
	sink = x;
}
#ifdef MORE
__attribute__((noinline)) int before(int x) { for (int i = 0; i < x; i++) sink ^= i * 7; return (int)sink; }
#define INLINE __attribute__((always_inline)) inline
#else
#define INLINE __attribute__((noinline))
#endif
static INLINE void deeper(unsigned long n) { turn(n); sink++; }
__attribute__((noinline)) void parse(unsigned long n) { deeper(n); sink++; }
__attribute__((noinline)) void send_all(unsigned long n) { turn(n); sink++; }
int main(int argc, char **argv) {
	unsigned long share = argc > 1 ? strtoul(argv[1], 0, 10) : 3;
#ifdef MORE
	before(3);
#endif
	while (clock() < 3 * CLOCKS_PER_SEC) { parse(share * 100000); send_all(100000); }
	return 0;
}
`

func build(t *testing.T, dir, name string, flags ...string) string {
	t.Helper()
	source := filepath.Join(dir, "compared.c")
	require.NoError(t, os.WriteFile(source, []byte(comparedProgram), 0o600))
	path := filepath.Join(dir, name, "compared")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	args := append([]string{"-O1", "-g", "-fno-omit-frame-pointer", "-o", path, source}, flags...)
	out, err := exec.Command("gcc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// comparison is what flametel diff --json prints, as far as it is looked at.
type comparison struct {
	Functions []struct {
		Name  string
		Total struct {
			Before, After           int64
			BeforeShare, AfterShare float64
		}
	}
}

func recordAndCompare(t *testing.T, dir string, before, after []string) comparison {
	t.Helper()
	for file, command := range map[string][]string{"before.svg": before, "after.pb.gz": after} {
		p := flametel(t, realReceiver, append([]string{"record", "-q", "--user", "-F", "499", "-o", file, "--"}, command...)...)
		p.Dir = dir
		require.Equal(t, 0, p.run(), p.stderr.String())
	}
	p := flametel(t, realReceiver, "diff", "before.svg", "after.pb.gz", "--json", "--top", "10000")
	p.Dir = dir
	require.Equal(t, 0, p.run(), p.stderr.String())
	var c comparison
	require.NoError(t, json.Unmarshal([]byte(p.stdout.String()), &c))
	return c
}

// Two builds of one program, with and without symbols, are equal but for what the
// dynamic loader does: nothing of weight is new or gone.
func TestBuildsOfOneProgramMatch(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"with symbols": nil, "stripped": {"-s"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before := build(t, dir, "old", flags...)
			after := build(t, dir, "new", append([]string{"-DMORE", "-falign-functions=256"}, flags...)...)
			c := recordAndCompare(t, dir, []string{before}, []string{after})
			for _, f := range c.Functions {
				if f.Name == "deeper" || f.Name == "turn" {
					continue // what is inlined without debug information has no frame
				}
				if f.Total.Before == 0 || f.Total.After == 0 {
					assert.Less(t, f.Total.BeforeShare+f.Total.AfterShare, 0.02, "%+v", f)
				}
			}
		})
	}
}

// A function that does three times as much is what grew.
func TestComparisonFindsWhatGrew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := build(t, dir, "bin")
	c := recordAndCompare(t, dir, []string{program, "1"}, []string{program, "3"})
	shares := map[string][2]float64{}
	for _, f := range c.Functions {
		shares[f.Name] = [2]float64{f.Total.BeforeShare, f.Total.AfterShare}
	}
	part := func(i int) float64 { return shares["parse"][i] / (shares["parse"][i] + shares["send_all"][i]) }
	assert.InDelta(t, 0.50, part(0), 0.08)
	assert.InDelta(t, 0.75, part(1), 0.08)
	assert.Greater(t, shares["parse"][1], 0.1)
}
