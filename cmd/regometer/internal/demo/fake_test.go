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
)

// The test binary is a fake OPA if its name begins with the prefix. The rest of
// the name is its fault. Each decision allows.
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

// runFakeOPA returns only if it fails.
func runFakeOPA(name string, args []string) error {
	if _, err := os.Stat(filepath.Join(args[2], "directory.json")); err != nil || name == "broken" {
		return fmt.Errorf("rego_parse_error: somewhere")
	}
	metrics := map[string]float64{`http_request_duration_seconds_sum{handler="metrics"}`: 1e9}
	w := newWorkload()
	var block []request
	http.HandleFunc("POST /v1/", func(answer http.ResponseWriter, r *http.Request) {
		if len(block) == 0 {
			block = w.block()
		}
		q := block[0]
		block = block[1:]
		fmt.Fprintln(os.Stderr, `{"msg":"Decision Log","decision_id":"x","path":"x","result":true,"metrics":{"timer_rego_query_eval_ns":1000}}`)
		if name == "wasteful" {
			metrics["go_memstats_alloc_bytes_total"] += 3000
		}
		for series, n := range map[string]float64{
			`opa_decisions_total{outcome="allowed"}`:                             1,
			`opa_decision_stage_duration_seconds_count{stage="rego_query_eval"}`: 1,
			`opa_decision_stage_duration_seconds_sum{stage="rego_query_eval"}`:   1e-6,
			`http_request_duration_seconds_sum{code="200",handler="v1/data"}`:    1,
			"go_cpu_classes_total_cpu_seconds_total":                             1, "go_memstats_alloc_bytes_total": 1000, "go_memstats_mallocs_total": 1,
		} {
			metrics[series] += n
		}
		if r.URL.String() != q.path || name == "wrong" {
			q.status = http.StatusTeapot
		}
		answer.WriteHeader(q.status)
	})
	http.HandleFunc("GET /v1/config", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"result":{"labels":{"version":"1.2.3"}}}`)
	})
	http.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		for series, n := range metrics {
			fmt.Fprintf(w, "# HELP x x\n%s %v\n", series, n)
		}
	})
	address := args[slices.Index(args, "--addr")+1]
	fmt.Fprintln(os.Stderr, address)
	return http.ListenAndServe(address, nil)
}
