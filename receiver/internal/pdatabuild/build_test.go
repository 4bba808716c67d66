package pdatabuild

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/internal/profcheck"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
)

var update = flag.Bool("update", false, "write the golden files anew")

// encode marshals a message and checks the result: conformance and size.
func encode(t testing.TB, m Message, maxBytes int) []byte {
	t.Helper()
	marshaler := &pprofile.ProtoMarshaler{}
	inPlace := marshaler.ProfilesSize(m.Profiles)
	encoded, err := marshaler.MarshalProfiles(m.Profiles)
	require.NoError(t, err)
	assert.Less(t, inPlace, maxBytes, "size before strings are moved to the table")
	assert.Less(t, len(encoded), maxBytes, "size when encoded")
	assert.Empty(t, profcheck.Check(encoded))
	return encoded
}

// golden compares a readable form of the messages with a file.
func golden(t *testing.T, name string, messages []Message) {
	t.Helper()
	var b strings.Builder
	for i, m := range messages {
		encoded := encode(t, m, DefaultMaxBytes)
		msg, err := profcheck.Decode(encoded)
		require.NoError(t, err)
		fmt.Fprintf(&b, "message %d\n", i)
		writeText(&b, msg)
	}
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run go test -update")
	assert.Equal(t, string(want), b.String())
}

// One window with each sort of frame, thread and process.
func TestGolden(t *testing.T) {
	w := newWindow()
	burn := &window.Process{
		PID: 42, Name: "burn", ExecutablePath: "/usr/bin/burn", CommandLine: "burn --fast", ServiceName: "shop",
		ContainerID: "0123456789ab", CgroupPath: "/docker/0123456789ab",
	}
	server := &window.Process{PID: 41, Name: "server", ExecutablePath: "/usr/bin/server", ServiceName: "server"}
	kthread := &window.Process{PID: 2, Name: "kthreadd", Kernel: true}

	mainFrame := frame(symbolize.KindNative, binary1, 0x401100, "main")
	add(w, burn, "burn", 7, frame(symbolize.KindNative, binary1, 0x401200, "inlined", "outer"), mainFrame)
	add(w, burn, "worker", 3, frame(symbolize.KindNative, binary1, 0x401200, "inlined", "outer"), mainFrame)
	add(w, burn, "worker", 2, frame(symbolize.KindKernel, vmlinux, 0xffffffff81000100, "do_read"), frame(symbolize.KindKernel, vmlinux, 0xffffffff81000200), mainFrame)
	script := frame(symbolize.KindV8, anon, 0x7f0000000080, "script")
	script.Tier = "turbofan"
	add(w, burn, "worker", 1, frame(symbolize.KindJIT, anon, 0x7f0000000010), script, frame(symbolize.KindUnknown, nowhere, 0xdead), mainFrame, window.Truncated)
	within := frame(symbolize.KindNative, binary1, 0x401abc)
	within.FunctionStart, within.FunctionLimit = 0x401a00, 0x401b00
	named := frame(symbolize.KindNative, binary1, 0x401d00, "has_a_name")
	named.FunctionStart, named.FunctionLimit = 0x401d00, 0x401e00
	lost := frame(symbolize.KindNative, nowhere, 0xbeef)
	lost.FunctionStart, lost.FunctionLimit = 0xbe00, 0xbf00
	add(w, burn, "worker", 1, within, named, lost, mainFrame)
	add(w, server, "", 5, frame(symbolize.KindGo, goBin, 0x401234, "main.main"))
	add(w, kthread, "kthreadd", 1, frame(symbolize.KindKernel, vmlinux, 0xffffffff81000300, "kthread"))
	w.Add(server, reads, window.Thread{Name: "io", ID: 4242}, []*symbolize.Frame{frame(symbolize.KindGo, goBin, 0x401234, "main.main")}, 2, []int64{2, 5000})
	w.Tally(reads).Count(window.Counts{Taken: 2})
	w.Tally(reads).Estimate.Add(source.Estimate{Events: 9.7, Sum: 20, Variance: 4})
	w.Tally(cpu).Count(window.Counts{Taken: 1986, Idle: 1900, Filtered: 80, Lost: map[string]uint64{"counts_full": 4, "stacks_full": 2}})

	golden(t, "window.txt", build(t, w, Settings{HostName: "host", Version: "v1", NewID: counter()}))
}

// A window without samples still accounts for itself.
func TestEmptyWindow(t *testing.T) {
	w := newWindow()
	w.Tally(cpu).Count(window.Counts{Taken: 10, Idle: 10})
	golden(t, "empty.txt", build(t, w, Settings{HostName: "host", Version: "v1", NewID: counter()}))
}

// 50 threads with the same 50 stacks, whose frames have new addresses in memory
// each time as after an eviction from a cache: everything is there once.
func TestEqualContentIsMerged(t *testing.T) {
	w := newWindow()
	p := &window.Process{PID: 1, Name: "init"}
	for round := range 2 {
		for thread := range 50 {
			for stack := range 50 {
				m := *binary1
				leaf := frame(symbolize.KindNative, &m, 0x401000+uint64(stack), fmt.Sprintf("leaf%d", stack))
				root := frame(symbolize.KindNative, &m, 0x401fff, "main")
				add(w, p, fmt.Sprintf("worker-%d", thread), uint64(1+round), leaf, root)
			}
		}
	}
	messages := build(t, w, Settings{})
	require.Len(t, messages, 1)
	encode(t, messages[0], DefaultMaxBytes)

	dict := messages[0].Profiles.Dictionary()
	assert.Equal(t, 1+50, dict.StackTable().Len())
	assert.Equal(t, 1+51, dict.LocationTable().Len())
	assert.Equal(t, 1+51, dict.FunctionTable().Len())
	assert.Equal(t, 1+1, dict.MappingTable().Len())

	samples := messages[0].Profiles.ResourceProfiles().At(1).ScopeProfiles().At(0).Profiles().At(0).Samples()
	require.Equal(t, 50*50, samples.Len())
	for _, s := range samples.All() {
		require.Equal(t, []int64{3}, s.Values().AsRaw())
	}
}

// Names of any bytes neither fail the message nor reach it.
func TestHostileStrings(t *testing.T) {
	const bad = "a\xffb\x00c\x1b[31m\n;\u0085"
	const good = "a\ufffdb\ufffdc\ufffd[31m\ufffd;\ufffd"
	w := newWindow()
	m := &symbolize.Module{Path: bad + "path", GNUBuildID: bad, GoBuildID: bad, Limit: 10}
	f := &symbolize.Frame{Kind: symbolize.KindJIT, Module: m, Address: 1, Lines: []symbolize.Line{{Name: bad + "name", SystemName: bad + "sys", File: bad + "file"}}}
	p := &window.Process{PID: 1, Name: bad, ExecutablePath: bad, CommandLine: bad, ContainerID: bad, CgroupPath: bad, ServiceName: bad}
	add(w, p, bad, 1, f)
	add(w, p, "a\xfeb\x01c\x1b[31m\t;\u0085", 1, f) // the same once it is sanitised
	messages := build(t, w, Settings{HostName: bad, Version: "v1"})
	require.Len(t, messages, 1)
	pd := messages[0].Profiles
	attrs := pd.ResourceProfiles().At(1).Resource().Attributes()
	for _, key := range []string{keyExecutableName, keyExecutablePath, keyCommandLine, keyContainerID, keyCgroup, keyServiceName, keyHostName} {
		v, ok := attrs.Get(key)
		require.True(t, ok, key)
		assert.Equal(t, good, v.Str(), key)
	}
	table := pd.Dictionary().StringTable().AsRaw()
	for _, suffix := range []string{"path", "name", "sys", "file"} {
		assert.Contains(t, table, good+suffix)
	}
	assert.Equal(t, 1, pd.SampleCount(), "two thread names that look alike are one")
	encode(t, messages[0], DefaultMaxBytes)
}

// Programs cannot make their functions look like marks of ours.
func TestNamesThatAreReserved(t *testing.T) {
	w := newWindow()
	p := &window.Process{PID: 1, Name: "evil"}
	spoofed := []string{"[truncated]", "[unknown]", "[not kept: memory limit]", "[libc.so.6]+0x10"}
	for _, name := range spoofed {
		f := &symbolize.Frame{Kind: symbolize.KindJIT, Module: anon, Address: anon.Start, Lines: []symbolize.Line{{Name: name}}}
		add(w, p, "t", 1, f, window.Truncated)
	}
	harmless := &symbolize.Frame{Kind: symbolize.KindNative, Module: binary1, Address: binary1.Start, Lines: []symbolize.Line{{Name: "[plt]"}}}
	add(w, p, "t", 1, harmless, frame(symbolize.KindUnknown, nowhere, 0xdead))
	messages := build(t, w, Settings{})
	encode(t, messages[0], DefaultMaxBytes)
	dict := messages[0].Profiles.Dictionary()
	text := func(i int32) string { return dict.StringTable().At(int(i)) }
	names, marks := make(map[string]string), make(map[string]bool)
	for _, loc := range dict.LocationTable().All() {
		for _, line := range loc.Lines().All() {
			fn := dict.FunctionTable().At(int(line.FunctionIndex()))
			if loc.MappingIndex() == 0 && loc.AttributeIndices().Len() == 0 {
				marks[text(fn.NameStrindex())] = true
			} else {
				names[text(fn.NameStrindex())] = text(fn.SystemNameStrindex())
			}
		}
	}
	want := map[string]string{"[plt]": ""}
	for _, name := range spoofed {
		want[`"`+name+`"`] = name
	}
	assert.Equal(t, want, names)
	assert.Equal(t, map[string]bool{"[truncated]": true, "[unknown]": true}, marks)
	assert.Equal(t, uint64(4), w.Tally(cpu).Truncated)
	assert.Equal(t, uint64(1), w.Tally(cpu).UnknownTotal())
}

// The time of profiles is that of the window.
func TestTime(t *testing.T) {
	w := newWindow()
	add(w, &window.Process{PID: 1}, "t", 1)
	for _, m := range build(t, w, Settings{}) {
		for _, rp := range m.Profiles.ResourceProfiles().All() {
			p := rp.ScopeProfiles().At(0).Profiles().At(0)
			assert.Equal(t, start, p.Time().AsTime())
			assert.Equal(t, uint64(10*time.Second), p.DurationNano())
			assert.NotEqual(t, pprofile.NewProfileIDEmpty(), p.ProfileID())
		}
	}
}
