package debuginfod

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flametel/flametel/symbolize/debuginfo"
	"github.com/flametel/flametel/symbolize/elffile"
)

const (
	// workers is how many files are fetched at a time.
	workers = 2
	// maxQueue bounds the files that wait; more are asked for again later.
	maxQueue = 64
	// maxAbsent bounds the answers in memory; those on disk stay.
	maxAbsent = 4096
	// minBuildID is the shortest build ID that is asked for: shorter ones are
	// not unique. The usual are hashes of 8 to 20 bytes.
	minBuildID = 8
)

// State is how far a file is.
type State uint8

// The states.
const (
	// Missing: no server has it, or none can be asked now.
	Missing State = iota
	// Pending: it is being fetched; Generation changes when that has ended.
	Pending
	// Found: it is there.
	Found
)

// Client fetches and keeps debug files. It is safe for concurrent use.
type Client struct {
	opts    Options
	servers []*server
	http    *http.Client
	cache   *cache

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   sync.WaitGroup
	queue  chan string

	mu      sync.Mutex
	closed  bool
	pending map[string]struct{}
	absent  map[string]time.Time // until when it need not be asked for

	generation atomic.Uint64
	stats      counters
}

type counters struct{ fetched, bytes, absent, refused, failed, dropped atomic.Uint64 }

// Stats counts what happened since New.
type Stats struct {
	Fetched uint64 // files, and their bytes
	Bytes   uint64
	Absent  uint64 // files that no server has
	Refused uint64 // answers that were not the file, or too large
	Failed  uint64 // requests without an answer
	Dropped uint64 // files not asked for because too many waited
}

// New checks the options, prepares the directory and starts the workers. It
// does not ask any server.
func New(o Options) (*Client, error) {
	o.complete()
	if len(o.URLs) == 0 {
		return nil, errors.New("debuginfod: no server is given")
	}
	c := &Client{
		opts: o, queue: make(chan string, maxQueue),
		pending: make(map[string]struct{}), absent: make(map[string]time.Time),
	}
	for _, text := range o.URLs {
		u, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, &server{base: u})
	}
	var err error
	if c.cache, err = openCache(o.CacheDir, o.MaxCacheBytes, o.AbsentFor, o.Now); err != nil {
		return nil, err
	}
	c.http = newHTTPClient(o.Stall)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.done.Add(workers)
	for range workers {
		go c.work()
	}
	return c, nil
}

// Close gives up what is being fetched and waits for the workers. Find finds
// nothing afterwards.
func (c *Client) Close() {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return
	}
	c.cancel()
	c.done.Wait()
	c.http.CloseIdleConnections()
	c.cache.close()
}

// Find returns the debug file of a build ID if it is there, which the caller
// closes. Otherwise it sees to it that it is fetched, unless it is known that
// there is none.
func (c *Client) Find(buildID []byte) (*debuginfo.Found, State) {
	if len(buildID) < minBuildID || len(buildID) > elffile.MaxGNUBuildID {
		return nil, Missing
	}
	id := hex.EncodeToString(buildID)
	if state, known := c.known(id); known {
		return nil, state
	}
	if f := c.cache.open(id); f != nil {
		return f, Found
	}
	if until, ok := c.cache.absentUntil(id); ok {
		c.setAbsent(id, until)
		return nil, Missing
	}
	return nil, c.enqueue(id)
}

// known tells what needs no look into the directory.
func (c *Client) known(id string) (State, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return Missing, true
	}
	if _, ok := c.pending[id]; ok {
		return Pending, true
	}
	until, ok := c.absent[id]
	if ok && c.opts.Now().Before(until) {
		return Missing, true
	}
	delete(c.absent, id)
	return Missing, false
}

func (c *Client) setAbsent(id string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.absent) >= maxAbsent {
		clear(c.absent)
	}
	c.absent[id] = until
}

func (c *Client) enqueue(id string) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return Missing
	}
	if _, ok := c.pending[id]; ok {
		return Pending
	}
	select {
	case c.queue <- id:
		c.pending[id] = struct{}{}
		return Pending
	default:
		c.stats.dropped.Add(1)
		return Missing
	}
}

// Generation changes whenever a file has arrived, so that it is worth while to
// ask again for those that were Pending.
func (c *Client) Generation() uint64 { return c.generation.Load() }

// Stats returns the counters.
func (c *Client) Stats() Stats {
	s := &c.stats
	return Stats{
		Fetched: s.fetched.Load(), Bytes: s.bytes.Load(), Absent: s.absent.Load(),
		Refused: s.refused.Load(), Failed: s.failed.Load(), Dropped: s.dropped.Load(),
	}
}

func (c *Client) work() {
	defer c.done.Done()
	for {
		select {
		case <-c.ctx.Done():
			return
		case id := <-c.queue:
			c.get(id)
		}
	}
}

// get asks the servers for a file, one after the other.
func (c *Client) get(id string) {
	until, arrived := c.ask(id)
	if !arrived {
		c.setAbsent(id, until)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	if arrived {
		c.generation.Add(1)
	}
}

// ask returns whether a file has arrived, else until when it need not be asked
// for again.
func (c *Client) ask(id string) (until time.Time, arrived bool) {
	failed := false
	for _, s := range c.servers {
		now := c.opts.Now()
		if s.down(now) {
			failed = true
			continue
		}
		n, err := c.fetch(s.base, id)
		switch {
		case err == nil:
			s.answered()
			c.stats.fetched.Add(1)
			c.stats.bytes.Add(uint64(n))
			return time.Time{}, true
		case errors.Is(err, errAbsent):
			s.answered()
		case errors.Is(err, errRefused):
			s.answered()
			c.stats.refused.Add(1)
		default:
			failed = true
			c.stats.failed.Add(1)
			s.failed(now)
		}
	}
	now := c.opts.Now()
	if failed {
		return now.Add(c.opts.RetryAfter), false
	}
	c.stats.absent.Add(1)
	c.cache.setAbsent(id)
	return now.Add(c.opts.AbsentFor), false
}
