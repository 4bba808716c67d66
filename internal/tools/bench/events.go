//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

// settle is how long those who look have for getting ready.
const settle = 1500 * time.Millisecond

// events measures what looking at events costs those who have them: each
// victim with nothing attached and with each of columns, in turn and round by
// round. The ratios are those within one round.
func events(ctx context.Context, s settings) error {
	victims, stop, err := eventVictims(s)
	if err != nil {
		return err
	}
	defer stop()
	list := slices.DeleteFunc(columns(), func(c column) bool { return c.name != nothing && !s.only.MatchString(c.name) })
	measured := make([]figures, len(list)+1) // by column
	for i := range measured {
		measured[i] = figures{}
	}
	for round := range s.rounds {
		for i, c := range list {
			if err := c.look(ctx, s, victims, measured[i]); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		// By now all of them have been there and gone.
		if err := list[0].look(ctx, s, victims, measured[len(list)]); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, s.rounds)
	}
	return eventTable(s, append(list, column{tool: tool{name: "nothing again, all detached"}}), victims, measured)
}

// figures are numbers by name and round.
type figures map[string][]float64

// look runs every victim once while the column looks.
func (c column) look(ctx context.Context, s settings, victims []victim, to figures) (err error) {
	if c.attach != nil {
		detach, failed := c.attach()
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, detach()) }()
	}
	if c.command != nil {
		dir, err := os.MkdirTemp(s.dir, "events")
		if err != nil {
			return err
		}
		r, err := c.start(dir)
		if err != nil {
			return err
		}
		defer r.kill()
		if err := r.waitReady(ctx, c.ready); err != nil {
			return err
		}
		defer func() {
			_, failed := r.stop() // fails if the tool is no longer there
			err = errors.Join(err, failed)
		}()
	} else if err := pause(ctx, settle); err != nil { // the same rest for all
		return err
	}
	for _, v := range victims {
		numbers, err := v.run(ctx, c.wrap)
		if err != nil {
			return fmt.Errorf("%s: %w", v.figures[0], err)
		}
		for i, n := range numbers {
			to[v.figures[i]] = append(to[v.figures[i]], n)
		}
	}
	return ctx.Err()
}

// waitReady waits until the tool has printed text, and a little longer.
func (r *running) waitReady(ctx context.Context, text string) error {
	for range 600 {
		if strings.Contains(r.output.String(), text) {
			return pause(ctx, settle)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not get ready:\n%s", r.name, r.output)
}

func eventTable(s settings, list []column, victims []victim, measured []figures) error {
	header := []string{"what looks"}
	for _, v := range victims {
		header = append(header, v.figures...)
	}
	rows := [][]string{header}
	for i, c := range list {
		row := []string{c.name}
		for _, name := range header[1:] {
			var ratios []float64
			for round, n := range measured[i][name] {
				ratios = append(ratios, n/measured[0][name][round])
			}
			cell := "-"
			if len(ratios) > 0 {
				cell = fmt.Sprintf("%.0f, %.2f", measure.Median(measured[i][name]), measure.Median(ratios))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(s.out, "Median of %d rounds, and the median of the ratios to nothing in the same round.\n\n", s.rounds)
	return measure.Table(s.out, rows)
}
