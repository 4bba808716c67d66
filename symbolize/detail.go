package symbolize

import (
	"time"

	"github.com/flametel/flametel/symbolize/addr"
)

// detail asks the tables of an object. Guarded by Symbolizer.mu, but while a
// question is open the tables belong to the goroutine that reads.
type detail struct {
	tables *tables
	asking chan answer   // not nil while an answer is late
	asked  *tables       // that it comes from
	poor   []addr.Offset // frames that were made without an answer
	gone   bool          // the debug information is to be given back after the answer

	held    holding // the debug information
	goBytes int64   // of the Go table, counted with the object
}

// release gives back the debug information; it is read again if need be.
func (d *detail) release() {
	switch {
	case d.asking != nil:
		d.gone = true
	case d.tables != nil:
		d.tables.dropDWARF()
	}
}

// forget gives back the tables as well.
func (d *detail) forget() {
	if d.asking == nil && d.tables != nil {
		d.tables.dropDWARF()
	}
	d.tables, d.poor, d.goBytes = nil, nil, 0
}

// ask asks the tables of an object for an address, and for the ranges of
// functions if the object is to have them. ok is false if the answer is late: it
// will be there for those who ask again later.
func (s *Symbolizer) ask(o *Object, at addr.File, ranges bool) (a answer, ok bool) {
	d := &o.detail
	if d.asking != nil || d.tables == nil {
		return a, false
	}
	patience := s.patience.load
	if s.late > 0 {
		patience = s.patience.short
	}
	c, t := make(chan answer, 1), d.tables
	go func() { c <- t.lookup(at, ranges) }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-c:
		s.hear(o, t, &a)
		return a, true
	case <-timer.C:
		d.asking, d.asked = c, t
		s.late++
		return a, false
	}
}

// hear counts what the tables hold after an answer.
func (s *Symbolizer) hear(o *Object, t *tables, a *answer) {
	d := &o.detail
	if d.gone || t != d.tables { // which are those of an image that was given back
		t.dropDWARF()
		a.dwarfBytes, d.gone = 0, false
	}
	if t != d.tables {
		return
	}
	if a.dwarfBytes != 0 || d.held.bytes != 0 {
		s.hold(&d.held, d, a.dwarfBytes-d.held.bytes)
	}
	if o.image != nil {
		s.hold(&o.held, o, a.goBytes-d.goBytes)
		d.goBytes = a.goBytes
		if a.ranges != nil && o.functions == nil {
			o.functions = a.ranges
			s.hold(&o.held, o, a.ranges.Bytes())
		}
	}
}

// poll looks for a late answer. With it the frames that were made without one
// are forgotten, so that they are made again.
func (s *Symbolizer) poll(o *Object) {
	d := &o.detail
	select {
	case a := <-d.asking:
		t := d.asked
		d.asking, d.asked = nil, nil
		s.late--
		s.hear(o, t, &a)
	default:
		return
	}
	for _, off := range d.poor {
		if o.frames[off] != nil {
			delete(o.frames, off)
			s.hold(&o.held, o, -frameBytes)
		}
	}
	d.poor = nil
}
