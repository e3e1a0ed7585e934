// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package opaserver starts OPA servers, sends them requests and stops them.
package opaserver

import (
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
	"slices"
	"strings"
	"syscall"
	"time"
)

// Options say which server to start.
type Options struct {
	Name    string   // for errors, such as "unmodified OPA"
	Command []string // such as opa run --server; Start adds flags at the end
	Dir     string   // where the server runs; "" is the current folder
	Log     string   // the file for the server's output
}

// A Server is a running OPA server.
type Server struct {
	URL     string
	Version string // as OPA itself reports it

	client    http.Client
	name, log string
	cmd       *exec.Cmd
	exited    chan struct{} // closed when the process has ended
	patience  time.Duration // of Stop
}

const (
	startTimeout = time.Minute      // limits the time until a server is ready
	stopTimeout  = 15 * time.Second // limits the time until it ends; OPA lets requests end for 10 s
)

// freeAddress returns an address with a free port. OPA can choose a port
// itself, but does not say which one.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("no free port on 127.0.0.1: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// Start starts a server on a free loopback port and waits until the server
// answers. The end of ctx ends the waiting, not the server. Stop ends the
// server.
func Start(ctx context.Context, o Options) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(o.Log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle

	args := slices.Concat(o.Command[1:], []string{"--addr", address, "--log-level", "error", "--skip-version-check"})
	s := &Server{
		URL:    "http://" + address,
		client: http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 30 * time.Second},
		name:   o.Name, log: o.Log, cmd: exec.Command(o.Command[0], args...),
		exited: make(chan struct{}), patience: stopTimeout,
	}
	// A file and not a pipe, so that the output takes none of our time.
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = o.Dir, log, log
	// OPA would take flags from the user's variables.
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "OPA_") })
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the %s: %w", s.name, err)
	}
	go func() {
		_ = s.cmd.Wait() // the state is in s.cmd.ProcessState
		close(s.exited)
	}()
	if err := s.waitUntilReady(ctx); err != nil {
		_ = s.Stop() // err says more than how the server ended
		return nil, err
	}
	return s, nil
}

func (s *Server) waitUntilReady(ctx context.Context) error {
	timeout := time.After(startTimeout)
	for {
		if s.ready(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.exited:
			return s.ended()
		case <-timeout:
			return fmt.Errorf("the %s is not ready on %s after %v%s", s.name, s.URL, startTimeout, s.lastLines())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ready reports whether the server answers, and notes its version.
func (s *Server) ready(ctx context.Context) bool {
	if status, _, err := s.send(ctx, http.MethodGet, "/health", ""); err != nil || status != http.StatusOK {
		return false
	}
	_, body, err := s.send(ctx, http.MethodGet, "/v1/config", "")
	var config struct {
		Result struct{ Labels struct{ Version string } }
	}
	if err != nil || json.Unmarshal(body, &config) != nil {
		return false
	}
	s.Version = config.Result.Labels.Version
	return true
}

// Stop asks the server to end, and waits for the end. If that takes too long,
// it kills the server. It returns an error if the server failed or was killed.
func (s *Server) Stop() error {
	s.client.CloseIdleConnections()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = s.cmd.Process.Kill() // Windows has no signals
		<-s.exited
		return nil
	}
	select {
	case <-s.exited:
	case <-time.After(s.patience):
		_ = s.cmd.Process.Kill() // it may just have ended
		<-s.exited
		return fmt.Errorf("the %s did not end within %v and was killed%s", s.name, s.patience, s.lastLines())
	}
	if !s.cmd.ProcessState.Success() {
		return s.ended()
	}
	return nil
}

// Get returns a page. It fails unless the status is 200.
func (s *Server) Get(ctx context.Context, path string) ([]byte, error) {
	status, body, err := s.Do(ctx, http.MethodGet, path, "")
	if err == nil && status != http.StatusOK {
		return nil, fmt.Errorf("the %s answered GET %s with HTTP status %d: %.200s", s.name, path, status, body)
	}
	return body, err
}

// Do sends a request and reads the whole answer. A body that is not empty must
// be JSON. If the server has ended, the error says so and quotes the last lines
// of its output.
func (s *Server) Do(ctx context.Context, method, path, body string) (status int, answer []byte, err error) {
	if status, answer, err = s.send(ctx, method, path, body); err == nil {
		return status, answer, nil
	}
	select { // wait, because the client may notice the server's end first, and a Ctrl-C reaches the server too
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	case <-time.After(200 * time.Millisecond):
	}
	select {
	case <-s.exited:
		return 0, nil, s.ended()
	default:
		return 0, nil, fmt.Errorf("the %s does not answer: %w%s", s.name, err, s.lastLines())
	}
}

func (s *Server) send(ctx context.Context, method, path, body string) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// ended returns the error of a server that has ended.
func (s *Server) ended() error {
	return fmt.Errorf("the %s ended unexpectedly (%v)%s", s.name, s.cmd.ProcessState, s.lastLines())
}

// lastLines returns the last lines of the server's output, without decisions,
// as the end of an error message.
func (s *Server) lastLines() string {
	const keep, width = 12, 300
	text, _ := os.ReadFile(s.log) // without the file there are no lines
	var lines []string
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.Contains(line, []byte(`"msg":"Decision Log"`)) {
			lines = append(lines, fmt.Sprintf("%.*s", width, line))
		}
	}
	if len(lines) == 0 {
		return "; it wrote no message"
	}
	return "; its last lines:\n  " + strings.Join(lines[max(0, len(lines)-keep):], "\n  ")
}
