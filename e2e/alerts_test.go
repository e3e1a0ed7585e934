// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
)

// TestRealFaults makes each fault that an alert names on real servers, after a
// while in which all but what is wrong from the start was well. Minutes of the
// rules are seconds here. Each alert fires, and no other.
func TestRealFaults(t *testing.T) {
	endToEnd(t)
	f := &faultyFleet{services: map[string]*service{}, servers: map[string]*atomic.Pointer[opa]{}}
	targets := map[string]string{}
	for name, config := range map[string]map[string]any{
		"policy": {}, // its policy has faults
		"killed": {},
		"broken": { // its bundle does not compile, its uploads are refused, the next plugin fails from the start
			"decision_logs": map[string]any{"plugin": "regometer"},
			"plugins":       map[string]any{"regometer": map[string]any{"next": "file_logger"}, "file_logger": map[string]any{"path": "/dev/full"}},
		},
		"alone": { // its bundle's service does not answer; from the start its buffer is too small and it has room for one path
			"decision_logs": map[string]any{"reporting": map[string]any{"buffer_type": "event", "buffer_size_limit_events": 1, "min_delay_seconds": 1, "max_delay_seconds": 2}},
			"plugins":       map[string]any{"regometer": map[string]any{"max_paths": 1}},
		},
		"bare":    {"plugins": nil}, // without the plugin from the start
		"changed": {},               // restarted with a configuration that does not upload
	} {
		targets[name] = f.start(t, name, config)
	}
	files := scaledRules(t)
	m := startMonitor(t, targets, monitorOptions{rules: files})
	// Of many servers one would not be missed.
	two := startMonitor(t, map[string]string{"policy": targets["policy"], "killed": targets["killed"]}, monitorOptions{rules: files})

	f.ask(t)
	fromTheStart := []string{
		"OPADecisionLogLosesEvents alone", "OPADecisionPluginFails broken", "OPADecisionsNotCounted bare", "OPAMetricLabelsExhausted alone",
	}
	time.Sleep(50 * time.Second)
	if early := f.firing(m, two); !subset(early, fromTheStart) {
		t.Errorf("before there are other faults than %v, these alerts fire: %v", fromTheStart, early)
	}

	f.servers["killed"].Load().kill()
	f.services["policy"].publish(t, "two", faultyPolicy)
	f.services["broken"].publish(t, "two", "package faults\n\nallow if nothing_like_it(input)\n")
	f.services["broken"].logs.Store(http.StatusServiceUnavailable)
	f.services["alone"].bundles.Store(http.StatusInternalServerError)
	f.servers["changed"].Load().kill()
	f.restart(t, "changed", map[string]any{"decision_logs": map[string]any{"service": nil, "resource": nil, "reporting": nil}})

	want := append(slices.Clone(fromTheStart),
		"OPABundleNotActivated broken", "OPABundleNotDownloaded alone", "OPADecisionLogUploadFails broken", "OPADecisionLogUploadStopped changed",
		"OPADecisionsCancelled faults/cancelled", "OPADecisionsFail faults/fails", "OPADecisionsSlow server_handler", "OPADenialsRise faults/denies",
		"OPADenialsVanish faults/allows", "OPAEvaluationSlower faults/cancelled", "OPAEvaluationSlower faults/slow", "OPAFleetSmaller opa", "OPAServerGone killed")
	fired := map[string]bool{}
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline) && !subset(want, slices.Collect(maps.Keys(fired))); time.Sleep(time.Second) {
		for _, alert := range f.firing(m, two) {
			if !fired[alert] {
				fired[alert] = true
				if !slices.Contains(want, alert) {
					t.Errorf("fires without a fault: %s", alert)
				}
			}
		}
	}
	for _, alert := range want {
		if !fired[alert] {
			t.Errorf("does not fire: %s", alert)
		}
	}
	for _, rule := range m.rules.Rules() {
		if _, ok := rule.(*rules.RecordingRule); ok && !hasData(m.vector(t, rule.Name(), time.Now())) {
			t.Errorf("rule %s has recorded nothing", rule.Name())
		}
	}
	for _, name := range alertNames(t) {
		if !slices.ContainsFunc(want, func(alert string) bool { return strings.HasPrefix(alert, name+" ") }) {
			t.Errorf("no fault is made for %s", name)
		}
	}
}

func subset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// scaledRules are the rules with seconds in the place of minutes, and a week
// that ends a day ago in that of the minute that ends half a minute ago.
func scaledRules(t *testing.T) (files []string) {
	t.Helper()
	usual := strings.NewReplacer("[1w] offset 1d", "[60s] offset 30s", "interval: 10m", "interval: 1s")
	minutes := regexp.MustCompile(`\b(\d+)m\b`)
	for _, file := range []string{nativeRules, alertRules} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scaled := minutes.ReplaceAllStringFunc(usual.Replace(string(text)), func(m string) string {
			n, err := strconv.Atoi(strings.TrimSuffix(m, "m"))
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(min(n, 15), "s")
		})
		scaled = strings.NewReplacer("[1h]", "[60s]", "900 *", "15 *").Replace(scaled)
		name := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(name, []byte(scaled), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	return files
}

// A faultyFleet is servers each of which depends on a service of its own.
type faultyFleet struct {
	services map[string]*service
	servers  map[string]*atomic.Pointer[opa]
}

// start starts a server whose configuration differs from the usual one in these
// keys, nil for none, and returns an address that it keeps when it is started
// again.
func (f *faultyFleet) start(t *testing.T, name string, config map[string]any) string {
	t.Helper()
	f.services[name], f.servers[name] = startService(t), &atomic.Pointer[opa]{}
	f.services[name].publish(t, "one", wellPolicy)
	f.restart(t, name, config)
	target := httptest.NewServer(&httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), // it complains of servers that are down
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: f.servers[name].Load().address})
		},
	})
	t.Cleanup(target.Close)
	return target.Listener.Addr().String()
}

func (f *faultyFleet) restart(t *testing.T, name string, config map[string]any) {
	t.Helper()
	all := map[string]any{
		"services": map[string]any{"own": map[string]any{"url": f.services[name].url}},
		"bundles": map[string]any{"policy": map[string]any{
			"service": "own", "resource": "bundle.tar.gz", "polling": map[string]any{"min_delay_seconds": 1, "max_delay_seconds": 2},
		}},
		"plugins": map[string]any{"regometer": map[string]any{}},
		"status":  map[string]any{"prometheus": true},
	}
	logs := map[string]any{"service": "own", "resource": "logs", "reporting": map[string]any{"min_delay_seconds": 1, "max_delay_seconds": 2}}
	for key, value := range config {
		if key == "decision_logs" {
			maps.Copy(logs, value.(map[string]any))
		} else {
			all[key] = value
		}
	}
	absent := func(_ string, value any) bool { return value == nil }
	maps.DeleteFunc(logs, absent)
	all["decision_logs"] = logs
	maps.DeleteFunc(all, absent)
	f.servers[name].Store(startOPA(t, name, all))
}

// ask lets clients ask all servers until the test ends.
func (f *faultyFleet) ask(t *testing.T) {
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	questions := func(server, path string, perSecond int, patience time.Duration) {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				q := question{method: http.MethodPost, path: "/v1/data/faults/" + path, body: fmt.Sprintf(`{"input": {"n": %d}}`, n)}
				ctx, cancel := context.WithTimeout(ctx, patience)
				_, _, _ = f.servers[server].Load().ask(ctx, q) // it may be down, or refuse
				cancel()
				time.Sleep(time.Second / time.Duration(perSecond))
			}
		})
	}
	for _, path := range []string{"fine", "denies", "allows", "fails"} {
		questions("policy", path, 5, 5*time.Second)
	}
	questions("policy", "slow", 5, 5*time.Second)
	questions("policy", "cancelled", 5, 50*time.Millisecond)
	for _, server := range []string{"killed", "broken", "bare", "changed"} {
		questions(server, "fine", 5, 5*time.Second)
	}
	for _, path := range []string{"fine", "denies", "allows"} {
		questions("alone", path, 10, 5*time.Second)
	}
}

// firing returns the alerts that fire by name and what they are about. Of the
// second Prometheus only the size of the fleet matters.
func (f *faultyFleet) firing(m, two *monitor) (alerts []string) {
	about := func(l labels.Labels) string {
		for _, name := range []string{"path", "stage", "instance", "job"} {
			if value := l.Get(name); value != "" {
				return value
			}
		}
		return ""
	}
	for _, a := range firing(m.rules.Rules()) {
		if name := a.Labels.Get(labels.AlertName); name != "OPAFleetSmaller" {
			alerts = append(alerts, name+" "+about(a.Labels))
		}
	}
	for _, a := range firing(two.rules.Rules()) {
		if name := a.Labels.Get(labels.AlertName); name == "OPAFleetSmaller" {
			alerts = append(alerts, name+" "+about(a.Labels))
		}
	}
	return alerts
}

// A policy that denies one in ten, that denies four in ten, and that calls a
// service which answers soon.
const wellPolicy = `package faults

fine := input.n % 10 > 1

denies := input.n % 10 > 0

allows := input.n % 10 > 3

slow := http.send({"method": "GET", "url": sprintf("%s/wait/3", [data.control.url])}).status_code == 200

cancelled := http.send({"method": "GET", "url": sprintf("%s/wait/3", [data.control.url])}).status_code == 200

fails := input.n >= 0
`

// The same after somebody has changed it.
const faultyPolicy = `package faults

fine := input.n % 10 > 1

denies := false

allows := true

slow := http.send({"method": "GET", "url": sprintf("%s/wait/200", [data.control.url])}).status_code == 200

cancelled := http.send({"method": "GET", "url": sprintf("%s/wait/200", [data.control.url])}).status_code == 200

fails := true if input.n >= 0

fails := false if input.n >= 0
`

// A service has a server's bundle, takes its decision log, and lets its policy
// wait.
type service struct {
	url           string
	bundles, logs atomic.Int64 // HTTP statuses that are not 200
	mu            sync.Mutex
	bundle        []byte
	revision      string
}

func startService(t *testing.T) *service {
	t.Helper()
	s := &service{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bundle.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		if status := int(s.bundles.Load()); status != 0 {
			w.WriteHeader(status)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		etag := strconv.Quote(s.revision)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", etag)
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(s.bundle) // an error would mean that OPA has gone
	})
	mux.HandleFunc("POST /logs", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if status := int(s.logs.Load()); status != 0 {
			w.WriteHeader(status)
		}
	})
	mux.HandleFunc("GET /wait/{ms}", func(_ http.ResponseWriter, r *http.Request) {
		ms, _ := strconv.Atoi(r.PathValue("ms"))
		time.Sleep(time.Duration(ms) * time.Millisecond)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// publish makes a policy the next revision of the bundle.
func (s *service) publish(t *testing.T, revision, policy string) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"control": map[string]any{"url": s.url}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for name, content := range map[string]string{
		"/.manifest": fmt.Sprintf(`{"revision": %q, "roots": ["faults", "control"]}`, revision), "/data.json": string(data), "/faults.rego": policy,
	} {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundle, s.revision = b.Bytes(), revision
}
