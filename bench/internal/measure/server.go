// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bytes"
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

	"github.com/regometer/regometer/bench/embedded"
	"github.com/regometer/regometer/internal/app/opaserver"
)

// Connections is the number of clients, each of which sends its next request
// when it has the answer to the last.
const Connections = 2

// Modes are the queries that each server gets, by name.
var Modes = []struct{ Name, Query string }{
	{"plain", ""},
	{"instrumented", "?instrument=true"},
}

// A Server is one to measure.
type Server struct {
	Impl     string // its name
	Binary   string // of OPA
	Config   string // its configuration file; "" is without one
	Observed bool   // Regometer's plugin is to count each decision, straight from the server
}

// Servers starts the servers, sends the same requests to them in turns and
// reads from their own /metrics what a request took. It returns lines in the
// format of go test -bench. What it writes goes to the folder work.
func Servers(ctx context.Context, work string, servers []Server, runs, requests int, p Progress) (lines []byte, failed error) {
	var policy []string
	for _, name := range []string{"rbac.rego", "data.json"} {
		text, err := embedded.Policy.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(work, name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return nil, err
		}
		policy = append(policy, file)
	}
	var running []*opaServer
	for _, server := range servers {
		command := append([]string{server.Binary, "run", "--server"}, policy...)
		if server.Config != "" {
			file := filepath.Join(work, server.Impl+".json")
			if err := os.WriteFile(file, []byte(server.Config), 0o644); err != nil {
				return nil, err
			}
			command = append(command, "--config-file", file)
		}
		s, err := opaserver.Start(ctx, opaserver.Options{Name: "server impl=" + server.Impl, Command: command, Log: os.DevNull})
		if err != nil {
			return nil, err
		}
		defer func() { failed = errors.Join(failed, s.Stop()) }()
		running = append(running, &opaServer{Server: server, process: s})
	}
	return rounds(ctx, running, runs, requests, p)
}

// rounds measures the servers by turns, each round beginning with another one.
func rounds(ctx context.Context, servers []*opaServer, runs, requests int, p Progress) (lines []byte, err error) {
	for _, s := range servers {
		for _, mode := range Modes {
			if _, err := s.load(ctx, mode.Query, max(1, requests/5)); err != nil { // warming up
				return nil, err
			}
		}
	}
	for i := range runs {
		p.Printf("server: run %d of %d", i+1, runs)
		for _, mode := range Modes {
			for j := range servers {
				s := servers[(i+j)%len(servers)]
				f, err := s.load(ctx, mode.Query, requests)
				if err != nil {
					return nil, err
				}
				lines = fmt.Appendf(lines, "BenchmarkServer/case=%s/impl=%s %d %.0f ns/op %.0f cpu-ns/op %.0f B/op %.1f allocs/op\n",
					mode.Name, s.Impl, requests, f.time, f.cpu, f.bytes, f.allocs)
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

// An opaServer is a server that is running.
type opaServer struct {
	Server
	process *opaserver.Server
	sent    int // decisions asked for
}

// figures are what a request took: passed time, the server's processor time,
// both in ns, and what it allocated.
type figures struct{ time, cpu, bytes, allocs float64 }

// scrapes is how many readings of /metrics tell what one costs.
const scrapes = 3

// load sends that many requests and returns the figures of one.
//
// Reading /metrics allocates as well, the more the more series there are: about
// 3,000 times and 200 KB with the plugin, as much as 15 requests. So that no
// part of it is charged to the requests, it is read several times before them,
// and the mean of what came between two readings is taken off. What remains is
// that the runtime counts objects late, span by span: 10,000 requests of equal
// servers differ by 0.1 %, either way. Processor time is read between the last
// of these readings and the one that follows the requests.
func (s *opaServer) load(ctx context.Context, query string, requests int) (figures, error) {
	first, err := s.allocated(ctx)
	if err != nil {
		return figures{}, err
	}
	before := first
	for range scrapes {
		if before, err = s.allocated(ctx); err != nil {
			return figures{}, err
		}
	}
	cpu := processorTime(s.process.PID)
	start := time.Now()
	errs := make([]error, Connections)
	var wg sync.WaitGroup
	for c := range Connections {
		n := requests / Connections
		if c < requests%Connections {
			n++
		}
		wg.Go(func() {
			for range n {
				if errs[c] = s.decide(ctx, query); errs[c] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	passed := time.Since(start)
	cpu = processorTime(s.process.PID) - cpu
	if err := errors.Join(errs...); err != nil {
		return figures{}, err
	}
	s.sent += requests
	after, err := s.allocated(ctx)
	if err != nil {
		return figures{}, err
	}
	n := float64(requests)
	return figures{
		time:   float64(passed) / n,
		cpu:    cpu / n,
		bytes:  (after.bytes - before.bytes - (before.bytes-first.bytes)/scrapes) / n,
		allocs: (after.allocs - before.allocs - (before.allocs-first.allocs)/scrapes) / n,
	}, nil
}

// decide asks for one decision and checks it.
func (s *opaServer) decide(ctx context.Context, query string) error {
	status, answer, err := s.process.Do(ctx, http.MethodPost, "/v1/data/rbac/allow"+query, `{"input": `+embedded.Input+`}`)
	if err != nil {
		return err
	}
	var decision struct{ Result bool }
	if err := json.Unmarshal(answer, &decision); status != http.StatusOK || err != nil || !decision.Result {
		return fmt.Errorf("impl=%s answered with HTTP status %d: %.300s", s.Impl, status, answer)
	}
	return nil
}

// allocated returns what the server has allocated since its start. Only the
// fields of that are filled in.
func (s *opaServer) allocated(ctx context.Context) (f figures, err error) {
	values, err := s.metrics(ctx)
	if err != nil {
		return f, err
	}
	for name, to := range map[string]*float64{
		"go_memstats_alloc_bytes_total": &f.bytes,
		"go_memstats_mallocs_total":     &f.allocs,
	} {
		var ok bool
		if *to, ok = values[name]; !ok {
			return f, fmt.Errorf("impl=%s: /metrics has no %s", s.Impl, name)
		}
	}
	return f, nil
}

// checkObserved returns an error unless the plugin has counted every decision,
// by the way that is measured, or is not there where it is not to be.
func (s *opaServer) checkObserved(ctx context.Context) error {
	values, err := s.metrics(ctx)
	if err != nil {
		return err
	}
	want := 0
	if s.Observed {
		want = s.sent
	}
	const received = "opa_decision_received_total"
	straight, logged := values[received+`{source="server"}`], values[received+`{source="decision_log"}`]
	if straight != float64(want) || logged != 0 {
		return fmt.Errorf("impl=%s: of %d decisions the plugin counted %.0f straight from the server and %.0f by the decision log, not %d and 0",
			s.Impl, s.sent, straight, logged, want)
	}
	return nil
}

// metrics returns the values of /metrics by name and labels.
func (s *opaServer) metrics(ctx context.Context) (map[string]float64, error) {
	// Compression takes more than a megabyte, whenever the garbage collector
	// has been there since the last time.
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

// processorTime returns the processor time that a process has taken, in ns
// with a resolution of 10 ms, or 0 on systems other than Linux.
func processorTime(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the program's name, in brackets: what follows the
	// last of them are the third and later ones. 14 and 15 are the time in
	// user and in system mode.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	var ticks float64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	const tick = 10 * time.Millisecond // whatever the kernel's own
	return ticks * float64(tick)
}
