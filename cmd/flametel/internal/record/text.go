package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// percent is part of whole. A part is never shown as nothing, nor as all.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "0%"
	}
	share := 100 * float64(part) / float64(whole)
	switch {
	case part > 0 && share < 0.05:
		return "<0.1%"
	case part < whole && share >= 99.95:
		return ">99.9%"
	}
	return fmt.Sprintf("%.1f%%", share)
}

// span writes a duration as people say it: 30 s, 1m30s.
func span(d time.Duration) string {
	if d < time.Minute {
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} { // 24h, not 24h0m0s
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// milliseconds writes how long something short took.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// seconds writes how long something took.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// shellQuote writes a command line so that a shell reads it as it was.
func shellQuote(argv []string) string {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = arg
		if arg == "" || strings.ContainsFunc(arg, isSpecial) {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func isSpecial(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r > 0x7f:
		return false
	}
	return !strings.ContainsRune("-_./:=,@%+", r)
}
