package folded

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/lines"
)

// Bounds on hostile input.
const (
	maxFrames = callgraph.MaxDepth // of one stack
	// maxDecimals is how many digits after the point are kept. With nine a
	// millisecond with six decimals is exact, and 9.2 billion still fits.
	maxDecimals = 9
)

// BadLine is a line that was left out.
type BadLine = lines.Bad

// Result is what Read found.
type Result struct {
	Graph *callgraph.Graph
	// Scale is what all counts were multiplied by, a power of ten: 1 unless a
	// count had a decimal point.
	Scale int64
	// Bad are the first lines that were left out, BadLines is their number.
	Bad      []BadLine
	BadLines int
}

// Read reads folded text of any source: ours, perf's and DTrace's stackcollapse,
// bcc's profile -f, async-profiler's collapsed. The count is what follows the last
// space, a number up to the largest int64. If counts have decimals, all counts
// are multiplied by the power of ten that makes them whole (at most 10^9;
// further digits are cut); see Result.Scale. Blank lines are skipped, bad lines
// are reported and left out. An error is an error of r.
//
// Frames get their kind from their annotation, and their module from what stands
// before a backtick, as in libc.so.6`read. The first frame of a stack without
// an annotation is a process, except in text of async-profiler, which has none.
func Read(r io.Reader) (*Result, error) {
	p := &parser{merger: callgraph.NewMerger(1), res: Result{Scale: 1}, frames: map[frameKey]int32{}}
	in := lines.NewReader(r)
	for {
		line, ok := in.Next()
		if !ok {
			break
		}
		if err := p.line(line); err != nil {
			in.Bad(err)
		}
		if p.merger.TooLarge() {
			return nil, fmt.Errorf("read folded text: what stands before line %d %w", in.Number(), callgraph.ErrTooLarge)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read folded text at line %d: %w", in.Number(), err)
	}
	p.res.Bad, p.res.BadLines = in.First, in.Count
	p.res.Graph = p.graph()
	return &p.res, nil
}

type parser struct {
	merger   *callgraph.Merger
	frames   map[frameKey]int32
	stack    []int32
	decimals int
	values   []pending
	// noProcess: the text is of a source that puts no process before a stack.
	noProcess bool
	res       Result
}

// frameKey is the text of a frame and where it stands.
type frameKey struct {
	text          string
	first, kernel bool
}

// pending is a stack that waits for the scale: it is known at the end only.
type pending struct {
	stack    []int32
	value    int64
	decimals int
}

func (p *parser) line(line string) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	i := strings.LastIndexByte(line, ' ')
	if i <= 0 {
		return errors.New("no space between stack and count")
	}
	value, decimals, err := parseCount(line[i+1:])
	if err != nil {
		return err
	}
	if strings.Count(line[:i], ";") >= maxFrames {
		return fmt.Errorf("stack deeper than %d frames", maxFrames)
	}
	p.stack = p.stack[:0]
	key := frameKey{first: true}
	for key.text = range strings.SplitSeq(line[:i], ";") {
		if !key.first && isDelimiter(key.text) {
			key.kernel = true
			continue
		}
		p.stack = append(p.stack, p.frame(key))
		key.first = false
	}
	p.add(value, decimals)
	return nil
}

// isDelimiter reports whether a frame is what bcc's profile -d puts between the
// frames of the user and those of the kernel.
func isDelimiter(text string) bool { return text == "-" || text == "--" }

// add adds the stack. Whole numbers go straight into the merger, which is all
// there is to do for most files.
func (p *parser) add(value int64, decimals int) {
	if decimals == 0 && p.decimals == 0 {
		p.merger.Add(p.stack, 0, value)
		return
	}
	p.decimals = max(p.decimals, decimals)
	stack := append([]int32(nil), p.stack...)
	p.values = append(p.values, pending{stack, value, decimals})
}

// graph scales what is merged already and adds what waited for the scale.
func (p *parser) graph() *callgraph.Graph {
	for range p.decimals {
		p.res.Scale *= 10
	}
	if p.res.Scale > 1 {
		p.merger.Scale(p.res.Scale)
	}
	for _, v := range p.values {
		for range p.decimals - v.decimals {
			if v.value > math.MaxInt64/10 {
				v.value = math.MaxInt64
				p.merger.Saturated = true
				break
			}
			v.value *= 10
		}
		p.merger.Add(v.stack, 0, v.value)
	}
	g := p.merger.Graph()
	if p.noProcess {
		g = withoutProcesses(g)
	}
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	return g
}

// parseCount reads a count; decimals is the number of digits after the point
// that value includes.
func parseCount(s string) (value int64, decimals int, err error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if !isDigits(whole) || !isDigits(fraction) || whole+fraction == "" {
		return 0, 0, fmt.Errorf("%.40q is not a count of 0 or more", s)
	}
	fraction = strings.TrimRight(fraction, "0")
	fraction = fraction[:min(len(fraction), maxDecimals)]
	value, err = strconv.ParseInt("0"+whole+fraction, 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("count %.40q is larger than %d", s, int64(math.MaxInt64))
	}
	return value, len(fraction), nil
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
