package exporter

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/choose"
)

// The values of Config.Merge.
const (
	mergeProcess = "process"
	mergeThread  = "thread"
	mergeNone    = "none"
)

func (c *Config) validateChoice() error {
	_, err := c.choice()
	_, known := c.roots()
	if !known {
		err = errors.Join(err, fmt.Errorf("merge: %q is not one of process, thread, none", c.Merge))
	}
	return err
}

// choice is what Include, Exclude and Frames stand for.
func (c *Config) choice() (*choose.Choice, error) {
	include, err1 := expression("include", c.Include)
	exclude, err2 := expression("exclude", c.Exclude)
	errs := errors.Join(err1, err2)
	switch frames := choose.Frames(c.Frames); frames {
	case "", choose.All, choose.Kernel, choose.User:
		return &choose.Choice{Include: include, Exclude: exclude, Frames: frames}, errs
	}
	return nil, errors.Join(errs, fmt.Errorf("frames: %q is not one of all, kernel, user", c.Frames))
}

// expression compiles a regular expression; nil if it is empty.
func expression(key, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %q is not a regular expression: %w", key, text, err)
	}
	return re, nil
}

func (c *Config) roots() (roots callgraph.Roots, known bool) {
	switch c.Merge {
	case "", mergeProcess:
		return callgraph.Processes, true
	case mergeThread:
		return callgraph.Threads, true
	case mergeNone:
		return callgraph.Functions, true
	}
	return 0, false
}
