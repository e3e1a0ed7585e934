// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// opaBinary is the path of an opa built by `regometer build`, or the one that
// REGOMETER_E2E names.
var opaBinary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("REGOMETER_E2E"); path != "1" {
		return path, nil
	}
	var stdout bytes.Buffer
	cmd := exec.Command("go", "run", "./cmd/regometer", "build")
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=", "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("regometer build: %w", err)
	}
	return strings.TrimSpace(stdout.String()), nil
})

// An opa is a running OPA server.
type opa struct {
	name    string
	address string
	logFile string // what it writes, its decision log included
	process *os.Process
	exited  chan struct{} // closed when the process has ended
}

var client = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	Timeout:   10 * time.Second,
}

// startOPA starts a server with a configuration, and waits until its bundles
// are activated. The end of the test kills it.
func startOPA(t *testing.T, name string, config map[string]any) *opa {
	t.Helper()
	binary, err := opaBinary()
	if err != nil {
		t.Fatal(err)
	}
	return startProgram(t, name, binary, config)
}

// startProgram does the same with a program that has OPA's command line, to
// which args are added.
func startProgram(t *testing.T, name, binary string, config map[string]any, args ...string) *opa {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	// OPA can choose a port itself but does not tell which. Another process may
	// take ours before OPA does.
	for attempt := 1; ; attempt++ {
		s := &opa{name: name, address: freeAddress(t), logFile: filepath.Join(dir, fmt.Sprint("opa-", attempt, ".log")), exited: make(chan struct{})}
		s.start(t, binary, file, args...)
		if s.waitUntilHealthy(t) {
			return s
		}
		<-s.exited
		if words := s.lastWords(t); attempt == 5 || !strings.Contains(words, "address already in use") {
			t.Fatalf("OPA %s ended at once:\n%s", name, words)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (s *opa) start(t *testing.T, binary, config string, args ...string) {
	t.Helper()
	output, err := os.Create(s.logFile)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close() // the process has its own handle
	cmd := exec.Command(binary, append([]string{"run", "--server", "--addr", s.address, "--config-file", config,
		"--log-level", "error", "--log-format", "json", "--skip-version-check", "--pprof"}, args...)...)
	cmd.Stdout, cmd.Stderr = output, output
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "OPA_") { // OPA takes flags from there
			cmd.Env = append(cmd.Env, entry)
		}
	}
	dieWithUs(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	go func() {
		_ = cmd.Wait() // however it ended
		close(s.exited)
	}()
	t.Cleanup(s.kill)
}

// kill ends the process without a warning.
func (s *opa) kill() {
	_ = s.process.Kill() // it may have ended
	<-s.exited
}

// waitUntilHealthy reports false if the process ends.
func (s *opa) waitUntilHealthy(t *testing.T) bool {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.exited:
			return false
		default:
		}
		response, err := client.Get("http://" + s.address + "/health?bundles")
		if err != nil {
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return true
		}
	}
	t.Fatalf("OPA %s is not healthy after a minute:\n%s", s.name, s.lastWords(t))
	return false
}

// lastWords returns what the server wrote, decisions left out.
func (s *opa) lastWords(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.logFile)
	if err != nil {
		t.Fatal(err)
	}
	var words strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"msg":"Decision Log"`) {
			words.WriteString(line)
		}
	}
	return words.String()
}

// get returns the body of a page, which must be there.
func (s *opa) get(t *testing.T, path string, header ...string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: HTTP status %d, %v: %.300s", path, response.StatusCode, err, body)
	}
	return body
}
