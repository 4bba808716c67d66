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
// shown only to who wants to know more.
func newLogger(to *terminal.Messages, verbose bool) *zap.Logger {
	level := zapcore.WarnLevel
	if verbose {
		level = zapcore.InfoLevel
	}
	return zap.New(&logCore{LevelEnabler: level, to: to})
}

type logCore struct {
	zapcore.LevelEnabler
	to     *terminal.Messages
	fields []zapcore.Field
}

// With implements zapcore.Core.
func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	return &logCore{c.LevelEnabler, c.to, append(slices.Clip(c.fields), fields...)}
}

// Check implements zapcore.Core.
func (c *logCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core: the message, then its fields in parentheses.
func (c *logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range append(slices.Clip(c.fields), fields...) {
		f.AddTo(enc)
	}
	delete(enc.Fields, "errorVerbose")
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(enc.Fields)) {
		parts = append(parts, fmt.Sprintf("%s %v", key, enc.Fields[key]))
	}
	text := strings.TrimSuffix(e.Message, ".")
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	c.to.Printf("flametel: %s: %s", levelWord(e.Level), terminal.Escape(text))
	return nil
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
