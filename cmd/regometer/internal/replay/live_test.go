// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/open-policy-agent/opa/v1/config"
	dto "github.com/prometheus/client_model/go"

	"github.com/regometer/regometer/cmd/regometer/internal/collect"
	"github.com/regometer/regometer/internal/logread"
)

const livePolicy = "REGOMETER_TEST_LIVE"

// TestLiveProcess is the process of TestLive, and that of TestYield.
func TestLiveProcess(t *testing.T) {
	dir := os.Getenv(livePolicy)
	if dir == "" {
		t.Skip("it runs in TestLive")
	}
	if dir == "yield" {
		yield()
		for _, thread := range must(filepath.Glob("/proc/self/task/*/stat")) {
			fmt.Println("nice", strings.Fields(string(must(os.ReadFile(thread))))[18])
		}
		os.Exit(0)
	}
	if err := Serve(context.Background(), []string{dir}, config.Config{}, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// said is what a log says.
type said struct {
	sync.Mutex
	bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.Write(p)
}

func (s *said) has(part string) bool {
	s.Lock()
	defer s.Unlock()
	return strings.Contains(s.String(), part)
}

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// A collector's decisions are evaluated in a process of its own, which starts
// again after its end, and with another policy.
func TestLive(t *testing.T) {
	dir := lay(t, "p.rego", usual+"huge := count([x | some x in numbers.range(1, 10000000)])\n")
	t.Setenv(livePolicy, dir)
	var log said
	l := NewLive(1, slog.New(slog.NewTextHandler(&log, nil)), os.Args[0], "-test.run=^TestLiveProcess$")
	c := must(collect.New(collect.Options{Log: slog.New(slog.DiscardHandler), Profiler: l}))
	count := func(result string) float64 {
		var m dto.Metric
		noError(l.WithLabelValues(result).Write(&m))
		return m.GetCounter().GetValue()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer func() {
		if t.Failed() {
			t.Log(log.String(), count("equal"), count("changed"), count("apart"), count("not-repeatable"))
		}
	}()
	ended := make(chan struct{})
	go func() {
		l.Run(ctx)
		close(ended)
	}()
	send := func(log string) { noError(c.ReadPipe(strings.NewReader(log))) }
	ask := func(query string) (status int, rules string) {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/pprof/rego"+query, nil))
		if p, err := profile.ParseData(w.Body.Bytes()); err == nil {
			noError(p.CheckValid())
			for _, s := range p.Sample {
				if f := s.Location[0].Line[0].Function.Name; f != queryName && s.Value[0] > 0 {
					rules += fmt.Sprintf("%s %d ", f, s.Value[0])
				}
			}
		}
		return w.Code, rules
	}

	send(event(1, "p/allow", `"input":{"user":"x"},"result":true`) + event(2, "p/allow", `"input":{"user":"x"},"result":false`))
	until(t, "no decision was evaluated", func() bool { return count("equal") == 1 && count("changed") == 1 })
	if _, got := ask(""); !strings.HasPrefix(got, "data.p.allow ") {
		t.Errorf("the profile since the start has %q", got)
	}
	sent := 1.0 // equal ones
	until(t, "the profile of a second has other decisions", func() bool {
		sent++
		time.AfterFunc(100*time.Millisecond, func() { send(event(3, "p/name", `"input":{"user":"x"},"result":"x"`)) })
		_, got := ask("?seconds=1")
		return strings.HasPrefix(got, "data.p.name ") && !strings.Contains(got, "allow")
	})
	until(t, "a decision was not evaluated", func() bool { return count("equal") == sent })
	if status, _ := ask("?seconds=x"); status != 400 {
		t.Errorf("status %d without a number of seconds", status)
	}

	noError(os.WriteFile(dir+"/p.rego", []byte(usual+"more := 1\n"), 0o600))
	l.Renew()
	until(t, "the profile of the policy before stays", func() bool { status, rules := ask(""); return status == 200 && rules == "" })
	send(event(4, "p/more", `"input":{},"result":1`))
	until(t, "the new policy has no profile", func() bool { _, rules := ask(""); return strings.HasPrefix(rules, "data.p.more ") })

	// It ends, and the collector goes on.
	noError(l.child.Load().Close())
	until(t, "nobody notices its end without decisions", func() bool { return log.has("has ended") })
	until(t, "it does not start again", func() bool { status, _ := ask(""); return status == 200 })
	noError(os.WriteFile(dir+"/p.rego", []byte("package p\nbroken := "), 0o600))
	l.Renew()
	until(t, "nothing says why the process has ended", func() bool { return log.has("rego_parse_error") })
	if status, _ := ask(""); status != 503 {
		t.Errorf("status %d without a process", status)
	}
	for range 50 {
		send(users(100))
	}
	noError(os.WriteFile(dir+"/p.rego", []byte(usual+"huge := count([x | some x in numbers.range(1, 10000000)])\n"), 0o600))
	until(t, "it does not start again", func() bool { _, rules := ask(""); return rules != "" })
	until(t, "the sample does not stand for all", func() bool { // 10,000 decisions, by a sample of 100
		evaluations := 0
		_, rules := ask("")
		for _, word := range strings.Fields(rules) {
			n, _ := strconv.Atoi(word)
			evaluations += n
		}
		return evaluations >= 9990
	})
	send(event(5, "p/huge", `"input":{},"result":1`))
	until(t, "an evaluation has no limit of memory or time", func() bool { return log.has("MiB of memory") || count("not-repeatable") == 1 })
	cancel()
	<-ended
}

// All threads of the process have the lowest priority.
func TestYield(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no files about threads")
	}
	t.Setenv(livePolicy, "yield")
	out := string(must(exec.Command(os.Args[0], "-test.run=^TestLiveProcess$").Output()))
	if n := strings.Count(out, "nice "); n < 2 || n != strings.Count(out, "nice 19\n") {
		t.Errorf("the threads have\n%s", out)
	}
}

// A process that ends after a long rest starts again soon.
func TestLiveStartsAgain(t *testing.T) {
	dir := lay(t, "p.rego", usual)
	t.Setenv(livePolicy, dir)
	var log said
	l := NewLive(0.006, slog.New(slog.NewTextHandler(&log, nil)), os.Args[0], "-test.run=^TestLiveProcess$")
	go l.Run(t.Context())
	until(t, "it does not start", func() bool { return l.child.Load() != nil })
	must(0, l.child.Load().Call("Live.Evaluate", []*decision{}, new([len(verdictNames)]uint64)))
	time.Sleep(2 * time.Second)
	noError(l.child.Load().Close())
	until(t, "nobody notices its end", func() bool { return log.has("has ended") })
	if log.has("wait=5m0s") { // for 1.8 seconds of work
		t.Errorf("it waits long: %s", log.String())
	}
}

// A process that cannot start is not tried again at once.
func TestLiveCannotStart(t *testing.T) {
	var log said
	l := NewLive(0.02, slog.New(slog.NewTextHandler(&log, nil)), filepath.Join(t.TempDir(), "none"))
	go l.Run(t.Context())
	until(t, "nobody says so", func() bool { return log.has("has ended") })
	if log.has("wait=-") {
		t.Errorf("it does not wait: %s", log.String())
	}
}

// The token guards the profile.
func TestLiveToken(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	c := must(collect.New(collect.Options{Log: log, Profiler: NewLive(1, log, "none"), Token: func() string { return "secret" }}))
	for token, want := range map[string]int{"wrong": http.StatusUnauthorized, "secret": http.StatusServiceUnavailable} { // there is no process
		r, w := httptest.NewRequest(http.MethodGet, "/debug/pprof/rego", nil), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer "+token)
		if c.ServeHTTP(w, r); w.Code != want {
			t.Errorf("token %s: status %d, want %d", token, w.Code, want)
		}
	}
}

// Each event that is offered has the same chance to stay, except large ones.
func TestOffer(t *testing.T) {
	t.Parallel()
	late := 0
	for range 200 {
		l := NewLive(1, nil)
		for i := range 1000 {
			l.Offer(&logread.Event{Time: int64(i)})
			l.Offer(&logread.Event{Text: make([]byte, largest+1)})
		}
		for _, d := range l.offered {
			late += int(d.Time / 900)
		}
		if len(l.offered) != mostOffered || l.seen != 1000 {
			t.Fatalf("%d of %d events stay", len(l.offered), l.seen)
		}
	}
	if share := float64(late) / (200 * mostOffered); math.Abs(share-0.1) > 0.02 {
		t.Errorf("%v of the events that stay are among the last 10 %%", share)
	}
}
