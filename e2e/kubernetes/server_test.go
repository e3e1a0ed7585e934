// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"

	"github.com/regometer/regometer/e2e/harness"
)

// startServer runs the server of the kustomization in a folder of dir. edit
// changes the files of its ConfigMaps.
func startServer(t *testing.T, dir, folder string, edit func(string) string) *container {
	return start(t, harness.OPA(t), mustRender(t, dir, folder), []string{":8181", ":8282"}, edit)
}

func asItIs(text string) string { return text }

// TestServer runs the example's server from its start to its end.
func TestServer(t *testing.T) {
	harness.EndToEnd(t)
	c := startServer(t, harness.Root, examples, asItIs)
	c.awaitReady(t)
	c.checkDecision(t, "alice", "true")
	c.checkDecision(t, "mallory", "false")
	for _, refused := range []string{
		"PUT /v1/policies/authz", "GET /v1/policies", "DELETE /v1/policies/authz.rego", "PATCH /v1/data/users", "GET /v1/config",
		"GET /v1/query?q=data", "POST /v1/query", "POST /v1/compile", "POST /", "POST /v0/data/authz/allow",
		"GET /v1/data", "GET /v1/data/authz/allow", "POST /v1/data", "POST /v1/data/", "POST /v1/data/authz",
		"POST /v1/data/authz/allow/x", "POST /v1/data/authz%2Fallow", "POST /v1/data/system/authz/decisions",
	} {
		method, path, _ := strings.Cut(refused, " ")
		status, body := c.request(t, method, "http", path, "{}")
		assert.Equal(t, http.StatusUnauthorized, status, "%s: %s", refused, body)
	}
	c.checkMetrics(t, "diagnostics",
		`regometer_build_info{`,
		`opa_decisions_total{outcome="allowed",path="authz/allow"} 1`,
		`opa_decisions_total{outcome="denied",path="authz/allow"} 1`,
		`opa_decision_received_total{source="server"} 2`,
		`opa_decision_path_duration_seconds_count{path="authz/allow",stage="rego_query_eval"} 2`,
		`go_gc_gomemlimit_bytes 5.12e+08`,
		`go_sched_gomaxprocs_threads `)
	c.stop(t)
	assert.NotRegexp(t, `"level":"error"|Received request`, c.Words(t))
}

// A bundleServer serves a bundle as soon as it has one.
type bundleServer struct {
	*httptest.Server
	bundle atomic.Value // []byte
}

func newBundleServer(t *testing.T) *bundleServer {
	s := &bundleServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bundle, ok := s.bundle.Load().([]byte)
		if !ok || r.URL.Path != "/bundle.tar.gz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(bundle) // OPA logs a failure
	}))
	t.Cleanup(s.Close)
	return s
}

// setBundle makes a bundle with these roots, which are JSON. Its policy allows
// only carol.
func (s *bundleServer) setBundle(t *testing.T, roots string) {
	s.bundle.Store(harness.Bundle(t, map[string]string{
		"/.manifest":  `{"revision": "one", "roots": ` + roots + `}`,
		"/authz.rego": "package authz\n\ndefault allow := false\n\nallow if input.user == \"carol\"\n",
	}))
}

// start runs the example's server with the part of its configuration that names
// a server of bundles, which is a comment there.
func (s *bundleServer) start(t *testing.T) *container {
	return startServer(t, harness.Root, examples, func(text string) string {
		before, block, ok := strings.Cut(text, "#\n# services:\n")
		if !ok {
			return text // a policy
		}
		const documented = "https://bundles.example.com"
		require.Contains(t, block, documented)
		return before + "services:\n" + strings.NewReplacer("# ", "", documented, s.URL).Replace(block)
	})
}

// TestBundleServerAway: without a server of bundles, a new pod gets no requests
// and an old one continues, and no pod restarts.
func TestBundleServerAway(t *testing.T) {
	harness.EndToEnd(t)
	bundles := newBundleServer(t)
	c := bundles.start(t)
	c.await(t, c.spec.LivenessProbe, http.StatusOK)
	for _, p := range []*core.Probe{c.spec.StartupProbe, c.spec.ReadinessProbe} {
		assert.Equal(t, http.StatusInternalServerError, c.probe(t, p), "%s before the first bundle", p.HTTPGet.Path)
	}
	p := c.spec.StartupProbe
	assert.GreaterOrEqual(t, p.PeriodSeconds*p.FailureThreshold, int32(3600), "seconds until the startup probe ends the pod")

	bundles.setBundle(t, `["authz"]`)
	c.awaitReady(t)
	bundles.Close()
	for _, p := range []*core.Probe{c.spec.LivenessProbe, c.spec.ReadinessProbe} {
		assert.Equal(t, http.StatusOK, c.probe(t, p), "%s after the last bundle", p.HTTPGet.Path)
	}
	c.checkDecision(t, "carol", "true")
}

// TestBundleOwnsEverything: a bundle that owns all of OPA's data makes OPA
// refuse all requests, as config.yaml says.
func TestBundleOwnsEverything(t *testing.T) {
	harness.EndToEnd(t)
	bundles := newBundleServer(t)
	bundles.setBundle(t, `[""]`)
	c := bundles.start(t)
	c.await(t, c.spec.LivenessProbe, http.StatusInternalServerError)
	_, body := c.request(t, http.MethodGet, "diagnostics", "/health", "")
	assert.Contains(t, body, "authorization policy missing or undefined")
}
