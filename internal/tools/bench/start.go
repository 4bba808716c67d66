//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

// start measures how long `flametel record` takes before it samples and after
// it has stopped, with the host idle and busy.
func start(ctx context.Context, s settings) error {
	rows := [][]string{{"host", "flametel record", "ms, median", "spread", "rounds"}}
	for _, host := range []string{"idle", "busy"} {
		starts, ends, err := startRounds(ctx, s, host == "busy")
		if err != nil {
			return err
		}
		rows = append(rows,
			startRow(host, "from start until it samples", starts),
			startRow(host, fmt.Sprintf("from the end of %v at 99 Hz to the finished SVG", s.duration), ends))
	}
	return measure.Table(s.out, rows)
}

func startRow(host, what string, millis []float64) []string {
	return []string{host, what, fmt.Sprintf("%.0f", measure.Median(millis)), measure.Spread(millis), strconv.Itoa(len(millis))}
}

// startRounds returns the milliseconds of each round.
func startRounds(ctx context.Context, s settings, busy bool) (starts, ends []float64, err error) {
	var load measure.Group
	defer load.Stop()
	if busy {
		if err := occupy(&load, s.dir); err != nil {
			return nil, nil, err
		}
	}
	if err := pause(ctx, time.Second); err != nil {
		return nil, nil, err
	}
	for range s.rounds {
		began, err := untilSampling(ctx, s.dir)
		if err != nil {
			return nil, nil, err
		}
		ended, err := untilWritten(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		starts = append(starts, began.Seconds()*1000)
		ends = append(ends, ended.Seconds()*1000)
	}
	return starts, ends, nil
}

// untilSampling returns the time from the start of `flametel record` to that of
// the command it is given, which it runs when sampling is on.
func untilSampling(ctx context.Context, dir string) (time.Duration, error) {
	stamp := filepath.Join(dir, "stamp")
	begin := time.Now()
	// So short a recording may hold no sample, which has an exit code of its own:
	// the time stamp says whether the command ran.
	out, err := exec.CommandContext(ctx, "bin/flametel", "record", "-o", filepath.Join(dir, "start.svg"), "--",
		"sh", "-c", "date +%s%N > "+stamp).CombinedOutput()
	text, readErr := os.ReadFile(stamp)
	if readErr != nil {
		return 0, fmt.Errorf("flametel record did not run its command: %w\n%s", err, out)
	}
	_ = os.Remove(stamp)
	nanos, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Unix(0, nanos).Sub(begin), nil
}

// untilWritten records for a while and returns the time from the interrupt to
// the end of the program, which has then written its file.
func untilWritten(ctx context.Context, s settings) (time.Duration, error) {
	r, err := flametelRecord.start(s.dir)
	if err != nil {
		return 0, err
	}
	defer r.kill()
	if err := pause(ctx, s.duration); err != nil {
		return 0, err
	}
	took, err := r.stop()
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(filepath.Join(s.dir, "profile.svg")); err != nil {
		return 0, fmt.Errorf("flametel record left no file: %w\n%s", err, r.output)
	}
	return took, os.Remove(filepath.Join(s.dir, "profile.svg"))
}
