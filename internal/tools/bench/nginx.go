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

// A webRound is what one run of wrk showed: the requests that the server
// answered in a second, and the CPU time that it used for each. The second is
// the steadier one when others use the CPUs too.
type webRound struct {
	rate float64
	cpu  time.Duration
}

// nginx measures what profiling costs a web server: requests per second on
// loopback with no profiler, each of ours and perf, in turn and round by round,
// so that drift of the machine meets them all alike.
func nginx(ctx context.Context, s settings) error {
	server, stop, err := serve(s.dir)
	if err != nil {
		return err
	}
	defer stop()

	nothing := tool{name: "no profiler"}
	tools := []tool{nothing, flametelRecord, otelcol, perfRecord}
	rates, costs := map[string][]float64{}, map[string][]float64{}
	if _, err := server.load(ctx, s.duration); err != nil { // warms caches up
		return err
	}
	for range s.rounds {
		for _, t := range tools {
			r, err := nginxRound(ctx, s, t, server)
			if err != nil {
				return err
			}
			rates[t.name] = append(rates[t.name], r.rate)
			costs[t.name] = append(costs[t.name], r.cpu.Seconds()*1e6)
		}
	}

	rows := [][]string{{"profiler", "requests/s, median", "ratio", "spread", "CPU us of nginx a request", "ratio", "spread", "rounds"}}
	for _, t := range tools {
		rate, cost := rates[t.name], costs[t.name]
		rows = append(rows, []string{
			t.name,
			fmt.Sprintf("%.0f", measure.Median(rate)),
			fmt.Sprintf("%.3f", measure.Median(rate)/measure.Median(rates[nothing.name])),
			measure.Spread(rate),
			fmt.Sprintf("%.2f", measure.Median(cost)),
			fmt.Sprintf("%.3f", measure.Median(cost)/measure.Median(costs[nothing.name])),
			measure.Spread(cost),
			fmt.Sprintf("%d of %v", len(rate), s.duration),
		})
	}
	return measure.Table(s.out, rows)
}

func nginxRound(ctx context.Context, s settings, t tool, server webServer) (webRound, error) {
	if t.command == nil {
		return server.load(ctx, s.duration)
	}
	dir, err := os.MkdirTemp(s.dir, "nginx")
	if err != nil {
		return webRound{}, err
	}
	r, err := t.start(dir)
	if err != nil {
		return webRound{}, err
	}
	defer r.kill()
	if err := pause(ctx, 2*time.Second); err != nil {
		return webRound{}, err
	}
	round, err := server.load(ctx, s.duration)
	if err != nil {
		return webRound{}, err
	}
	_, err = r.stop()
	return round, err
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

type webServer struct {
	address string
	pid     int // of its only process
}

// serve starts nginx on a free port of loopback with a page of 1 KiB.
func serve(dir string) (server webServer, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return webServer{}, nil, err
	}
	address := l.Addr().String()
	_ = l.Close()
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, address), 0o600); err != nil {
		return webServer{}, nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), make([]byte, 1024), 0o600); err != nil {
		return webServer{}, nil, err
	}
	var group measure.Group
	pid, err := group.Start("nginx", "-p", dir, "-c", config)
	if err != nil {
		return webServer{}, nil, err
	}
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return webServer{address, pid}, group.Stop, nil
		}
	}
	group.Stop()
	return webServer{}, nil, fmt.Errorf("nginx does not answer at %s", address)
}

var wrkReport = regexp.MustCompile(`(?s)(\d+) requests in .*Requests/sec:\s+([0-9.]+)`)

// load has wrk ask for the page for a while.
func (w webServer) load(ctx context.Context, duration time.Duration) (webRound, error) {
	before, err := measure.CPU(w.pid)
	if err != nil {
		return webRound{}, err
	}
	seconds := max(1, int(duration.Seconds()))
	out, err := exec.CommandContext(ctx, "wrk", "-t1", "-c16", fmt.Sprintf("-d%ds", seconds), "http://"+w.address+"/index.html").CombinedOutput()
	if err != nil {
		return webRound{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	after, err := measure.CPU(w.pid)
	if err != nil {
		return webRound{}, err
	}
	match := wrkReport.FindSubmatch(out)
	if match == nil {
		return webRound{}, fmt.Errorf("wrk printed no rate:\n%s", out)
	}
	requests, err := strconv.ParseInt(string(match[1]), 10, 64)
	if err != nil || requests == 0 {
		return webRound{}, fmt.Errorf("wrk made no request:\n%s", out)
	}
	rate, err := strconv.ParseFloat(string(match[2]), 64)
	return webRound{rate, (after - before) / time.Duration(requests)}, err
}
