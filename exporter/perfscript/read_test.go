package perfscript_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/perfscript"
)

func read(t testing.TB, text string) *perfscript.Result {
	t.Helper()
	res, err := perfscript.Read(strings.NewReader(text))
	require.NoError(t, err)
	return res
}

func foldedText(t testing.TB, g *callgraph.Graph) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, folded.Write(&b, g, folded.Options{}))
	return b.String()
}

const chains = `# ========
# captured on    : Mon Nov 30 13:00:00 2026
#
nginx: worker 1234/1235 [001] 1234.500000:   10101010 cpu-clock:pppH: 
	ffffffff81234567 ksys_read+0x7 ([kernel.kallsyms])
	ffffffffc0001234 ext4_read+0x1 ([ext4])
	    7f1234567890 [unknown] (/usr/lib/libc.so.6)
	    7f1234567891 [unknown] (/usr/lib/libz.so.1+0x1891)
	    55d0c0001139 std::sort<int>(int*)+0x9 (inlined)
	    55d0c0001139 operator()(int) const+0x19 (/usr/sbin/nginx (deleted))
	    55d0c0001200 main (/usr/sbin/my prog)

nginx: worker 1234/1236 [000] 1235.500000:   10101010 cpu-clock:pppH: 
	    55d0c0001200 main (/usr/sbin/my prog)
  nginx.c:12
	    7ffd00000010 __vdso_gettime+0x3 ([vdso])

java  77 [000]  1236.000000:          1 sched:sched_switch: prev_comm=java prev_pid=77
	        7f00aaaa Lcom/x;::run+0x10 (/tmp/perf-77.map)
	ffffffffa0000000 [unknown] ([unknown])
	           10000 [unknown] ([unknown])

`

func TestReadCallChains(t *testing.T) {
	require.True(t, perfscript.Is(chains))
	res := read(t, chains)
	assert.Zero(t, res.BadLines)
	require.Len(t, res.Graphs, 2)
	cpu, sched := res.Graphs[0], res.Graphs[1]
	assert.Equal(t, strings.Join([]string{
		"nginx: worker;__vdso_gettime;main 1",
		"nginx: worker;main;operator()(int) const;std::sort<int>(int*)_[i];[libz.so.1]+0x1891;[libc.so.6];ext4_read_[k];ksys_read_[k] 1", "",
	}, "\n"), foldedText(t, cpu))
	assert.Equal(t, "java;[unknown];[unknown]_[k];Lcom/x:::run_[j] 1\n", foldedText(t, sched))
	assert.Equal(t, "cpu", cpu.Name())
	assert.Equal(t, int64(10101010), cpu.Period)
	assert.Equal(t, time.Second, cpu.Meta.Duration)
	assert.Equal(t, "sched:sched_switch", sched.Name())
	for _, f := range cpu.Frames {
		switch f.Name {
		case "std::sort<int>(int*)":
			assert.Equal(t, "/usr/sbin/nginx", f.Module)
		case "main":
			assert.Equal(t, "/usr/sbin/my prog", f.Module)
		}
	}
}

func TestReadOneLineSamples(t *testing.T) {
	const text = `         my prog 16157 11984.086873:    5025125 cpu-clock:      55ea7668c21b work+0x1b (/tmp/my prog)
            cafe 16157 11984.099339:    5025125 cpu-clock:      55ea7668c222 work+0x22 (/tmp/my prog)
`
	require.True(t, perfscript.Is(text))
	res := read(t, text)
	assert.Zero(t, res.BadLines)
	assert.Equal(t, "cafe;work 1\nmy prog;work 1\n", foldedText(t, res.Graphs[0]))
}

func TestHeaders(t *testing.T) {
	for _, tt := range []struct{ line, comm, event string }{
		{"swapper     0 [000] 12.345678:   1000 cycles:u: ", "swapper", "cycles"},
		{"my prog 16157 11984.086873: cpu-clock: ", "my prog", "cpu"},
		{"a 1 b 2 12/13 [7] 1.5: 7 r1a8:ppp:", "a", "r1a8"},
		{"x 5/6 cycles:", "x", "cycles"},
		{"perf-exec 5/6 [002] d..2.  1.5: 7 sched:sched_wakeup: comm=x pid=5", "perf-exec", "sched:sched_wakeup"},
		{":-1    -1 [000] 1.5: 1 cycles:HG:", ":-1", "cycles"},
		{"kworker/u8:3-ev 5 [000] 1.5: 1 cpu_core/cycles/P:", "kworker/u8:3-ev", "cpu_core/cycles/P"},
	} {
		res := read(t, tt.line+"\n\t1234 f (/bin/f)\n\n")
		require.Zero(t, res.BadLines, tt.line)
		assert.Equal(t, tt.event, res.Graphs[0].Name(), tt.line)
		assert.True(t, strings.HasPrefix(foldedText(t, res.Graphs[0]), tt.comm), "%s: %s", tt.line, foldedText(t, res.Graphs[0]))
	}
}

func TestBadLinesAreReported(t *testing.T) {
	res := read(t, "rubbish\n\t1234 f (/bin/f)\n"+chains+"more rubbish")
	assert.Equal(t, 3, res.BadLines)
	assert.Equal(t, []int{1, 2, 25}, []int{res.Bad[0].Number, res.Bad[1].Number, res.Bad[2].Number})
	assert.Equal(t, int64(2), res.Graphs[0].Total(0))
}

func TestNoSample(t *testing.T) {
	for _, text := range []string{"", "a;b 1\n", "# comment\n"} {
		assert.False(t, perfscript.Is(text))
		_, err := perfscript.Read(strings.NewReader(text))
		assert.ErrorContains(t, err, "no sample")
	}
	assert.False(t, perfscript.Is("app;f x 12 g: 5\n"))
}

func TestDeepStacksAreCutAtTheRoot(t *testing.T) {
	var b strings.Builder
	b.WriteString("x 5 1.5: 1 cycles:\n")
	for i := range 70_000 {
		fmt.Fprintf(&b, "\t%x f%d (/bin/f)\n", i, i%3)
	}
	g := read(t, b.String()).Graphs[0]
	assert.Len(t, g.Nodes, callgraph.MaxDepth+2)
	assert.Equal(t, callgraph.NameTruncated, g.Frames[g.Nodes[2].Frame].Name)
}

func TestEventsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 1010 {
		fmt.Fprintf(&b, "x 5 1.5: 1 ev%d:\n\n", i)
	}
	res := read(t, b.String())
	assert.Len(t, res.Graphs, 1000)
	assert.Equal(t, 10, res.BadLines)
}

func FuzzRead(f *testing.F) {
	f.Add(chains)
	f.Add("x 5 1.5: 1 cycles: 12 f (/b)\n")
	f.Fuzz(func(t *testing.T, text string) {
		res, err := perfscript.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, g := range res.Graphs {
			require.Equal(t, g.Meta.Records, g.Total(0))
		}
	})
}
