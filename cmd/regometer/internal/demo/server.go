// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// server is a running OPA server that logs its decisions to a file.
type server struct {
	side    string // what it is, for messages
	url     string
	version string // as OPA itself reports it
	logFile string // all that it writes, decision log included
	client  *http.Client

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
}

const (
	startAttempts = 5 // with another port each
	startTimeout  = 30 * time.Second
	stopTimeout   = 5 * time.Second
)

// errPortTaken says that another process took the port between our choosing it
// and OPA's listening on it.
var errPortTaken = errors.New("the port was taken by another process")

// startServer starts the OPA binary as a server for the policy in a folder,
// on a free loopback port, and waits until it answers. The settings are added
// to its configuration.
func startServer(ctx context.Context, side, binary, policy, logFile string, settings ...string) (*server, error) {
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return nil, fmt.Errorf("no free port on 127.0.0.1: %w", err)
		}
		s, err := startServerOn(ctx, port, side, binary, policy, logFile, settings...)
		if errors.Is(err, errPortTaken) && attempt < startAttempts {
			continue
		}
		return s, err
	}
}

// freePort returns a port that nothing listens on at the moment. OPA can
// choose one itself, but does not tell which.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func startServerOn(ctx context.Context, port int, side, binary, policy, logFile string, settings ...string) (*server, error) {
	output, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer output.Close() // the process has its own handle

	if binary, err = filepath.Abs(binary); err != nil { // the process runs in another folder
		return nil, err
	}

	// The label tells our server from a stranger's on the same port.
	mark := rand.Text()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	args := []string{
		"run", "--server",
		"--addr", address,
		"--log-level", "error",
		"--log-format", "json",
		"--skip-version-check",
		"--pprof", // its heap profile is the way to ask for a garbage collection
	}
	for _, setting := range append([]string{"decision_logs.console=true", "labels.regometer_demo=" + mark}, settings...) {
		args = append(args, "--set", setting)
	}
	args = append(args, filepath.Base(policy)) // not the whole path: OPA gives a colon a meaning
	s := &server{
		side:    side,
		url:     "http://" + address,
		logFile: logFile,
		client:  &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 30 * time.Second},
		cmd:     exec.Command(binary, args...),
		exited:  make(chan struct{}),
	}
	s.cmd.Dir = filepath.Dir(policy)
	s.cmd.Stdout, s.cmd.Stderr = output, output
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "OPA_") { // OPA takes flags from there
			s.cmd.Env = append(s.cmd.Env, entry)
		}
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the %s: %w", side, err)
	}
	go func() {
		_ = s.cmd.Wait() // the state is in s.cmd.ProcessState
		close(s.exited)
	}()

	if err := s.waitUntilReady(ctx, mark); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) waitUntilReady(ctx context.Context, mark string) error {
	timeout := time.After(startTimeout)
	for {
		var config struct {
			Result struct {
				Labels map[string]string `json:"labels"`
			} `json:"result"`
		}
		body, err := s.get(ctx, "/v1/config")
		if err == nil && json.Unmarshal(body, &config) == nil && config.Result.Labels["regometer_demo"] == mark {
			s.version = config.Result.Labels["version"]
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.exited:
			if strings.Contains(s.lastWords(), "listen tcp "+strings.TrimPrefix(s.url, "http://")) {
				return fmt.Errorf("the %s cannot listen on %s: %w%s", s.side, s.url, errPortTaken, s.lastWords())
			}
			return s.died()
		case <-timeout:
			return fmt.Errorf("the %s does not answer on %s after %v%s", s.side, s.url, startTimeout, s.lastWords())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the process and waits for it.
func (s *server) stop() {
	s.client.CloseIdleConnections()
	if s.cmd.Process.Signal(os.Interrupt) != nil { // not to be had on Windows
		_ = s.cmd.Process.Kill()
	}
	select {
	case <-s.exited:
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}

func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	status, body, err := s.do(ctx, http.MethodGet, path, "")
	if err == nil && status != http.StatusOK {
		return nil, fmt.Errorf("the %s answered GET %s with HTTP status %d: %.200s", s.side, path, status, body)
	}
	return body, err
}

// do sends a request and reads the whole answer.
func (s *server) do(ctx context.Context, method, path, body string) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
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

// explain makes the error of a request clearer. A Ctrl-C reaches the server
// too, so that its end may be noticed before ours.
func (s *server) explain(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(200 * time.Millisecond):
	}
	select {
	case <-s.exited:
		return s.died()
	default:
		return fmt.Errorf("the %s does not answer: %w%s", s.side, err, s.lastWords())
	}
}

func (s *server) died() error {
	return fmt.Errorf("the %s ended unexpectedly (%v)%s", s.side, s.cmd.ProcessState, s.lastWords())
}

// lastWords returns the last lines that the server wrote, decisions left out,
// in a form to be put at the end of an error message.
func (s *server) lastWords() string {
	const keep, width = 12, 300
	file, err := os.Open(s.logFile)
	if err != nil {
		return ""
	}
	defer file.Close()
	var lines []string
	for reader := bufio.NewReader(file); ; {
		line, err := reader.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		if len(line) > 0 && !bytes.Contains(line, []byte(`"msg":"Decision Log"`)) {
			lines = append(lines, fmt.Sprintf("%.*s", width, line))
			lines = lines[max(0, len(lines)-keep):]
		}
		if err != nil {
			break
		}
	}
	if len(lines) == 0 {
		return "; it wrote no message"
	}
	return "; its last lines:\n  " + strings.Join(lines, "\n  ")
}
