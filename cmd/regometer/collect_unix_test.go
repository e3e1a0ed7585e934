// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
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
}

// startCollect starts the command on a free port.
func startCollect(t *testing.T, args ...string) *collecting {
	t.Helper()
	c := &collecting{Cmd: command(t, append([]string{"collect", "--addr", "127.0.0.1:0"}, args...)...)}
	lines := bufio.NewReader(must(c.StderrPipe()))
	noError(c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for c.url == "" {
		_, url, _ := strings.Cut(must(lines.ReadString('\n')), "url=")
		c.url = strings.TrimSpace(url)
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
	_, value, _ := strings.Cut(string(text), "\n"+name+" ")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// upload sends a decision, and returns the status of the answer, or 0.
func (c *collecting) upload(id int) int {
	r, err := http.Post(c.url+"/logs", "application/json", strings.NewReader(decision(id)))
	if err != nil {
		return 0
	}
	_ = r.Body.Close()
	return r.StatusCode
}

const allowed = `opa_decisions_total{outcome="allowed",path="other"}`

func decision(id int) string {
	return fmt.Sprintf(`[{"labels":{"id":"s"},"decision_id":"%d","path":"p","result":true,"metrics":{"timer_server_handler_ns":1}}]`, id)
}

// The command evaluates decisions again in a process of its own, and serves the
// profile.
func TestCollectProfile(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "p.rego")
	write(policy, "package a\np := true")
	c := startCollect(t, "--policy", policy, "--profile", "50%")
	if status := c.upload(1); status != 200 {
		t.Errorf("status %d", status)
	}
	for deadline := time.Now().Add(30 * time.Second); c.metric(`regometer_collect_replayed_decisions_total{result="not-repeatable"}`) != "1"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the decision was not evaluated")
		}
	}
	r, err := http.Get(c.url + "/debug/pprof/rego")
	noError(err)
	defer r.Body.Close()
	if text, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusOK || !strings.HasPrefix(string(text), "\x1f\x8b") {
		t.Errorf("the profile has status %d: %q", r.StatusCode, text)
	}
}

// The command reads a policy again when it changes. On SIGHUP it goes on. On
// SIGTERM it finishes the body in hand, and ends with status 0.
func TestCollectSignals(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan bool, 1), make(chan bool)
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- true; <-release }))
	defer target.Close()
	policy := filepath.Join(t.TempDir(), "p.rego")
	write(policy, "package a\np := true")
	c := startCollect(t, "--forward", target.URL, "--policy", policy)
	const own = `opa_decision_policy_paths{label="own"}`
	if n := c.metric(own); n != "1" {
		t.Errorf("the policy has %s paths, want 1", n)
	}
	write(policy, "package a\np := true\nq := true")
	noError(c.Process.Signal(syscall.SIGHUP))
	for deadline := time.Now().Add(30 * time.Second); c.metric(own) != "2"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the policy was not read again")
		}
	}
	answered := make(chan int, 1)
	go func() { answered <- c.upload(1) }()
	<-arrived
	noError(c.Process.Signal(syscall.SIGTERM))
	time.Sleep(100 * time.Millisecond)
	close(release)
	if status := <-answered; status != 200 {
		t.Errorf("the body in hand gets %d, want 200", status)
	}
	noError(c.Wait()) // status 0
}

// The process is killed a hundred times, at any moment. The target gets all
// bodies, and no more count than were answered since the start.
func TestCollectKilled(t *testing.T) {
	t.Parallel()
	var got sync.Map
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err != nil || rand.IntN(10) == 0 {
			w.WriteHeader(http.StatusInternalServerError)
		} else {
			got.Store(string(text), true)
		}
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
		first := sent
		for status := c.upload(sent); status != 0; status = c.upload(sent) { // OPA keeps a body without an answer
			if status != http.StatusOK {
				continue
			}
			_, has := got.Load(decision(sent))
			sent++
			if n := c.metric(allowed); !has || n != "" && must(strconv.Atoi(n)) > sent-first {
				t.Fatalf("%d bodies were answered, the target has the last: %t, and %s decisions count", sent-first, has, n)
			}
		}
		killed.Stop()
		_ = c.Wait()
	}
	if sent < kills/2 {
		t.Errorf("only %d bodies were sent", sent)
	}
}

// The command ends with its pipe.
func TestCollectPipe(t *testing.T) {
	t.Parallel()
	succeed(t, "collect", "--addr", "127.0.0.1:0", "-")
}

// The command says why it does not start, or else, before it collects, what it
// does not do and how to get it.
func TestCollectSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		write(filepath.Join(dir, name), text)
		return filepath.Join(dir, name)
	}
	policy, empty := file("p.rego", "package a\np := input.p\nq := input.q"), file("empty.yaml", "")
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	free := listener.Addr().String()
	noError(listener.Close())
	const noPolicy, dropped, shared = "because there is no policy", "and then dropped", "The policy has 2 paths, but only"
	lines := func(texts ...string) string {
		return "^[^\n]*" + strings.Join(append(texts, "Collecting"), "[^\n]*\n[^\n]*")
	}
	for args, want := range map[string]struct {
		status int
		text   string
	}{
		"- x.log":              {exitUsage, "\"x.log\"\\]: write only - for a pipe"},
		"--tls-cert c":         {exitUsage, "belong together"},
		"--forward-timeout 9s": {exitUsage, "needs --forward"},
		"--profile 2%":         {exitUsage, "needs a policy"},
		"--profile 101%":       {exitUsage, "write a percentage, such as 2%"},
		"--forward http://x --forward-timeout 0s": {exitUsage, "more than 0"},
		"--max-event 0":     {exitUsage, "at least 1"},
		"--forward ftp://x": {exitFailure, `--forward: it is neither a URL such as https://logs.example.com, nor a service in --config, which has none`},
		"--token-file=":     {exitUsage, "--token-file is empty"},
		"--policy=":         {exitUsage, "--policy is empty"},
		"--forward http://" + free + " --addr " + free:                                                               {exitFailure, "leads to this command"},
		"--forward x --config " + file("s3.yaml", "services: {x: {url: 'http://x', credentials: {s3_signing: {}}}}"): {exitFailure, "s3_signing"},
		"--forward acme":                       {exitFailure, "neither a URL"},
		"--forward http://x?y":                 {exitFailure, "a query or fragment"},
		"--forward http://u:secret@x":          {exitFailure, "name this service"},
		"--tls-cert missing --tls-key missing": {exitFailure, "--tls-cert, --tls-key or --tls-ca: open missing"},
		"--token-file missing":                 {exitFailure, "--token-file: open missing"},
		"--policy missing":                     {exitFailure, "--policy: "},
		"--config missing":                     {exitFailure, "--config: open missing"},
		"--config " + empty:                    {exitFailure, "--config: the file has no services, bundles or plugins.regometer"},
		"--config " + file("zero.yaml", "plugins: {regometer: {max_paths: 0}}"):      {exitFailure, "--config: plugins.regometer.max_paths must be"},
		"--profile 2% --config " + file("nobundles.yaml", "services: {x: {url: u}}"): {exitFailure, "--profile needs a policy"},
		"--config " + file("text.yaml", "text"):                                      {exitFailure, "text.yaml is no configuration of OPA"},
		"--addr 127.0.0.1:x":                                                         {exitFailure, "--addr: .*unknown port"},
		"--addr 127.0.0.1:x --max-body 1GiB --max-event 20MB":                        {exitFailure, "unknown port"},

		"": {exitInterrupted, lines(noPolicy, dropped)},
		"--forward http://127.0.0.1:1 --config " + file("opa.yaml", "services: {x: {url: u}}"):                       {exitInterrupted, lines(noPolicy)},
		"--config " + file("paths.yaml", "plugins: {regometer: {paths: {allow: [a/b]}}}"):                            {exitInterrupted, lines(dropped)},
		"--config " + file("bundles.yaml", "services: {x: {url: 'http://127.0.0.1:1'}}\nbundles: {b: {service: x}}"): {exitInterrupted, lines(dropped)},
		"--policy " + policy + " --config " + file("few.yaml", "plugins: {regometer: {max_paths: 1}}"):               {exitInterrupted, lines(shared, dropped)},
	} {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		if want.status == exitInterrupted {
			end()
		}
		status, _, stderr := call(ctx, append([]string{"collect", "--addr", "127.0.0.1:0"}, strings.Fields(args)...)...)
		if status != want.status || !regexp.MustCompile(want.text).MatchString(stderr) || strings.Contains(stderr, "secret") {
			t.Errorf("%s: status %d, %s, want %q", args, status, stderr, want.text)
		}
	}
}
