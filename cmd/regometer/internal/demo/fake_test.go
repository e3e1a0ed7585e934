// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The test binary is also a fake OPA, if called by one of these names. All of
// them answer the workload of seed 1, and only that, in its order.
const (
	fakeDropIn     = "fake-drop-in"    // uses 1,000 bytes a decision
	fakeUnmodified = "fake-unmodified" // uses 4,000 bytes a decision
	fakeForgetful  = "fake-forgetful"  // does not log the tenth decision
	fakeImprecise  = "fake-imprecise"  // exports durations that are 3 % too long
	fakeMute       = "fake-mute"       // exports no durations
	fakeAstray     = "fake-astray"     // exports the tenth decision under another path
	fakeWrong      = "fake-wrong"      // answers the tenth request wrongly
	fakeBroken     = "fake-broken"     // does not start
	fakeDying      = "fake-dying"      // ends at the 60th request
)

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); strings.HasPrefix(name, "fake-") {
		runFakeOPA(name, os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// fake returns the path of a fake OPA.
func fake(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	return path
}

type fakeOPA struct {
	name string
	mark string // the value of its label regometer_server

	mu        sync.Mutex
	workload  *workload
	next      []request
	posts     int
	decisions int
	scrapes   int
	exported  exported
}

// exported is what a fake OPA exports, as the plugin does.
type exported struct {
	decisions, errors, self *prometheus.CounterVec
	stages, paths           *prometheus.HistogramVec
}

func newExported(registry *prometheus.Registry) exported {
	counters := func(name string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "x"}, labels)
	}
	histograms := func(name string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: "x", NativeHistogramBucketFactor: 1.022, NativeHistogramZeroThreshold: 1e-12,
		}, labels)
	}
	e := exported{
		counters(decisionsMetric, "path", "outcome"), counters(errorsMetric, "code"), counters(selfMetric, "stage"),
		histograms(stageMetric, "stage"), histograms(pathMetric, "path", "stage"),
	}
	registry.MustRegister(e.decisions, e.errors, e.self, e.stages, e.paths)
	return e
}

// add adds a decision of 1,000 ns, 500 ns of which is the evaluation.
func (e exported) add(path string, o outcome, factor float64) {
	e.decisions.WithLabelValues(path, string(o)).Inc()
	if o == failed {
		e.errors.WithLabelValues("eval_builtin_error").Inc()
	}
	for stage, ns := range map[string]float64{"server_handler": 1000, "rego_query_eval": 500} {
		e.stages.WithLabelValues(stage).Observe(ns * factor * 1e-9)
		e.paths.WithLabelValues(path, stage).Observe(ns * factor * 1e-9)
		e.self.WithLabelValues(stage).Add(500 * factor * 1e-9)
	}
}

func runFakeOPA(name string, args []string) {
	registry := prometheus.NewRegistry()
	f := &fakeOPA{name: name, workload: newWorkload(1), exported: newExported(registry)}
	scrape := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	address := ""
	for i, arg := range args {
		switch {
		case arg == "--addr":
			address = args[i+1]
		case strings.HasPrefix(arg, "labels.regometer_server="):
			_, f.mark, _ = strings.Cut(arg, "=")
		}
	}
	policy := args[slices.Index(args, "--server")+1]
	for _, file := range []string{"rbac.rego", "data.json", "directory.json"} {
		if _, err := os.Stat(filepath.Join(policy, file)); err != nil {
			fakeExit(err.Error())
		}
	}
	if name == fakeBroken {
		fakeExit("rego_parse_error: somewhere")
	}
	http.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /v1/config", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"result":{"labels":{"regometer_server":%q,"version":"1.2.3"}}}`, f.mark)
	})
	http.HandleFunc("GET /debug/pprof/heap", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "protobuf") {
			scrape.ServeHTTP(w, r)
		} else {
			f.metrics(w)
		}
	})
	http.HandleFunc("POST /v1/", f.decide)
	fakeExit(http.ListenAndServe(address, nil).Error())
}

func fakeExit(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(3)
}

func (f *fakeOPA) metrics(w http.ResponseWriter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scrapes++
	perDecision := 1000
	if f.name == fakeUnmodified {
		perDecision = 4000
	}
	fmt.Fprintf(w, "go_memstats_alloc_bytes_total %d\n", perDecision*f.decisions+777*f.scrapes)
	fmt.Fprintf(w, "go_memstats_mallocs_total %d\n", 10*f.decisions+7*f.scrapes)
	fmt.Fprintf(w, "http_request_duration_seconds_sum{handler=\"v1/data\"} %d\n", f.decisions)
	fmt.Fprintf(w, "http_request_duration_seconds_sum{handler=\"metrics\"} %d\n", f.scrapes)
}

func (f *fakeOPA) decide(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.next) == 0 {
		f.next = f.workload.blocks(1)
	}
	want := f.next[0]
	f.next = f.next[1:]
	f.posts++
	if body, _ := io.ReadAll(r.Body); string(body) != want.body || r.URL.String() != want.path {
		http.Error(w, fmt.Sprintf("request %d is not that of the workload", f.posts), http.StatusTeapot)
		return
	}
	if f.name == fakeDying && f.posts == 60 {
		fakeExit("panic: something went wrong")
	}
	if f.name == fakeWrong && f.posts == 10 {
		http.Error(w, "an odd answer", http.StatusServiceUnavailable)
		return
	}

	metrics := `{"timer_server_handler_ns":1000,"timer_rego_query_eval_ns":500}`
	path, _, _ := strings.Cut(strings.TrimPrefix(want.path, "/v1/data/"), "?")
	line := map[string]any{"msg": "Decision Log", "decision_id": "x", "path": path, "metrics": json.RawMessage(metrics)}
	answer := map[string]any{}
	if want.isQuery() {
		line["query"], path = "data.q", "(query)"
		delete(line, "path")
	}
	if want.showMetrics || want.instrumented {
		answer["metrics"] = json.RawMessage(metrics)
	}
	switch want.want {
	case allowed, denied:
		answer["result"] = want.want == allowed
	case unjudged:
		answer["result"] = []int{1}
	case failed:
		line["error"] = "policy/rbac.rego:75: eval_builtin_error: no token"
	}
	if result, ok := answer["result"]; ok {
		line["result"] = result
	}
	if want.want != malformed {
		f.decisions++
		factor := 1.0
		if f.name == fakeImprecise {
			factor = 1.03
		}
		if path == noRules || f.name == fakeAstray && f.decisions == 10 {
			path = "other"
		}
		if f.name != fakeMute {
			f.exported.add(path, want.want, factor)
		}
		if f.name != fakeForgetful || f.decisions != 10 {
			_ = json.NewEncoder(os.Stderr).Encode(line)
		}
	}
	w.WriteHeader(want.wantStatus())
	_ = json.NewEncoder(w).Encode(answer)
}
