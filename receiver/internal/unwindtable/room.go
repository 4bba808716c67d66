//go:build linux

package unwindtable

import (
	"cmp"
	"errors"
	"slices"
)

// retired is a part of a pool that nothing leads to any more, but that
// programs may still be reading.
type retired struct {
	pool *extents
	what extent
}

// maxRetired bounds what waits to be used again: waiting for all programs takes
// the kernel some 20 ms, so it is not done for each process that ends.
const maxRetired = 1024

// tidy gives back what has gathered.
func (m *Manager) tidy() {
	m.state.Lock()
	defer m.state.Unlock()
	m.forgetFiles()
	if len(m.retired) > maxRetired {
		m.reclaim()
	}
}

// maxFiles bounds what is remembered of files that no process maps.
const maxFiles = 8192

// forgetFiles drops what is known of files that are not mapped, if that is
// much; their tables go with them.
func (m *Manager) forgetFiles() {
	if len(m.files) <= maxFiles {
		return
	}
	for o, f := range m.files {
		if f.users > 0 {
			continue
		}
		delete(m.files, o)
		if t := f.table; t != nil {
			t.files = slices.DeleteFunc(t.files, func(x *file) bool { return x == f })
			if len(t.files) == 0 {
				m.retireTable(t)
			}
		}
	}
}

// takeMappings finds room for a list. m.state is held.
func (m *Manager) takeMappings(count int) (extent, bool) {
	if x, ok := m.mappings.take(count); ok || len(m.retired) == 0 {
		return x, ok
	}
	m.reclaim()
	return m.mappings.take(count)
}

// reclaim waits for what was retired. m.state is held: nobody else writes.
func (m *Manager) reclaim() {
	m.opts.Kernel.Wait()
	for _, r := range m.retired {
		r.pool.give(r.what)
	}
	m.retired = nil
}

// The pool counts as short of room from three quarters on: then files are
// noted when they are seen in stacks.
func (m *Manager) watchRoom() {
	m.pressure.Store(m.rows.used > m.opts.Kernel.Rows()/4*3)
}

// takeRows finds room for rows; others give way if need be. m.state is held.
func (m *Manager) takeRows(count int) (extent, bool) {
	defer m.watchRoom()
	if x, ok := m.rows.take(count); ok {
		return x, true
	}
	if len(m.retired) > 0 {
		m.reclaim()
	}
	for _, t := range m.candidates() {
		if x, ok := m.rows.take(count); ok {
			return x, true
		}
		if m.evict(t) != nil {
			return extent{}, false
		}
		m.reclaim()
	}
	return m.rows.take(count)
}

// candidates are the tables that may give way, the coldest first: those that no
// process maps, then those not seen in stacks for a while.
func (m *Manager) candidates() []*table {
	now := m.opts.Now()
	type candidate struct {
		t    *table
		used bool
		seen uint64
	}
	var list []candidate
	for _, t := range m.tables {
		c := candidate{t: t}
		for _, f := range t.files {
			c.used = c.used || f.users > 0
			c.seen = max(c.seen, f.seen)
		}
		if !c.used || c.seen+uint64(m.opts.ColdAfter) < now {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		if a.used != b.used {
			if b.used {
				return -1
			}
			return 1
		}
		// Of two that are as cold the larger makes more room.
		return cmp.Or(cmp.Compare(a.seen, b.seen), cmp.Compare(b.t.where.count, a.t.where.count))
	})
	out := make([]*table, len(list))
	for i := range list {
		out[i] = list[i].t
	}
	return out
}

// evict takes a table out of the pool: first out of every list that leads to
// it.
func (m *Manager) evict(t *table) error {
	used := false
	for _, f := range t.files {
		f.state, f.table = fileRefused, nil
		used = used || f.users > 0
	}
	err := m.rewrite(t.files)
	if used {
		m.stats.Evicted++
	}
	m.retireTable(t)
	return err
}

func (m *Manager) retireTable(t *table) {
	if m.tables[t.hash] == t {
		delete(m.tables, t.hash)
	}
	m.retired = append(m.retired, retired{pool: &m.rows, what: t.where})
	t.files = nil
}

// rewrite publishes again all spaces that use one of some files. m.state is
// held.
func (m *Manager) rewrite(files []*file) error {
	var errs []error
	for _, s := range m.spaces {
		if s.list == nil || !slices.ContainsFunc(s.list.files, func(f *file) bool { return slices.Contains(files, f) }) {
			continue
		}
		image := s.current()
		list := make([]*file, len(image.Mappings))
		for i := range image.Mappings {
			list[i] = m.files[image.Mappings[i].Object]
		}
		errs = append(errs, m.publishLocked(s, image, list))
	}
	return errors.Join(errs...)
}
