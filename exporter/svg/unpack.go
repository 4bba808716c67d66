package svg

import (
	"bufio"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// decodePayload is the reverse of encodePayload. It takes any bytes.
func decodePayload(text string) (*callgraph.Graph, error) {
	packed := base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.TrimSpace(text)))
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bufio.NewReader(packed)), maxPacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if len(data) > maxPacked {
		return nil, fmt.Errorf("unpacked, it has more than %d bytes", maxPacked)
	}
	u := &unpacker{data: data}
	u.block() // is for the script
	texts := strings.Split(string(u.block()), "\n")
	frames := u.frames(texts)
	g := u.graph(frames)
	if u.err == nil && len(u.data) > 0 {
		u.fail("%d bytes are left over", len(u.data))
	}
	if u.err != nil {
		return nil, u.err
	}
	// Puts frames and nodes in order, and merges what our format lets another
	// writer keep apart.
	return g.Regroup(func(f *callgraph.Frame) (callgraph.Frame, bool) { return *f, true }), nil
}

// unpacker keeps the first error; what it returns then is zero.
type unpacker struct {
	data []byte
	err  error
}

var errShort = errors.New("it ends early")

func (u *unpacker) fail(format string, args ...any) {
	if u.err == nil {
		u.err = fmt.Errorf(format, args...)
		u.data = nil
	}
}

func (u *unpacker) uint() uint64 {
	v, n := binary.Uvarint(u.data)
	if n <= 0 {
		u.fail("%w", errShort)
		return 0
	}
	u.data = u.data[n:]
	return v
}

// count reads a number of things of which each takes so many bytes or more.
func (u *unpacker) count(bytes int) int {
	n := u.uint()
	if n > uint64(len(u.data)/bytes) || n > math.MaxInt32 {
		u.fail("%d things are more than it has bytes for", n)
		return 0
	}
	return int(n)
}

func (u *unpacker) block() []byte {
	n := u.count(1)
	b := u.data[:n]
	u.data = u.data[n:]
	return b
}

// index reads a number below a limit.
func (u *unpacker) index(limit int, what string) int {
	v := u.uint()
	if v >= uint64(limit) {
		u.fail("%s %d is beyond the last", what, v)
		return 0
	}
	return int(v)
}

func (u *unpacker) frames(texts []string) []callgraph.Frame {
	frames := make([]callgraph.Frame, u.count(6))
	text := func(set func(f *callgraph.Frame, s string)) {
		for i := range frames {
			set(&frames[i], texts[u.index(len(texts), "string")])
		}
	}
	text(func(f *callgraph.Frame, s string) { f.Name = s })
	for i := range frames {
		v := u.index(2*inlinedBit, "kind")
		frames[i].Kind, frames[i].Inlined = callgraph.Kind(v%inlinedBit), v >= inlinedBit
		if frames[i].Kind > callgraph.Thread {
			u.fail("kind %d is beyond the last", frames[i].Kind)
		}
	}
	text(func(f *callgraph.Frame, s string) { f.Module = s })
	text(func(f *callgraph.Frame, s string) { f.File = s })
	for i := range frames {
		frames[i].StartLine = int64(u.index(math.MaxInt, "line"))
	}
	text(func(f *callgraph.Frame, s string) { f.Type = s })
	return frames
}

func (u *unpacker) graph(frames []callgraph.Frame) *callgraph.Graph {
	n := u.count(2)
	weights := u.index(3, "number of weights")
	if u.err == nil && (n == 0 || weights == 0) {
		u.fail("it has no nodes")
	}
	if u.err != nil {
		return nil
	}
	g := &callgraph.Graph{Frames: frames, Nodes: make([]callgraph.Node, n), Self: make([][]int64, weights)}
	g.Nodes[0] = callgraph.Node{Frame: -1, End: 1}
	depths := make([]int, n)
	for i := 1; i < n && u.err == nil; i++ {
		up := u.index(depths[i-1]+1, "level")
		parent := int32(i - 1)
		for range up {
			parent = g.Nodes[parent].Parent
		}
		g.Nodes[i] = callgraph.Node{Parent: parent, End: int32(i + 1)}
		depths[i] = depths[i-1] + 1 - up
	}
	for i := n - 1; i > 0; i-- {
		p := &g.Nodes[g.Nodes[i].Parent]
		p.End = max(p.End, g.Nodes[i].End)
		g.Nodes[i].Frame = 0
	}
	for i := 1; i < n; i++ {
		g.Nodes[i].Frame = int32(u.index(len(frames), "frame"))
	}
	u.weights(g)
	return g
}

func (u *unpacker) weights(g *callgraph.Graph) {
	for w := range g.Self {
		g.Self[w] = make([]int64, len(g.Nodes))
		var sum uint64
		for i := range g.Self[w] {
			v := u.uint()
			if sum += v; v > math.MaxInt64 || sum > math.MaxInt64 {
				u.fail("its weights add up to more than 64 bits hold")
				return
			}
			g.Self[w][i] = int64(v)
		}
	}
}
