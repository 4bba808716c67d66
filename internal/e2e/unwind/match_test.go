//go:build integration && linux

package unwind

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func base(path string) string { return filepath.Base(path) }

// A calls is a chain of calls, the root first, in words: "|" separates names
// that may stand for each other, "..." stands for any number of frames, and a name
// that ends in "*" for all that begin so: which of its functions a library uses
// depends on the CPU.
type calls string

// match tells whether frames are the whole chain, or a beginning of it.
func (c calls) match(frames []string) (whole, beginning bool) {
	return matchParts(strings.Fields(string(c)), frames)
}

func matchParts(parts, frames []string) (whole, beginning bool) {
	switch {
	case len(parts) == 0:
		return len(frames) == 0, len(frames) == 0
	case parts[0] == "...":
		whole, _ = matchParts(parts[1:], frames)
		for i := 0; i < len(frames) && !whole; i++ {
			w, _ := matchParts(parts[1:], frames[i+1:])
			whole = whole || w
		}
		return whole, true
	case len(frames) == 0:
		return false, true
	case slices.ContainsFunc(strings.Split(parts[0], "|"), func(name string) bool { return isCalled(name, frames[0]) }):
		return matchParts(parts[1:], frames[1:])
	}
	return false, false
}

// isCalled tells whether a frame has a name as a calls has it, or is on the way to
// what has.
func isCalled(name, frame string) bool {
	frame = strings.TrimSuffix(frame, "@plt")
	begin, open := strings.CutSuffix(name, "*")
	return frame == name || open && len(frame) > len(begin) && strings.HasPrefix(frame, begin)
}

// threadStart are the frames of the C libraries below main and below the first
// function of a thread.
var threadStart = regexp.MustCompile(`^(_start|_start_c|_dl_start_user|__libc_start_main(_stage2|_impl)?|__libc_start_call_main|libc_start_main_stage2|clone3?|__clone3?|start_thread|start|__start_context|\?libc\.so(\.6)?|\?ld-musl-x86_64\.so\.1)$`)

// body takes the frames of the C library off the root.
func (s *stack) body() []string {
	for i, f := range s.frames {
		if !threadStart.MatchString(f) {
			return s.frames[i:]
		}
	}
	return nil
}

// expectation is what is asked of the stacks of a program.
type expectation struct {
	// chains are the calls that there are. Every stack must be the beginning of
	// one of them.
	chains []calls
	// lone are functions that may stand alone, without what began their thread.
	lone []string
	// whole is how many of the stacks, of those that are not in the C library's
	// start, have to be a whole chain, 0 to 1.
	whole float64
	// incomplete is how many of them may be cut.
	incomplete float64
}

// aFew stacks of any program may be cut: the first ones have no table.
const aFew = 0.02

// check asserts an expectation. How often each odd stack was seen is shown.
func (e expectation) check(t *testing.T, list stacks) {
	t.Helper()
	e.checkBy(t, list, func(s *stack) (whole, beginning bool) {
		body := s.body()
		if len(body) == len(s.frames) {
			// It must begin where a thread does.
			return false, len(body) == 1 && slices.Contains(e.lone, body[0])
		}
		return e.match(body)
	})
}

// checkAll is check, but the chains begin with the root.
func (e expectation) checkAll(t *testing.T, list stacks) {
	t.Helper()
	e.checkBy(t, list, func(s *stack) (whole, beginning bool) { return e.match(s.frames) })
}

func (e expectation) checkBy(t *testing.T, list stacks, match func(s *stack) (whole, beginning bool)) {
	t.Helper()
	// During an exec there is no user stack.
	list = slices.DeleteFunc(slices.Clone(list), func(s stack) bool { return len(s.frames) == 0 })
	require.NotEmpty(t, list)
	total := list.total()
	var whole, cut, wrong int64
	show := make(map[string]int64)
	for i := range list {
		s := &list[i]
		text := strings.Join(s.frames, ";")
		if !s.complete {
			cut += s.count
			show["cut: "+text] += s.count
			continue
		}
		w, b := match(s)
		switch {
		case w:
			whole += s.count
		case !b:
			wrong += s.count
			show["wrong: "+text] += s.count
		}
	}
	t.Logf("of %d stacks %d have all calls, %d are cut", total, whole, cut)
	ok := assert.Zero(t, wrong, "%d stacks are not calls of the program", wrong)
	ok = assert.LessOrEqual(t, float64(cut)/float64(total), max(e.incomplete, aFew), "%d of %d stacks are cut", cut, total) && ok
	ok = assert.GreaterOrEqual(t, float64(whole)/float64(total), e.whole, "%d of %d stacks have all calls", whole, total) && ok
	if !ok {
		showMost(t, show)
	}
}

func (e expectation) match(frames []string) (whole, beginning bool) {
	for _, c := range e.chains {
		w, b := c.match(frames)
		whole, beginning = whole || w, beginning || b
	}
	return whole, beginning
}

// showMost logs the most frequent odd stacks.
func showMost(t *testing.T, show map[string]int64) {
	t.Helper()
	texts := make([]string, 0, len(show))
	for text := range show {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return int(show[b] - show[a]) })
	for _, text := range texts[:min(len(texts), 8)] {
		if len(text) > 1500 {
			text = text[:700] + " ... " + text[len(text)-700:]
		}
		t.Logf("%d times %s", show[text], text)
	}
}
