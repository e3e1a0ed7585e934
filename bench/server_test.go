// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// opaVariable names the variable with the path of the OPA binary that the
// benchmarks of servers start.
const opaVariable = "REGOMETER_BENCH_OPA"

const (
	clients = 2 // Each sends its next request when it has the answer to the last one.
	warmUp  = 2000
)

func BenchmarkServer(b *testing.B) { benchmarkServer(b, "error", `{}`) }

// BenchmarkServerInfo has OPA's default log level, at which OPA logs requests.
func BenchmarkServerInfo(b *testing.B) { benchmarkServer(b, "info", `{}`) }

func BenchmarkServerConsole(b *testing.B) {
	benchmarkServer(b, "error", `{"decision_logs": {"console": true}}`)
}

// BenchmarkServerUpload contains the upload of all decisions.
func BenchmarkServerUpload(b *testing.B) {
	var received atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body, err := io.ReadAll(unpacked)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		received.Add(int64(bytes.Count(body, []byte(`"decision_id":`))))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{}")
	}))
	defer service.Close()
	config := fmt.Sprintf(`{"services": {"s": {"url": %q}},
		"decision_logs": {"service": "s", "reporting": {"min_delay_seconds": 1, "max_delay_seconds": 1}}}`, service.URL)
	s := startServer(b, "error", config)
	s.uploaded = &received
	s.benchmark(b)
}

// BenchmarkServerInstrument asks for the times of all operations.
func BenchmarkServerInstrument(b *testing.B) {
	s := startServer(b, "error", `{}`)
	s.query = "?instrument=true"
	s.benchmark(b)
}

// BenchmarkServerPlugin has Regometer's plugin, which must count each decision.
func BenchmarkServerPlugin(b *testing.B) {
	if !dropIn {
		b.Skip("OPA has no such plugin")
	}
	s := startServer(b, "error", `{"plugins": {"regometer": {}}}`)
	s.benchmark(b)
	const name = `opa_decision_received_total{source="server"}`
	if got := s.metrics(b)[name]; got != float64(s.sent) {
		b.Errorf("%s is %v after %d decisions", name, got, s.sent)
	}
}

func benchmarkServer(b *testing.B, level, config string) { startServer(b, level, config).benchmark(b) }

// A server is an OPA that runs.
type server struct {
	url      string
	pid      int
	query    string        // of the requests
	sent     int           // decisions asked for
	uploaded *atomic.Int64 // decisions that were uploaded; nil if none are
}

// startServer starts an OPA on a free port. Its output goes to /dev/null.
func startServer(b *testing.B, level, config string) *server {
	b.Helper()
	binary := os.Getenv(opaVariable)
	if binary == "" {
		b.Skipf("%s names no OPA", opaVariable)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	file := b.TempDir() + "/config.json"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "--server", "--addr", address, "--config-file", file,
		"--log-level", level, "--disable-telemetry", "--ignore", "*_test.rego", policyFolder)
	devNull, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer devNull.Close()
	cmd.Stdout, cmd.Stderr = devNull, devNull // with other writers, we would copy the output
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &server{url: "http://" + address, pid: cmd.Process.Pid}
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := s.do(http.MethodGet, "/health", ""); err == nil {
			return s
		} else if time.Since(start) > 30*time.Second {
			b.Fatal("OPA does not start: ", err)
		}
	}
}

// do sends a request and returns the answer.
func (s *server) do(method, path, body string) ([]byte, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	// To compress its metrics, OPA takes more than a megabyte whenever the
	// garbage collector has run since the last time.
	r.Header.Set("Accept-Encoding", "identity")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP status %d: %.300s", answer.StatusCode, text)
	}
	return text, err
}

// decide asks for n decisions.
func (s *server) decide(b *testing.B, n int) {
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for range (n + c) / clients {
				answer, err := s.do(http.MethodPost, "/v1/data/rbac/allow"+s.query, `{"input":`+input+`}`)
				if err != nil || !bytes.Contains(answer, []byte(`"result":true`)) {
					b.Errorf("answer %.300s, error %v", answer, err)
					return
				}
			}
		})
	}
	wg.Wait()
	s.sent += n
}

// settle waits until the decisions are uploaded.
func (s *server) settle(b *testing.B) {
	for start := time.Now(); s.uploaded != nil && s.uploaded.Load() < int64(s.sent); time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			b.Fatalf("%d of %d decisions were uploaded", s.uploaded.Load(), s.sent)
		}
	}
}

var sample = regexp.MustCompile(`(?m)^([a-z]\S*) (\S+)$`)

// metrics returns the values of /metrics.
func (s *server) metrics(b *testing.B) map[string]float64 {
	text, err := s.do(http.MethodGet, "/metrics", "")
	if err != nil {
		b.Fatal(err)
	}
	values := map[string]float64{}
	for _, m := range sample.FindAllStringSubmatch(string(text), -1) {
		values[m[1]], _ = strconv.ParseFloat(m[2], 64)
	}
	return values
}

// cpu returns the server's processor time in ns, with a resolution of 10 ms.
func (s *server) cpu(b *testing.B) float64 {
	process, err := procfs.NewProc(s.pid)
	if err != nil {
		b.Skip("only Linux says how much processor time a process takes: ", err)
	}
	stat, err := process.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return 1e9 * stat.CPUTime()
}

// benchmark reports the server's own counts of bytes and allocations for a
// request. Reading them allocates as much as 15 requests, so it is measured
// too, and subtracted.
func (s *server) benchmark(b *testing.B) {
	s.decide(b, min(warmUp, b.N))
	s.settle(b)
	first := s.metrics(b)
	before, cpu := s.metrics(b), s.cpu(b)
	b.ResetTimer()
	s.decide(b, b.N)
	b.StopTimer()
	s.settle(b)
	cpu = s.cpu(b) - cpu
	after := s.metrics(b)
	b.ReportAllocs() // or else Go does not print the next figures
	b.ReportMetric(cpu/float64(b.N), "cpu-ns/op")
	for name, unit := range map[string]string{"go_memstats_alloc_bytes_total": "B/op", "go_memstats_mallocs_total": "allocs/op"} {
		if first[name] == 0 {
			b.Fatalf("/metrics lacks %s", name)
		}
		b.ReportMetric((after[name]-before[name]-(before[name]-first[name]))/float64(b.N), unit)
	}
}
