// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// collecting is a process of regometer collect.
type collecting struct {
	*exec.Cmd
	url string
	log *bytes.Buffer
}

var collectsAt = regexp.MustCompile(`url=(\S+)`)

// startCollect starts the command on a free port.
func startCollect(t *testing.T, args ...string) *collecting {
	t.Helper()
	c := &collecting{Cmd: command(t, append([]string{"collect", "--addr", "127.0.0.1:0"}, args...)...), log: new(bytes.Buffer)}
	from, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	lines := bufio.NewReader(from)
	for c.url == "" {
		line, err := lines.ReadString('\n')
		c.log.WriteString(line)
		if err != nil {
			t.Fatalf("the command ended: %s", c.log)
		}
		if m := collectsAt.FindStringSubmatch(line); m != nil {
			c.url = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return c
}

// metric returns the value of a series, or "" if the command does not answer.
func (c *collecting) metric(name string) string {
	r, err := http.Get(c.url + "/metrics")
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

const allowed = `opa_decisions_total{outcome="allowed",path="other"}`

func decision(id int) string {
	return fmt.Sprintf(`[{"labels":{"id":"s"},"decision_id":"%d","path":"p","result":true,"metrics":{"timer_server_handler_ns":1}}]`, id)
}

// The command reads a policy again when it changes. On SIGHUP it goes on. On
// SIGTERM it finishes the body in hand, and ends with status 0.
func TestCollectSignals(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan bool, 1), make(chan bool)
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- true; <-release }))
	defer target.Close()
	policy := filepath.Join(t.TempDir(), "p.rego")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("package a\np := true")
	c := startCollect(t, "--forward", target.URL, "--policy", policy)
	const own = `opa_decision_policy_paths{label="own"}`
	if n := c.metric(own); n != "1" {
		t.Errorf("the policy has %s paths, want 1", n)
	}
	write("package a\np := true\nq := true")
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); c.metric(own) != "2"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the policy was not read again")
		}
	}
	answered := make(chan int, 1)
	go func() {
		r, err := http.Post(c.url+"/logs", "application/json", strings.NewReader(decision(1)))
		if err != nil {
			answered <- 0
			return
		}
		_ = r.Body.Close()
		answered <- r.StatusCode
	}()
	<-arrived
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	close(release)
	if status := <-answered; status != 200 {
		t.Errorf("the body in hand gets %d, want 200", status)
	}
	if status := exitStatusOf(t, c.Wait()); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
}

// The process is killed a hundred times, at any moment. The target gets all
// bodies, and no more count than were answered since the start.
func TestCollectKilled(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]bool{}
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if rand.IntN(10) == 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		got[string(text)] = true
	}))
	defer target.Close()
	kills := 100
	if testing.Short() {
		kills = 5
	}
	sent := 0
	for range kills {
		c := startCollect(t, "--forward", target.URL)
		killed := time.AfterFunc(time.Duration(rand.IntN(30))*time.Millisecond, func() { _ = c.Process.Kill() })
		answered := 0
		for {
			r, err := http.Post(c.url+"/logs", "application/json", strings.NewReader(decision(sent)))
			if err != nil {
				break // OPA keeps the body
			}
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				sent++
				answered++
				if n := c.metric(allowed); n != "" && must(strconv.Atoi(n)) > answered {
					t.Fatalf("%d bodies were answered, and %s decisions count", answered, n)
				}
			}
		}
		killed.Stop()
		_ = c.Wait()
	}
	for i := range sent {
		if !got[decision(i)] {
			t.Errorf("the target lacks body %d of %d", i, sent)
		}
	}
	if sent < kills/2 {
		t.Errorf("only %d bodies were sent", sent)
	}
}

// A pipe passes through, and the command ends with it.
func TestCollectPipe(t *testing.T) {
	t.Parallel()
	cmd := command(t, "collect", "--addr", "127.0.0.1:0", "-", "--pass")
	text := "OPA starts\n" + strings.Trim(decision(1), "[]") + "\n"
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if status := exitStatusOf(t, err); status != 0 || string(out) != text {
		t.Errorf("status %d, output %q", status, out)
	}
}

// At its start the command says what it does not do, and how to get it.
func TestCollectWarns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	policy := write("p.rego", "package a\np := input.p\nq := input.q")
	const noPolicy, dropped, shared = "because there is no policy", "and then dropped", "The policy has 2 paths, but only"
	for _, test := range []struct{ args, want string }{
		{"", noPolicy + "," + dropped},
		{"--forward http://127.0.0.1:1 --config " + write("opa.yaml", "services: {x: {url: u}}"), noPolicy},
		{"--config " + write("paths.yaml", "plugins: {regometer: {paths: {allow: [a/b]}}}"), dropped},
		{"--config " + write("bundles.yaml", "services: {x: {url: 'http://127.0.0.1:1'}}\nbundles: {b: {service: x}}"), dropped},
		{"--policy " + policy + " --config " + write("few.yaml", "plugins: {regometer: {max_paths: 1}}"), shared + "," + dropped},
	} {
		c := startCollect(t, strings.Fields(test.args)...)
		for _, text := range []string{noPolicy, dropped, shared} {
			if got, want := strings.Contains(c.log.String(), text), strings.Contains(test.want, text); got != want {
				t.Errorf("%s: the log has %q: %t, want %t", test.args, text, got, want)
			}
		}
	}
}

// What is no regular file does not hold up the files beside it, nor the end.
func TestCollectFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noError(os.Mkdir(filepath.Join(dir, "folder"), 0o700), syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600), os.Symlink(os.DevNull, filepath.Join(dir, "null")))
	socket := must(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "socket")}))
	defer socket.Close()
	c := startCollect(t, "--follow", filepath.Join(dir, "*"))
	for i := 0; c.metric(allowed) == ""; i++ {
		if i == 600 {
			t.Fatal("the file is not followed")
		}
		write(filepath.Join(dir, fmt.Sprint(i, ".log")), decision(i))
		time.Sleep(50 * time.Millisecond)
	}
	kill := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
	defer kill.Stop()
	noError(c.Process.Signal(syscall.SIGTERM))
	if status := exitStatusOf(t, c.Wait()); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
}

func TestCollectErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("plugins: {regometer: {max_paths: 0}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   string
		status int
		want   string
	}{
		{"x.log", exitUsage, "write - for a pipe"},
		{"--follow", exitUsage, "--follow needs files"},
		{"--pass", exitUsage, "--pass needs a pipe"},
		{"--tls-cert c", exitUsage, "belong together"},
		{"--forward-timeout 9s", exitUsage, "needs --forward"},
		{"--forward http://x --forward-timeout 0s", exitUsage, "more than 0"},
		{"--forward ftp://x", exitFailure, "--forward: it is neither a service in --config, nor a URL such as"},
		{"--forward http://:1", exitFailure, "nor a URL"},
		{"--forward acme", exitFailure, "neither a service"},
		{"--forward http://x?y", exitFailure, "a query or fragment"},
		{"--forward http://u:secret@x", exitFailure, "name this service"},
		{"--max-event 0", exitUsage, "at least 1"},
		{"--max-body 0", exitUsage, "at least 1"},
		{"--config missing", exitFailure, "missing"},
		{"--config " + empty, exitFailure, "has no services, bundles or plugins.regometer"},
		{"--config " + file, exitFailure, "plugins.regometer.max_paths must be"},
		{"--policy missing", exitFailure, "--policy"},
		{"--token-file missing", exitFailure, "missing"},
		{"--addr 127.0.0.1:x", exitFailure, "unknown port"},
	} {
		status, _, stderr := call(t.Context(), append([]string{"collect"}, strings.Fields(test.args)...)...)
		if status != test.status || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "secret") {
			t.Errorf("%s: status %d, %s", test.args, status, stderr)
		}
	}
}
