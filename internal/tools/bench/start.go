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
// it has stopped, on a busy host.
func start(ctx context.Context, s settings) error {
	var load measure.Group
	defer load.Stop()
	if err := occupy(&load, s.dir); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	var starts, ends []float64
	for range s.rounds {
		began, err := untilSampling(ctx, s.dir)
		if err != nil {
			return err
		}
		starts = append(starts, began.Seconds()*1000)
		ended, err := untilWritten(ctx, s)
		if err != nil {
			return err
		}
		ends = append(ends, ended.Seconds()*1000)
	}
	return measure.Table(s.out, [][]string{
		{"flametel record, host busy", "ms, median", "spread", "rounds"},
		{"from start until it samples", fmt.Sprintf("%.0f", measure.Median(starts)), measure.Spread(starts), strconv.Itoa(len(starts))},
		{fmt.Sprintf("from the end of %v at 99 Hz to the finished SVG", s.duration), fmt.Sprintf("%.0f", measure.Median(ends)), measure.Spread(ends), strconv.Itoa(len(ends))},
	})
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
