package formats

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/internal/lines"
	"github.com/flametel/flametel/exporter/otlp"
	"github.com/flametel/flametel/exporter/perfscript"
	"github.com/flametel/flametel/exporter/pprof"
	"github.com/flametel/flametel/exporter/speedscope"
	"github.com/flametel/flametel/exporter/svg"
)

// Bounds on hostile input.
const (
	// maxWhole is the largest file, in bytes after decompression, of a format
	// that has to be in memory as a whole. A profile of a million stacks takes
	// 300 MB of OTLP, and less of all others.
	maxWhole = 1 << 30
	// maxText is the largest text, which is read line by line.
	maxText = 64 << 30
	// headSize is how much of a file is looked at to find its format.
	headSize = 64 << 10
)

// ReadOptions are the settings of Read. The zero value is useful.
type ReadOptions struct {
	// Format is the name of the format. Empty: found by looking into the file.
	Format string
	// Detail keeps addresses, mappings, source lines and threads apart, where the
	// format has them, as writing pprof needs it.
	Detail bool
}

// Profile is what a file holds.
type Profile struct {
	Format *Format
	// Graphs has at least one graph, one for each sample type.
	Graphs []*callgraph.Graph
	// Default is the graph to be shown if nobody chooses.
	Default int
	// Comparison is that of a differential flame graph, else nil. Graphs then has
	// its second side.
	Comparison *callgraph.Comparison
	// Title is what the file calls itself, "" if it does not.
	Title string
	// Facts are what it says about where it comes from.
	Facts []svg.Fact
	// Notes are sentences about what had to be left out or changed.
	Notes []string
}

// input is a file being read.
type input struct {
	*bufio.Reader
	limit *limited
}

// limited counts what was read and ends with an error at a limit.
type limited struct {
	from io.Reader
	left int64
}

var errTooLong = errors.New("is too large")

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.from.Read(p)
	l.left -= int64(n)
	return n, err
}

func newInput(r io.Reader) *input {
	l := &limited{r, maxText}
	return &input{bufio.NewReaderSize(l, headSize), l}
}

// head returns the first bytes of a file.
func (in *input) head() ([]byte, error) {
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// all returns the whole file.
func (in *input) all() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxWhole+1))
	if err == nil && len(data) > maxWhole {
		err = fmt.Errorf("%w: files of this format are read up to %d MiB", errTooLong, maxWhole>>20)
	}
	return data, err
}

// Read reads a file of any format, compressed by gzip or not. An empty file is a
// profile without samples. Errors are sentences that begin with a verb, or say
// what the file is; the caller names it.
func Read(r io.Reader, opts ReadOptions) (*Profile, error) {
	in, err := decompressed(newInput(r))
	if err != nil {
		return nil, err
	}
	if head, _ := in.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark))
	}
	var format *Format
	if opts.Format != "" {
		format = ByName(opts.Format)
		if format == nil || format.read == nil {
			return nil, fmt.Errorf("format %q cannot be read", opts.Format)
		}
	} else if format, in, err = detect(in); err != nil {
		return nil, err
	}
	p, err := format.read(in, &opts)
	if err != nil {
		return nil, err
	}
	p.Format = format
	return p, nil
}

// byteOrderMark stands before text that some editors saved.
const byteOrderMark = "\ufeff"

// decompressed undoes gzip, once: nobody compresses twice but to do harm.
func decompressed(in *input) (*input, error) {
	head, err := in.head()
	if err != nil || len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		return in, err
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, damaged(err)
	}
	return newInput(unzipper{z}), nil
}

// unzipper says of errors that they are those of decompressing.
type unzipper struct{ *gzip.Reader }

func (u unzipper) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = damaged(err)
	}
	return n, err
}

func damaged(err error) error {
	return fmt.Errorf("decompress: the file is damaged or cut off: %w", err)
}

func readSVG(in *input, _ *ReadOptions) (*Profile, error) {
	f, err := svg.Read(in)
	if err != nil {
		return nil, err
	}
	p := &Profile{Title: f.Title, Facts: f.Facts, Graphs: []*callgraph.Graph{f.Graph}, Comparison: f.Comparison}
	if c := f.Comparison; c != nil {
		p.Graphs[0] = c.Side(callgraph.After)
		p.Notes = append(p.Notes, "it is a differential flame graph, of which the second side is taken")
	}
	return p, nil
}

func readFolded(in *input, _ *ReadOptions) (*Profile, error) {
	res, err := folded.Read(in)
	if err != nil {
		return nil, err
	}
	if res.BadLines > 0 && res.Graph.Total(0) == 0 {
		return nil, fmt.Errorf("read folded text: no line is a stack and a count; %w", res.Bad[0])
	}
	p := &Profile{Graphs: []*callgraph.Graph{res.Graph}, Notes: badLines(res.Bad, res.BadLines)}
	if res.Scale > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("counts have decimals, so all were multiplied by %d", res.Scale))
	}
	return p, nil
}

func badLines(first []lines.Bad, count int) []string {
	switch count {
	case 0:
		return nil
	case 1:
		return []string{"1 line was left out: " + first[0].Error()}
	}
	return []string{fmt.Sprintf("%d lines were left out, the first of them: %v", count, first[0])}
}

func readPprof(in *input, opts *ReadOptions) (*Profile, error) {
	data, err := in.all()
	if err != nil {
		return nil, err
	}
	res, err := pprof.Read(data, pprof.ReadOptions{Detail: opts.Detail})
	if err != nil {
		return nil, err
	}
	p := &Profile{Graphs: res.Graphs, Default: res.Default}
	for _, c := range res.Comments {
		if name, value, ok := strings.Cut(c, ": "); ok {
			p.Facts = append(p.Facts, svg.Fact{Name: name, Value: value})
		} else {
			p.Facts = append(p.Facts, svg.Fact{Name: "Comment", Value: c})
		}
	}
	return p, nil
}

func readSpeedscope(in *input, _ *ReadOptions) (*Profile, error) {
	data, err := in.all()
	if err != nil {
		return nil, err
	}
	res, err := speedscope.Read(data)
	if err != nil {
		return nil, err
	}
	p := &Profile{Graphs: res.Graphs, Default: res.Default, Title: res.Name}
	for i, scale := range res.Scale {
		if scale > 1 {
			p.Notes = append(p.Notes, fmt.Sprintf("weights have decimals, so those of %s were multiplied by %d", res.Graphs[i].Name(), scale))
		}
	}
	if len(p.Graphs) == 0 {
		return nil, errors.New("read speedscope: the file has no profile")
	}
	return p, nil
}

func readOTLP(in *input, opts *ReadOptions) (*Profile, error) {
	return readMessages(in, opts, otlp.ReadProtobuf)
}

func readOTLPJSON(in *input, opts *ReadOptions) (*Profile, error) {
	return readMessages(in, opts, otlp.ReadJSON)
}

func readMessages(in *input, opts *ReadOptions, read func([]byte, callgraph.Options) ([]*callgraph.Graph, error)) (*Profile, error) {
	data, err := in.all()
	if err != nil {
		return nil, err
	}
	graphs, err := read(data, callgraph.Options{Detail: opts.Detail, MaxBytes: callgraph.MaxBytes})
	if err != nil {
		return nil, err
	}
	return &Profile{Graphs: graphs}, nil
}

func readPerfScript(in *input, _ *ReadOptions) (*Profile, error) {
	res, err := perfscript.Read(in)
	if err != nil {
		return nil, err
	}
	return &Profile{Graphs: res.Graphs, Notes: badLines(res.Bad, res.BadLines)}, nil
}
