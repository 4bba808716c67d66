//go:build integration

package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// prometheus is a server that fetches from one address.
type prometheus struct {
	t   *testing.T
	url string
}

// scrapeInterval is how often it does.
const scrapeInterval = time.Second

var listening = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// startPrometheus runs Prometheus with the configuration of examples, other than
// that it fetches from target and more often. It ends with the test.
func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	example, err := os.ReadFile(filepath.Join(root, "examples", "prometheus.yml"))
	require.NoError(t, err)
	config := strings.Replace(string(example), "127.0.0.1:9464", target, 1)
	require.Contains(t, config, target)
	config = strings.Replace(config, "scrape_interval: 15s", "scrape_interval: "+scrapeInterval.String(), 1)
	require.Contains(t, config, scrapeInterval.String())
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	logs, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	defer func() { _ = logs.Close() }()
	cmd := exec.Command("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, logs, logs
	require.NoError(t, cmd.Start(), "make test installs prometheus")
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			text, _ := os.ReadFile(logs.Name())
			t.Logf("Prometheus printed:\n%s", text)
		}
	})
	p := &prometheus{t: t}
	eventually(t, "Prometheus to listen", func() bool {
		text, err := os.ReadFile(logs.Name())
		require.NoError(t, err)
		if found := listening.FindSubmatch(text); found != nil {
			p.url = "http://" + string(found[1])
		}
		return p.url != ""
	})
	return p
}

// answer is what the HTTP API of Prometheus says.
type answer[T any] struct {
	Status, Error string
	Data          T
}

// get asks the API and fails the test if it is not understood. ok is false while
// Prometheus is not ready.
func get[T any](p *prometheus, path string, params url.Values) (data T, ok bool) {
	p.t.Helper()
	got, err := http.Get(p.url + path + "?" + params.Encode())
	require.NoError(p.t, err)
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode == http.StatusServiceUnavailable {
		return data, false
	}
	var a answer[T]
	require.NoError(p.t, json.NewDecoder(got.Body).Decode(&a))
	require.Equal(p.t, "success", a.Status, "%s: %s", params, a.Error)
	return a.Data, true
}

// point is one element of an instant vector.
type point struct {
	labels map[string]string
	value  float64
}

// query evaluates an expression at a time, now if it is zero.
func (p *prometheus) query(expression string, at time.Time) (list []point) {
	p.t.Helper()
	params := url.Values{"query": {expression}}
	if !at.IsZero() {
		params.Set("time", strconv.FormatFloat(float64(at.UnixMilli())/1e3, 'f', 3, 64))
	}
	data, _ := get[struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}](p, "/api/v1/query", params)
	for _, r := range data.Result {
		text, ok := r.Value[1].(string)
		require.True(p.t, ok)
		value, err := strconv.ParseFloat(text, 64)
		require.NoError(p.t, err)
		list = append(list, point{r.Metric, value})
	}
	return list
}

// value is that of the only element of a vector, zero if there is none.
func (p *prometheus) value(expression string) float64 {
	p.t.Helper()
	list := p.query(expression, time.Time{})
	require.LessOrEqual(p.t, len(list), 1, expression)
	if len(list) == 0 {
		return 0
	}
	return list[0].value
}

// settle waits until a counter is n, and then until what came with that has been
// fetched for sure. It returns the time of the values that were fetched last.
func (p *prometheus) settle(counter string, n int) time.Time {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%s to be %d", counter, n), func() bool { return p.value(counter) == float64(n) })
	// A fetch may come between two metrics of a message; the next one is whole.
	var last float64
	for range 3 {
		eventually(p.t, "Prometheus to fetch", func() bool {
			at := p.value("timestamp(up) and up == 1")
			if at <= last {
				return false
			}
			last = at
			return true
		})
	}
	return time.UnixMilli(int64(math.Round(last * 1e3)))
}
