package folded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Bounds on hostile input.
const (
	maxLine     = 16 << 20 // bytes; 65,536 frames of 256 bytes
	maxFrames   = 1 << 16  // of one stack
	maxBadLines = 100      // that are kept; more are counted
	// maxDecimals is how many digits after the point are kept. With nine a
	// millisecond with six decimals is exact, and 9.2 billion still fits.
	maxDecimals = 9
)

// BadLine is a line that was left out.
type BadLine struct {
	Number int // from 1
	Err    error
}

func (b BadLine) Error() string { return fmt.Sprintf("line %d: %v", b.Number, b.Err) }

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

// Read reads folded text of any source. The count is what follows the last
// space, a number up to the largest int64. If counts have decimals, all counts
// are multiplied by the power of ten that makes them whole (at most 10^9;
// further digits are cut); see Result.Scale. Frames get their kind from their
// annotation; the first frame of a stack without one is a process. Blank lines
// are skipped, bad lines are reported and left out. An error is an error of r.
func Read(r io.Reader) (*Result, error) {
	p := &parser{merger: callgraph.NewMerger(1), res: Result{Scale: 1}, frames: map[string]int32{}}
	in := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, tooLong, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read folded text at line %d: %w", number, err)
		}
		if tooLong {
			p.bad(number, fmt.Errorf("longer than %d bytes", maxLine))
		} else if perr := p.line(line); perr != nil {
			p.bad(number, perr)
		}
		if err != nil {
			break
		}
	}
	p.res.Graph = p.graph()
	return &p.res, nil
}

// readLine returns the next line without its end. The bytes of a line that is
// too long are skipped.
func readLine(in *bufio.Reader) (line string, tooLong bool, err error) {
	var b strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		if b.Len()+len(part) > maxLine {
			tooLong = true
			b.Reset()
		}
		if !tooLong {
			b.Write(part)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			line = strings.TrimSuffix(b.String(), "\n")
			return strings.TrimSuffix(line, "\r"), tooLong, err
		}
	}
}

type parser struct {
	merger   *callgraph.Merger
	frames   map[string]int32 // by text; the first frame of a line has a NUL before it
	stack    []int32
	decimals int
	values   []pending
	res      Result
}

// pending is a stack that waits for the scale: it is known at the end only.
type pending struct {
	stack    []int32
	value    int64
	decimals int
}

func (p *parser) bad(number int, err error) {
	p.res.BadLines++
	if len(p.res.Bad) < maxBadLines {
		p.res.Bad = append(p.res.Bad, BadLine{Number: number, Err: err})
	}
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
	for text := range strings.SplitSeq(line[:i], ";") {
		p.stack = append(p.stack, p.frame(text, len(p.stack) == 0))
	}
	p.add(value, decimals)
	return nil
}

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
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	return g
}

func (p *parser) frame(text string, first bool) int32 {
	key := text
	if first {
		key = "\x00" + text
	}
	id, ok := p.frames[key]
	if !ok {
		id = p.merger.Frame(parseFrame(text, first))
		p.frames[strings.Clone(key)] = id
	}
	return id
}

// parseFrame is the inverse of Text.
func parseFrame(text string, first bool) callgraph.Frame {
	f := callgraph.Frame{Name: strings.Clone(text), Kind: callgraph.User}
	name, found := "", true
	switch {
	case strings.HasSuffix(text, "_[k]"):
		f.Kind, name = callgraph.Kernel, strings.TrimSuffix(f.Name, "_[k]")
	case strings.HasSuffix(text, "_[j]"):
		f.Kind, name = callgraph.JIT, strings.TrimSuffix(f.Name, "_[j]")
	case strings.HasSuffix(text, "_[i]"):
		f.Inlined, name = true, strings.TrimSuffix(f.Name, "_[i]")
	case first:
		f.Kind, found = callgraph.Process, false
	case text == "" || callgraph.IsPlaceholder(text):
		f.Kind, found = callgraph.Unknown, false
	default:
		found = false
	}
	if found {
		f.Name = name
	}
	if f.Name == "" {
		f.Name = callgraph.NameUnknown
	}
	return f
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
