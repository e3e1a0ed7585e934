// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The test binary is a fake OPA if its name begins so. What follows in the name
// is its fault, usually at the tenth decision. It knows only the workload of
// seed 1.
const fakePrefix = "fake-opa-"

func TestMain(m *testing.M) {
	if name, ok := strings.CutPrefix(filepath.Base(os.Args[0]), fakePrefix); ok {
		fmt.Fprintln(os.Stderr, runFakeOPA(name, os.Args[1:]))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// fakeOPA returns the path of a fake OPA.
func fakeOPA(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fakePrefix+name)
	if err := os.Symlink(os.Args[0], path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	return path
}

// results are what the fakes log, by outcome.
var results = map[string]string{
	"allowed": `"result": true`, "denied": `"result": false`, "undefined": `"input": 1`, "result": `"result": 1`,
	"error": `"error": "eval_builtin_error"`,
}

// runFakeOPA returns only if it fails.
func runFakeOPA(name string, args []string) error {
	if _, err := os.Stat(filepath.Join(args[2], "directory.json")); err != nil || name == "broken" {
		return fmt.Errorf("rego_parse_error: somewhere")
	}
	registry := prometheus.NewRegistry()
	counters := func(name string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "x"}, labels)
		registry.MustRegister(c)
		return c
	}
	decisions := counters("opa_decisions_total", "outcome")
	stages := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "opa_decision_stage_duration_seconds", Help: "x", NativeHistogramBucketFactor: 1.022, NativeHistogramZeroThreshold: 1e-12,
	}, []string{"stage"})
	registry.MustRegister(stages)
	handlers := counters("http_request_duration_seconds", "handler")
	handlers.WithLabelValues("metrics").Add(1e9)
	busy := counters("go_cpu_classes_total_cpu_seconds_total").WithLabelValues()
	bytes := counters("go_memstats_alloc_bytes_total").WithLabelValues()
	allocations := counters("go_memstats_mallocs_total").WithLabelValues()

	w, made := newWorkload(1), 0
	var block []request
	http.HandleFunc("POST /v1/", func(answer http.ResponseWriter, r *http.Request) {
		if len(block) == 0 {
			block = w.block()
		}
		q := block[0]
		block = block[1:]
		fault, ns := "", 1000.0
		if made++; made == 10 {
			fault = name
		}
		if fault != "forgetful" {
			fmt.Fprintf(os.Stderr, `{"msg":"Decision Log","decision_id":"x","path":"x",%s,"metrics":{"timer_rego_query_eval_ns":1000}}`+"\n", results[q.outcome])
		}
		if fault != "miscounting" {
			decisions.WithLabelValues(q.outcome).Inc()
		}
		if fault == "imprecise" {
			ns++
		}
		if name == "spread" { // the sum stays the same
			ns += 500 * float64(made%2*2-1)
		}
		stages.WithLabelValues("rego_query_eval").Observe(ns * 1e-9)
		handlers.WithLabelValues("v1/data").Inc()
		busy.Inc()
		if bytes.Add(1000); name == "wasteful" {
			bytes.Add(3000)
		}
		allocations.Inc()
		if r.URL.String() != q.path || fault == "wrong" {
			q.status = http.StatusTeapot
		}
		answer.WriteHeader(q.status)
	})
	mark := args[slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "labels.") })]
	http.HandleFunc("GET /v1/config", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"result":{"labels":{"regometer_server":%q,"version":"1.2.3"}}}`, mark[strings.IndexByte(mark, '=')+1:])
	})
	http.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	http.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	address := args[slices.Index(args, "--addr")+1]
	fmt.Fprintln(os.Stderr, address)
	return http.ListenAndServe(address, nil)
}
