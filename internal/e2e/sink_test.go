//go:build integration

package e2e

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"

	"github.com/flametel/flametel/internal/profcheck"
)

// maxMessageBytes is what one message of the receiver may have, encoded.
const maxMessageBytes = 3 << 20

// A sink takes OTLP profiles over HTTP, decodes them with the official protobuf
// package and holds them to the protocol.
type sink struct {
	url string

	mu       sync.Mutex
	messages []*profilespb.ProfilesData // fields as in an export request
	errs     []error
	largest  int
}

func newSink(t *testing.T) *sink {
	s := &sink{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.largest = max(s.largest, len(body))
	if r.URL.Path != "/v1development/profiles" {
		err = errors.Join(err, errors.New("request for "+r.URL.Path))
	}
	for _, problem := range profcheck.Check(body) {
		err = errors.Join(err, errors.New(problem))
	}
	if message, decodeErr := profcheck.Decode(body); decodeErr == nil {
		s.messages = append(s.messages, message)
	}
	if err != nil {
		s.errs = append(s.errs, err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// err returns what was wrong with the messages so far.
func (s *sink) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// profiles calls visit for each profile received. The sink must be at rest.
func (s *sink) profiles(visit func(*profilespb.ProfilesDictionary, *profilespb.Profile)) {
	for _, message := range s.messages {
		for _, rp := range message.ResourceProfiles {
			for _, sp := range rp.ScopeProfiles {
				for _, p := range sp.Profiles {
					visit(message.Dictionary, p)
				}
			}
		}
	}
}

// total is the sum of all CPU samples received.
func (s *sink) total() int64 {
	var sum int64
	s.profiles(func(d *profilespb.ProfilesDictionary, p *profilespb.Profile) {
		if d.StringTable[p.SampleType.TypeStrindex] != "samples" {
			return
		}
		for _, sample := range p.Samples {
			for _, v := range sample.Values {
				sum += v
			}
		}
	})
	return sum
}

// accounting adds up the attributes flametel.samples.* over all windows, by the
// rest of their names, and counts under "windows" how many there were.
func (s *sink) accounting() map[string]int64 {
	sums := map[string]int64{}
	s.profiles(func(d *profilespb.ProfilesDictionary, p *profilespb.Profile) {
		var found bool
		for _, index := range p.AttributeIndices {
			a := d.AttributeTable[index]
			if name, ok := strings.CutPrefix(d.StringTable[a.KeyStrindex], "flametel.samples."); ok {
				sums[name] += a.Value.GetIntValue()
				found = true
			}
		}
		if found {
			sums["windows"]++
		}
	})
	return sums
}
