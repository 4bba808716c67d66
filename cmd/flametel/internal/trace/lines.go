package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/receiver/live"
)

const clockFormat = "15:04:05.000000"

// commWidth is TASK_COMM_LEN without its zero.
const commWidth = 15

// Columns of all families, then those of each.
const common = "%-15s %8s  %-15s "

var columns = map[string]string{
	live.Opens:       common + " %12s %9s  %s",
	live.Reads:       common + " %12s %9s  %s",
	live.OffCPU:      common + " %9s  %-15s  %s",
	live.Allocations: common + " %12s  %-8s %s",
	live.Retransmits: common + " %-10s %5s  %s -> %s",
}

var titles = map[string][]any{
	live.Opens:       {"TIME", "PID", "THREAD", "FD", "TOOK", "PATH"},
	live.Reads:       {"TIME", "PID", "THREAD", "BYTES", "TOOK", "PATH"},
	live.OffCPU:      {"TIME", "TID", "THREAD", "WAITED", "WHY", "CALL"},
	live.Allocations: {"TIME", "PID", "THREAD", "BYTES", "HOW", "CACHE"},
	live.Retransmits: {"TIME", "PID", "THREAD", "WHAT", "SEGS", "LOCAL", "REMOTE"},
}

func columnsOf(family string) string { return fmt.Sprintf(columns[family], titles[family]...) }

// eventLine is the line of an event. What others chose is escaped.
func eventLine(family string, e *live.Event) string {
	pid := "-"
	if e.PID > 0 {
		pid = strconv.Itoa(e.PID)
	}
	cells := []any{e.Time.Format(clockFormat), pid, terminal.Clip(e.Comm, commWidth)}
	result := strconv.FormatInt(e.Result, 10)
	if e.Error != "" {
		result = e.Error
	}
	switch family {
	case live.OffCPU:
		cells[1] = strconv.Itoa(e.TID)
		cells = append(cells, short(e.Duration), e.What, e.Call)
	case live.Allocations:
		cells = append(cells, e.Bytes, e.What, terminal.Escape(e.Cache))
		cells[3] = strconv.FormatInt(e.Bytes, 10)
	case live.Retransmits:
		cells = append(cells, e.What, strconv.FormatInt(e.Count, 10), e.Local, e.Remote)
	default:
		cells = append(cells, result, short(e.Duration), terminal.Escape(e.Path))
	}
	return trimRight(fmt.Sprintf(columns[family], cells...))
}

func trimRight(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// seconds is how long something took, to a tenth.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

// nouns are what the families show.
var nouns = map[string]string{
	live.Syscalls: "system calls", live.Opens: "opens", live.Reads: "reads of files", live.OffCPU: "waits",
	live.Allocations: "allocations", live.Retransmits: "retransmits",
}

// nothing says what there was none of, as it was asked for.
func (o *Options) nothing() string {
	text := "no " + nouns[o.Family]
	if o.FailedOnly {
		text = "no failed " + nouns[o.Family]
	}
	if o.MinDuration > 0 {
		text += " of " + short(o.MinDuration) + " or longer"
	}
	if o.Family == live.Allocations && o.MinBytes > 0 {
		text += fmt.Sprintf(" of %d bytes or more", o.MinBytes)
	}
	if len(o.PIDs) > 0 || o.Name != "" {
		text += " of the threads that were chosen"
	}
	return text
}

// short is a duration in four characters and its unit.
func short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return scaled(float64(d)/1e3) + " us"
	case d < time.Second:
		return scaled(float64(d)/1e6) + " ms"
	}
	return scaled(d.Seconds()) + " s"
}

func scaled(v float64) string {
	digits := 2
	switch {
	case v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

const callColumns = "%-22s %10s %10s %10s %10s %10s  %s"

// callsHeader says when it was, in which time, and what there was of all calls.
func callsHeader(now time.Time, in time.Duration, calls []live.Call) string {
	var count uint64
	for i := range calls {
		count += calls[i].Count
	}
	return fmt.Sprintf("%s  %d calls in %s\n", now.Format("15:04:05"), count, seconds(in)) +
		fmt.Sprintf(callColumns, "CALL", "CALLS", "ERRORS", "TOTAL ms", "MEAN", "P99", "MOST OF THE TIME")
}

func callLine(c *live.Call) string {
	who := ""
	if c.TopPID > 0 {
		who = fmt.Sprintf("%s (%d)", terminal.Clip(c.TopComm, commWidth), c.TopPID)
	}
	return trimRight(fmt.Sprintf(callColumns, c.Name, strconv.FormatUint(c.Count, 10), strconv.FormatUint(c.Errors, 10),
		strconv.FormatFloat(float64(c.Time)/1e6, 'f', 2, 64), short(c.Time/time.Duration(c.Count)), short(c.P99), who))
}

// object is a line of JSON. Numbers have their unit in the key.
type object struct {
	Time    time.Time `json:"time"`
	PID     int       `json:"pid,omitempty"`
	TID     int       `json:"tid,omitempty"`
	Thread  string    `json:"thread,omitempty"`
	Call    string    `json:"call,omitempty"`
	FD      *int64    `json:"fd,omitempty"`
	Error   string    `json:"error,omitempty"`
	Bytes   *int64    `json:"bytes,omitempty"`
	Nanos   *int64    `json:"duration_ns,omitempty"`
	Path    string    `json:"path,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	How     string    `json:"how,omitempty"`
	Cache   string    `json:"cache,omitempty"`
	What    string    `json:"what,omitempty"`
	Count   int64     `json:"segments,omitempty"`
	Local   string    `json:"local,omitempty"`
	Remote  string    `json:"remote,omitempty"`
	Calls   uint64    `json:"calls,omitempty"`
	Errors  *uint64   `json:"errors,omitempty"`
	TotalNs int64     `json:"total_ns,omitempty"`
	MeanNs  int64     `json:"mean_ns,omitempty"`
	P99Ns   int64     `json:"p99_ns,omitempty"`
	TopPID  int       `json:"top_pid,omitempty"`
	Top     string    `json:"top_thread,omitempty"`
}

func eventObject(family string, e *live.Event) object {
	o := object{Time: e.Time, PID: e.PID, TID: e.TID, Thread: e.Comm, Call: e.Call, Error: e.Error, Path: e.Path}
	nanos := e.Duration.Nanoseconds()
	switch family {
	case live.Opens:
		o.Nanos = &nanos
		if e.Error == "" {
			o.FD = &e.Result
		}
	case live.Reads:
		o.Nanos = &nanos
		if e.Error == "" {
			o.Bytes = &e.Bytes
		}
	case live.OffCPU:
		o.Nanos, o.Reason = &nanos, e.What
	case live.Allocations:
		o.Bytes, o.How, o.Cache = &e.Bytes, e.What, e.Cache
	case live.Retransmits:
		o.What, o.Count, o.Local, o.Remote = e.What, e.Count, e.Local, e.Remote
	}
	return o
}

func callObject(now time.Time, c *live.Call) object {
	return object{
		Time: now, Call: c.Name, Calls: c.Count, Errors: &c.Errors, TotalNs: c.Time.Nanoseconds(),
		MeanNs: c.Time.Nanoseconds() / int64(c.Count), P99Ns: c.P99.Nanoseconds(), TopPID: c.TopPID, Top: c.TopComm,
	}
}

// writeJSON writes a line. Bytes that are no text become U+FFFD.
func writeJSON(w io.Writer, o object) {
	// The error of writing comes again at the flush, and there is no other.
	_ = json.NewEncoder(w).Encode(o)
}
