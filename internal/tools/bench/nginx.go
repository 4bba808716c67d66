//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

// nginx measures what profiling costs a web server: requests per second on
// loopback with no profiler, each of ours and perf, in turn and round by round,
// so that drift of the machine meets them all alike.
func nginx(ctx context.Context, s settings) error {
	address, stop, err := serve(s.dir)
	if err != nil {
		return err
	}
	defer stop()

	nothing := tool{name: "no profiler"}
	tools := []tool{nothing, flametelRecord, otelcol, perfRecord}
	rates := map[string][]float64{}
	if _, err := wrk(ctx, address, s.duration); err != nil { // warms caches up
		return err
	}
	for range s.rounds {
		for _, t := range tools {
			rate, err := nginxRound(ctx, s, t, address)
			if err != nil {
				return err
			}
			rates[t.name] = append(rates[t.name], rate)
		}
	}

	base := measure.Median(rates[nothing.name])
	rows := [][]string{{"profiler", "requests/s, median", "ratio", "spread", "rounds"}}
	for _, t := range tools {
		r := rates[t.name]
		rows = append(rows, []string{
			t.name,
			fmt.Sprintf("%.0f", measure.Median(r)),
			fmt.Sprintf("%.3f", measure.Median(r)/base),
			measure.Spread(r),
			fmt.Sprintf("%d of %v", len(r), s.duration),
		})
	}
	return measure.Table(s.out, rows)
}

func nginxRound(ctx context.Context, s settings, t tool, address string) (float64, error) {
	if t.command == nil {
		return wrk(ctx, address, s.duration)
	}
	dir, err := os.MkdirTemp(s.dir, "nginx")
	if err != nil {
		return 0, err
	}
	r, err := t.start(dir)
	if err != nil {
		return 0, err
	}
	defer r.kill()
	if err := pause(ctx, 2*time.Second); err != nil {
		return 0, err
	}
	rate, err := wrk(ctx, address, s.duration)
	if err != nil {
		return 0, err
	}
	_, err = r.stop()
	return rate, err
}

const nginxConfig = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr crit;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  keepalive_requests 1000000;
  server {
    listen %[2]s;
    root %[1]s;
  }
}
`

// serve starts nginx on a free port of loopback with a page of 1 KiB.
func serve(dir string) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = l.Addr().String()
	_ = l.Close()
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, address), 0o600); err != nil {
		return "", nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), make([]byte, 1024), 0o600); err != nil {
		return "", nil, err
	}
	var group measure.Group
	if _, err := group.Start("nginx", "-p", dir, "-c", config); err != nil {
		return "", nil, err
	}
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return address, group.Stop, nil
		}
	}
	group.Stop()
	return "", nil, fmt.Errorf("nginx does not answer at %s", address)
}

var requestsPerSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// wrk returns how many requests per second the server answered.
func wrk(ctx context.Context, address string, duration time.Duration) (float64, error) {
	seconds := max(1, int(duration.Seconds()))
	out, err := exec.CommandContext(ctx, "wrk", "-t1", "-c16", fmt.Sprintf("-d%ds", seconds), "http://"+address+"/index.html").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	match := requestsPerSecond.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("wrk printed no rate:\n%s", out)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}
