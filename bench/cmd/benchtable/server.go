// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/regometer/regometer/bench/embedded"
	"github.com/regometer/regometer/opa/opabuild"
)

// connections is the number of clients, each of which sends its next request
// when it has the answer to the last.
const connections = 2

// serverModes are the queries that each server gets, by name.
var serverModes = []struct{ name, query string }{
	{"plain", ""},
	{"instrumented", "?instrument=true"},
}

// server sends the same requests in turns to OPA as it is and to OPA with the
// drop-in, both with the decision log on, and reads from their own /metrics
// what a request took.
func (m *measurer) server(ctx context.Context) (lines []byte, err error) {
	m.progress.printf("server: building OPA %s as it is and with the drop-in, unless they are cached", m.opaVersion)
	var policy []string
	for _, name := range []string{"rbac.rego", "data.json"} {
		text, err := embedded.Policy.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(m.work, name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return nil, err
		}
		policy = append(policy, file)
	}
	servers := []*opaServer{{impl: "opa"}, {impl: "regometer"}}
	for _, s := range servers {
		binary, err := opabuild.Build(ctx, opabuild.Options{OPA: m.opaVersion, Unmodified: s.impl == "opa", Progress: m.progress.w})
		if err != nil {
			return nil, err
		}
		if err := s.start(ctx, binary, policy); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.stop()) }()
	}
	for _, s := range servers {
		for _, mode := range serverModes {
			if _, err := s.load(ctx, mode.query, m.requests/5); err != nil { // warming up
				return nil, err
			}
		}
	}
	for i := range m.runs {
		m.progress.printf("server: run %d of %d", i+1, m.runs)
		for _, mode := range serverModes {
			for j := range servers {
				s := servers[(i+j)%2]
				f, err := s.load(ctx, mode.query, m.requests)
				if err != nil {
					return nil, err
				}
				lines = fmt.Appendf(lines, "BenchmarkServer/case=%s/impl=%s %d %.0f ns/op %.0f cpu-ns/op %.0f B/op %.1f allocs/op\n",
					mode.name, s.impl, m.requests, f.time, f.cpu, f.bytes, f.allocs)
			}
		}
	}
	return lines, nil
}

// An opaServer is a running process.
type opaServer struct {
	impl   string
	url    string
	cmd    *exec.Cmd
	pid    int
	ended  chan struct{} // closed when the process has ended
	client http.Client
}

// start starts a server on a free port of loopback and waits until it is
// ready. Its decision log is written to nowhere.
func (s *opaServer) start(ctx context.Context, binary string, policy []string) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	s.url = "http://" + address
	s.client = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}, Timeout: 30 * time.Second}
	args := []string{"run", "--server", "--addr", address, "--log-level", "error", "--skip-version-check", "--set", "decision_logs.console=true"}
	s.cmd = exec.CommandContext(ctx, binary, append(args, policy...)...)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.WaitDelay = 10 * time.Second
	// The log goes to a file of the system's that keeps nothing, not through a
	// pipe to this process, which would be measured too.
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	s.cmd.Stdout, s.cmd.Stderr = null, null
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.pid = s.cmd.Process.Pid
	s.ended = make(chan struct{})
	go func() {
		_ = s.cmd.Wait() // how it ended is in ProcessState
		close(s.ended)
	}()
	for deadline := time.Now().Add(30 * time.Second); ; {
		err := s.get(ctx, "/health", io.Discard)
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the server ended at once (%s); to see why, run %s", s.cmd.ProcessState, strings.Join(s.cmd.Args, " "))
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("the server is not ready after 30 s: %w", err), s.stop())
		}
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// stop ends the server and waits for its end.
func (s *opaServer) stop() error {
	s.client.CloseIdleConnections()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.ended:
	case <-time.After(20 * time.Second):
		return s.cmd.Process.Kill()
	}
	return nil
}

func (s *opaServer) get(ctx context.Context, path string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	return s.do(request, to)
}

func (s *opaServer) do(request *http.Request, to io.Writer) error {
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	_, err = io.Copy(to, response.Body)
	return err
}

// figures are what a request took: passed time, the server's processor time,
// both in ns, and what it allocated.
type figures struct{ time, cpu, bytes, allocs float64 }

// load sends that many requests and returns the figures of one.
func (s *opaServer) load(ctx context.Context, query string, requests int) (figures, error) {
	before, err := s.totals(ctx)
	if err != nil {
		return figures{}, err
	}
	start := time.Now()
	errs := make([]error, connections)
	var wg sync.WaitGroup
	for c := range connections {
		n := requests / connections
		if c < requests%connections {
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
	if err := errors.Join(errs...); err != nil {
		return figures{}, err
	}
	after, err := s.totals(ctx)
	if err != nil {
		return figures{}, err
	}
	n := float64(requests)
	return figures{
		time:   float64(passed) / n,
		cpu:    (after.cpu - before.cpu) / n,
		bytes:  (after.bytes - before.bytes) / n,
		allocs: (after.allocs - before.allocs) / n,
	}, nil
}

// decide asks for one decision and checks it.
func (s *opaServer) decide(ctx context.Context, query string) error {
	body := strings.NewReader(`{"input": ` + embedded.Input + `}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/data/rbac/allow"+query, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	var answer bytes.Buffer
	if err := s.do(request, &answer); err != nil {
		return err
	}
	var decision struct{ Result bool }
	if err := json.Unmarshal(answer.Bytes(), &decision); err != nil || !decision.Result {
		return fmt.Errorf("impl=%s answered %s", s.impl, &answer)
	}
	return nil
}

// totals returns what the server has used since its start: from its /metrics,
// and processor time from the system. The field time is not filled in.
func (s *opaServer) totals(ctx context.Context) (figures, error) {
	f := figures{cpu: processorTime(s.pid)}
	var text bytes.Buffer
	if err := s.get(ctx, "/metrics", &text); err != nil {
		return f, err
	}
	wanted := map[string]*float64{
		"go_memstats_alloc_bytes_total": &f.bytes,
		"go_memstats_mallocs_total":     &f.allocs,
	}
	lines := bufio.NewScanner(&text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		to := wanted[name]
		if to == nil {
			continue
		}
		var err error
		if *to, err = strconv.ParseFloat(value, 64); err != nil {
			return f, fmt.Errorf("/metrics: %s: %w", name, err)
		}
		delete(wanted, name)
	}
	for name := range wanted {
		return f, fmt.Errorf("/metrics has no %s", name)
	}
	return f, lines.Err()
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
