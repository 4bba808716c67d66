package receiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestNextBoundary(t *testing.T) {
	start := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	after := start.Add
	tests := []struct {
		name      string
		now       time.Time
		elapsed   time.Duration
		end, next time.Time
	}{
		{"ordinary", after(10 * time.Second), 10 * time.Second, after(10 * time.Second), after(10 * time.Second)},
		{"clock slewed forward", after(10*time.Second + 5*time.Millisecond), 10 * time.Second, after(10*time.Second + 5*time.Millisecond), after(10*time.Second + 5*time.Millisecond)},
		{"clock slewed back", after(10*time.Second - 5*time.Millisecond), 10 * time.Second, after(10*time.Second - 5*time.Millisecond), after(10*time.Second - 5*time.Millisecond)},
		{"clock set forward an hour", after(time.Hour), 10 * time.Second, after(10 * time.Second), after(time.Hour)},
		{"clock set back an hour", after(-time.Hour), 10 * time.Second, after(10 * time.Second), after(-time.Hour)},
		{"no time at all", start, 0, after(1), after(1)},
		{"slewed to before a short window", after(-time.Millisecond), time.Millisecond, after(time.Millisecond), after(time.Millisecond)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			end, next := nextBoundary(start, tt.now, tt.elapsed)
			assert.Equal(t, tt.end, end)
			assert.Equal(t, tt.next, next)
			assert.True(t, end.After(start))
		})
	}
}
