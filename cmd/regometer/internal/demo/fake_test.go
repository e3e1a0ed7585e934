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
	stages    *prometheus.HistogramVec
}

func runFakeOPA(name string, args []string) {
	f := &fakeOPA{name: name, workload: newWorkload(1), stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: stageMetric, Help: "x", NativeHistogramBucketFactor: 1.022, NativeHistogramZeroThreshold: 1e-12,
	}, []string{"stage", "path"})}
	registry := prometheus.NewRegistry()
	registry.MustRegister(f.stages)
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
	line := map[string]any{"msg": "Decision Log", "path": want.path, "metrics": json.RawMessage(metrics)}
	answer := map[string]any{}
	if want.isQuery() {
		line["query"] = "data.q"
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
		line["error"] = "eval_builtin_error"
	}
	if result, ok := answer["result"]; ok {
		line["result"] = result
	}
	if want.want != malformed {
		f.decisions++
		factor := 1e-9
		if f.name == fakeImprecise {
			factor *= 1.03
		}
		if f.name != fakeMute {
			f.stages.WithLabelValues("server_handler", want.path).Observe(1000 * factor)
			f.stages.WithLabelValues("rego_query_eval", want.path).Observe(500 * factor)
		}
		if f.name != fakeForgetful || f.decisions != 10 {
			_ = json.NewEncoder(os.Stderr).Encode(line)
		}
	}
	w.WriteHeader(want.wantStatus())
	_ = json.NewEncoder(w).Encode(answer)
}
