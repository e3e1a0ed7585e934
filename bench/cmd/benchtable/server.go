// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/opabuild"
	"github.com/regometer/regometer/internal/app/opaserver"
)

// connections is the number of clients. Each sends its next request when it has
// the answer to the last one.
const connections = 2

// modes are the queries that each server gets.
var modes = []struct{ name, query string }{
	{"plain", ""},
	{"instrumented", "?instrument=true"},
}

// A server is a server that is measured.
type server struct {
	impl, title string
	unmodified  bool   // OPA as it is, else the binary of `regometer build`
	config      string // its configuration file; "" is without one
	uploads     bool   // it uploads its decision log to a service that only counts
	observed    bool   // Regometer's plugin must count each decision, straight from the server
	rival       bool   // whether Regometer loses where the figures are above the first server's
	target      bool   // whether allocations and bytes must be below the first server's
	beside      string // the figures are also shown divided by those of this impl
	besideTitle string
}

// servers are the servers of the tables, in order. The tables show all figures
// beside those of the first server. The second server is the same again, so its
// ratios show how much is noise.
var servers = []server{
	{impl: "unmodified", title: "unmodified OPA, nothing on", unmodified: true},
	{impl: "unmodified_again", title: "… a second server of the same binary", unmodified: true},
	{impl: "dropin", title: "with the drop-in, nothing on", rival: true},
	{impl: "plugin", title: "with the drop-in and the plugin", config: `{"plugins": {"regometer": {}}}`,
		observed: true, rival: true, target: true, beside: "dropin", besideTitle: "… by the drop-in alone"},
	{impl: "plugin_log", title: "with the drop-in and the plugin, also as decision logger", observed: true, rival: true,
		config: `{"plugins": {"regometer": {}}, "decision_logs": {"plugin": "regometer"}}`},
	{impl: "unmodified_console", title: "unmodified OPA, decision log on the console", unmodified: true,
		config: `{"decision_logs": {"console": true}}`},
	{impl: "dropin_console", title: "with the drop-in, decision log on the console", config: `{"decision_logs": {"console": true}}`,
		beside: "unmodified_console", besideTitle: "… by unmodified OPA with that log"},
}

// server measures the servers of the part server.
func (m *measurer) server(ctx context.Context) ([]byte, error) { return m.serve(ctx, servers) }

// serve measures servers of OPA as it is and of the binary of `regometer
// build`.
func (m *measurer) serve(ctx context.Context, servers []server) (lines []byte, failed error) {
	m.progress.Printf("server: building OPA %s as it is and with the drop-in, unless they are cached", m.OPAVersion)
	binaries := make(map[bool]string) // by whether it is unmodified
	for _, unmodified := range []bool{true, false} {
		binary, err := opabuild.Build(ctx, opabuild.Options{OPA: m.OPAVersion, Unmodified: unmodified, Progress: m.progress.W})
		if err != nil {
			return nil, err
		}
		binaries[unmodified] = binary
	}
	if err := os.CopyFS(m.work, bench.Policy); err != nil {
		return nil, err
	}
	var running []*runningServer
	for _, s := range servers {
		var uploads *sink
		if s.uploads {
			var err error
			if uploads, err = listen(countDecisions); err != nil {
				return nil, err
			}
			defer uploads.Close()
			s.config = fmt.Sprintf(uploadConfig, uploads.Addr())
		}
		config := filepath.Join(m.work, s.impl+".json")
		if err := os.WriteFile(config, []byte(cmp.Or(s.config, "{}")), 0o644); err != nil {
			return nil, err
		}
		process, err := opaserver.Start(ctx, opaserver.Options{Name: "server impl=" + s.impl, Log: os.DevNull, Dir: m.work,
			Command: []string{binaries[s.unmodified], "run", "--server", "--config-file", config, "rbac.rego", "data.json"}})
		if err != nil {
			return nil, err
		}
		defer func() { failed = errors.Join(failed, process.Stop()) }()
		running = append(running, &runningServer{server: s, process: process, sink: uploads})
	}
	return rounds(ctx, running, m.runs, m.requests, m.progress)
}

// rounds sends the same requests to the servers in turns. Each round begins
// with another server. It returns lines in the format of go test -bench.
func rounds(ctx context.Context, servers []*runningServer, runs, requests int, p measure.Progress) (lines []byte, err error) {
	for _, s := range servers {
		for _, mode := range modes {
			if _, err := s.load(ctx, mode.query, max(1, requests/5)); err != nil { // warming up
				return nil, err
			}
		}
	}
	for i := range runs {
		p.Printf("server: run %d of %d", i+1, runs)
		for _, mode := range modes {
			for j := range servers {
				s := servers[(i+j)%len(servers)]
				c, err := s.load(ctx, mode.query, requests)
				if err != nil {
					return nil, err
				}
				lines = fmt.Appendf(lines, "BenchmarkServer/case=%s/impl=%s %d %.0f ns/op %.0f cpu-ns/op %.0f B/op %.1f allocs/op\n",
					mode.name, s.impl, requests, c.time, c.cpu, c.bytes, c.allocs)
			}
		}
	}
	for _, s := range servers {
		if err := s.checkObserved(ctx); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

type runningServer struct {
	server
	process *opaserver.Server
	sink    *sink // nil if it does not upload
	sent    int   // decisions asked for
}

// A requestCost has the figures of a request: the time that passed and the
// server's processor time, both in ns, and the bytes and allocations.
type requestCost struct{ time, cpu, bytes, allocs float64 }

// scrapes is the number of readings of /metrics that measure the cost of a
// reading.
const scrapes = 3

// load sends requests and returns the figures of one.
//
// Reading /metrics allocates as well, and more for more series: about 3,000
// times and 200 KB with the plugin, as much as 15 requests. The requests must
// not be charged with it. So load reads several times before the requests, and
// subtracts the mean difference of two readings. Noise remains, because the
// runtime counts objects late, span by span. 10,000 requests of equal servers
// differ by 0.1 % in either direction. Processor time is read between the last
// of these readings and the reading after the requests.
func (s *runningServer) load(ctx context.Context, query string, requests int) (requestCost, error) {
	first, err := s.allocated(ctx)
	if err != nil {
		return requestCost{}, err
	}
	before := first
	for range scrapes {
		if before, err = s.allocated(ctx); err != nil {
			return requestCost{}, err
		}
	}
	cpu := cpuTime(s.process.PID)
	start := time.Now()
	errs := make([]error, connections)
	var wg sync.WaitGroup
	for c := range connections {
		wg.Go(func() {
			for i := c; i < requests && errs[c] == nil; i += connections {
				errs[c] = s.decide(ctx, query)
			}
		})
	}
	wg.Wait()
	passed := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return requestCost{}, err
	}
	s.sent += requests
	if s.sink != nil { // the upload is a part of the cost
		if _, err := await(ctx, time.Minute, s.sink.counts, "decisions", float64(s.sent)); err != nil {
			return requestCost{}, fmt.Errorf("impl=%s: %w", s.impl, err)
		}
	}
	cpu = cpuTime(s.process.PID) - cpu
	after, err := s.allocated(ctx)
	if err != nil {
		return requestCost{}, err
	}
	n := float64(requests)
	return requestCost{
		time:   float64(passed) / n,
		cpu:    cpu / n,
		bytes:  (after.bytes - before.bytes - (before.bytes-first.bytes)/scrapes) / n,
		allocs: (after.allocs - before.allocs - (before.allocs-first.allocs)/scrapes) / n,
	}, nil
}

// decide asks for one decision and checks it.
func (s *runningServer) decide(ctx context.Context, query string) error {
	status, answer, err := s.process.Do(ctx, http.MethodPost, "/v1/data/rbac/allow"+query, `{"input": `+bench.Input+`}`)
	if err != nil {
		return err
	}
	var decision struct{ Result bool }
	if err := json.Unmarshal(answer, &decision); status != http.StatusOK || err != nil || !decision.Result {
		return fmt.Errorf("impl=%s answered with HTTP status %d: %.300s", s.impl, status, answer)
	}
	return nil
}

// allocated returns bytes and allocations since the server's start.
func (s *runningServer) allocated(ctx context.Context) (requestCost, error) {
	values, err := s.metrics(ctx)
	bytes, ok := values["go_memstats_alloc_bytes_total"]
	allocs, ok2 := values["go_memstats_mallocs_total"]
	if err == nil && !(ok && ok2) {
		err = fmt.Errorf("impl=%s: /metrics has no counters of allocations", s.impl)
	}
	return requestCost{bytes: bytes, allocs: allocs}, err
}

// checkObserved returns an error unless the plugin has counted every decision
// straight from the server, or none if the server has no plugin.
func (s *runningServer) checkObserved(ctx context.Context) error {
	values, err := s.metrics(ctx)
	if err != nil {
		return err
	}
	want := 0
	if s.observed {
		want = s.sent
	}
	const received = "opa_decision_received_total"
	straight, logged := values[received+`{source="server"}`], values[received+`{source="decision_log"}`]
	if straight != float64(want) || logged != 0 {
		return fmt.Errorf("impl=%s: of %d decisions the plugin counted %.0f straight from the server and %.0f by the decision log, not %d and 0",
			s.impl, s.sent, straight, logged, want)
	}
	return nil
}

// metrics returns the values of /metrics by name and labels.
func (s *runningServer) metrics(ctx context.Context) (map[string]float64, error) {
	// Compression takes more than a megabyte whenever the garbage collector has
	// run since the last time.
	text, err := s.process.Get(ctx, "/metrics", "Accept-Encoding", "identity")
	if err != nil {
		return nil, err
	}
	values := make(map[string]float64)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if values[line[:end]], err = strconv.ParseFloat(line[end+1:], 64); err != nil {
			return nil, fmt.Errorf("/metrics: %q: %w", line, err)
		}
	}
	return values, nil
}

// cpuTime returns the processor time that a process has taken, in ns with a
// resolution of 10 ms, or 0 on systems other than Linux.
func cpuTime(pid int) float64 {
	process, missing := procfs.NewProc(pid)
	stat, err := process.Stat()
	if missing != nil || err != nil {
		return 0
	}
	return stat.CPUTime() * float64(time.Second)
}
