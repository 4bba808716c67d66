package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// newLogger returns a logger that shows warnings and errors of the components as
// plain lines. What they say for information the summary says better, so that is
// shown only to who wants to know more; hints are not shown to who wants to know
// less.
func newLogger(to *terminal.Messages, quiet, verbose bool) *zap.Logger {
	level := zapcore.WarnLevel
	if verbose {
		level = zapcore.InfoLevel
	}
	return zap.New(&logCore{LevelEnabler: level, to: to, quiet: quiet, words: wordings()})
}

type logCore struct {
	zapcore.LevelEnabler
	to     *terminal.Messages
	quiet  bool
	words  map[string]wording
	fields []zapcore.Field
}

// With implements zapcore.Core.
func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	with := *c
	with.fields = append(slices.Clip(c.fields), fields...)
	return &with
}

// Check implements zapcore.Core.
func (c *logCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core: a sentence if we have one, else the message and
// then its fields in parentheses.
func (c *logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range append(slices.Clip(c.fields), fields...) {
		f.AddTo(enc)
	}
	words, known := c.words[e.Message]
	switch {
	case known && words.hint && c.quiet:
		return nil
	case known && words.hint:
		c.to.Printf("flametel: note: %s", terminal.Escape(words.say(enc.Fields)))
		return nil
	case known:
		c.to.Printf("flametel: %s: %s", levelWord(e.Level), terminal.Escape(words.say(enc.Fields)))
		return nil
	}
	delete(enc.Fields, "errorVerbose")
	c.to.Printf("flametel: %s: %s", levelWord(e.Level), terminal.Escape(withFields(e.Message, enc.Fields)))
	return nil
}

// withFields writes a message and what belongs to it in parentheses.
func withFields(message string, fields map[string]any) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fmt.Sprintf("%s %v", key, fields[key]))
	}
	text := strings.TrimSuffix(message, ".")
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	return text
}

func levelWord(l zapcore.Level) string {
	switch l {
	case zapcore.DebugLevel, zapcore.InfoLevel:
		return "info"
	case zapcore.WarnLevel:
		return "warning"
	}
	return "error"
}

// Sync implements zapcore.Core.
func (c *logCore) Sync() error { return nil }
