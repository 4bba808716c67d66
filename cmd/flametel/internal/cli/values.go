package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// seconds is a flag for a duration; a bare number is in seconds.
type seconds struct{ to *time.Duration }

func (s seconds) String() string {
	if s.to == nil || *s.to == 0 {
		return ""
	}
	return s.to.String()
}

// Type is how help calls such a value.
func (seconds) Type() string { return "duration" }

func (s seconds) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return s.set(n)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("must be a number of seconds or a duration such as 500ms, 30s or 5m")
	}
	return s.set(d.Seconds())
}

// set keeps what is out of bounds out of bounds, whatever the type can hold. No
// time at all is out of bounds, too: zero stands for a flag that is not given.
func (s seconds) set(n float64) error {
	const most = 1e9 // 31 years
	if !(n > -most && n < most) {
		return errors.New("is out of range")
	}
	*s.to = time.Duration(n * float64(time.Second))
	if *s.to <= 0 {
		return errors.New("must be above 0")
	}
	return nil
}

// secondsOrNone is seconds for a flag for which no time at all has a meaning.
type secondsOrNone struct{ seconds }

func (s secondsOrNone) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	d, err2 := time.ParseDuration(text)
	if err == nil && n == 0 || err2 == nil && d == 0 {
		*s.to = 0
		return nil
	}
	return s.seconds.Set(text)
}

// integer is a flag for a whole number.
type integer struct{ to *int }

func (i integer) String() string {
	if i.to == nil {
		return ""
	}
	return strconv.Itoa(*i.to)
}

// Type is how help calls such a value.
func (integer) Type() string { return "number" }

func (i integer) Set(text string) error {
	n, err := wholeNumber(text)
	if err == nil {
		*i.to = n
	}
	return err
}

// pids is a flag that can be given several times, each with one process ID or
// several joined by commas.
type pids struct{ to *[]int }

func (i pids) String() string {
	if i.to == nil {
		return ""
	}
	texts := make([]string, len(*i.to))
	for j, n := range *i.to {
		texts[j] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// Type is how help calls such a value.
func (pids) Type() string { return "number" }

func (i pids) Set(text string) error {
	for _, part := range strings.Split(text, ",") {
		n, err := wholeNumber(part)
		if err != nil {
			return errors.New("must be a process ID, a number; pgrep NAME finds those of a name")
		}
		*i.to = append(*i.to, n)
	}
	return nil
}

func wholeNumber(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("is out of range")
	}
	if err != nil {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}
