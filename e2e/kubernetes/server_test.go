// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

// endToEnd skips a test unless it is asked for.
func endToEnd(t *testing.T) {
	t.Helper()
	needE2E(t)
	t.Parallel()
}

func needE2E(t *testing.T) {
	t.Helper()
	if os.Getenv("REGOMETER_E2E") == "" {
		t.Skip("set REGOMETER_E2E=1 to run it: it builds OPA")
	}
}

// startServer runs the server of the kustomization in a folder, with what its
// ConfigMaps say after edit.
func startServer(t *testing.T, folder string, edit func(string) string) (*container, *core.PodTemplateSpec) {
	t.Helper()
	binary, err := opaBinary()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := render(folder)
	if err != nil {
		t.Fatal(err)
	}
	d := of[*apps.Deployment](objects)[0]
	return start(t, binary, objects, d.Namespace, &d.Spec.Template, "opa", []string{":8181", ":8282"}, edit), &d.Spec.Template
}

// server is the folder of the example.
const server = root + "/" + examples

func asItIs(text string) string { return text }

// TestServer runs the server as it stands, from its start to its end.
func TestServer(t *testing.T) {
	endToEnd(t)
	c, pod := startServer(t, server, asItIs)
	c.await(t, c.spec.StartupProbe, http.StatusOK)
	c.await(t, c.spec.ReadinessProbe, http.StatusOK)
	c.await(t, c.spec.LivenessProbe, http.StatusOK)

	api := c.url(t, "http")
	for user, want := range map[string]string{"alice": `{"result":true}`, "mallory": `{"result":false}`} {
		status, body := request(t.Context(), t, http.MethodPost, api+"/v1/data/authz/allow", fmt.Sprintf(`{"input": {"user": %q}}`, user))
		if status != http.StatusOK || body != want {
			t.Errorf("%s: HTTP status %d, %s, want %s", user, status, body, want)
		}
	}
	for method, path := range map[string]string{
		http.MethodPut: "/v1/policies/authz", http.MethodPatch: "/v1/data/users", http.MethodDelete: "/v1/policies/authz.rego",
		http.MethodGet: "/v1/config", http.MethodPost: "/v1/query",
	} {
		if status, body := request(t.Context(), t, method, api+path, "{}"); status != http.StatusUnauthorized {
			t.Errorf("%s %s: HTTP status %d, %s", method, path, status, body)
		}
	}

	_, metrics := request(t.Context(), t, http.MethodGet, c.url(t, "diagnostics")+"/metrics", "")
	for _, want := range []string{
		`regometer_build_info{`,
		`opa_decisions_total{outcome="allowed",path="authz/allow"} 1`,
		`opa_decisions_total{outcome="denied",path="authz/allow"} 1`,
		`opa_decision_received_total{source="server"} 2`,
		`opa_decision_path_duration_seconds_count{path="authz/allow",stage="rego_query_eval"} 2`,
		`go_gc_gomemlimit_bytes 5.12e+08`,
		`go_sched_gomaxprocs_threads `,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	c.stop(t, time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second)
	if words := c.words(); strings.Contains(words, `"level":"error"`) || strings.Contains(words, "Received request") {
		t.Error("it logs errors, or requests")
	}
}

// withBundles takes the marks of comments from the part of the configuration
// that names a server of bundles, which is at url.
func withBundles(t *testing.T, url string) func(string) string {
	t.Helper()
	return func(text string) string {
		before, block, ok := strings.Cut(text, "#\n# services:\n")
		if !ok {
			return text // a policy
		}
		block = strings.ReplaceAll("# services:\n"+block, "# ", "")
		if !strings.Contains(block, "https://bundles.example.com") {
			t.Errorf("there is no server of bundles:\n%s", block)
		}
		return before + strings.ReplaceAll(block, "https://bundles.example.com", url)
	}
}

// bundleServer serves a bundle with these roots, while there is one. Its
// policy allows nobody but carol.
type bundleServer struct {
	*httptest.Server
	roots atomic.Pointer[string] // as JSON
}

func newBundleServer(t *testing.T) *bundleServer {
	t.Helper()
	s := &bundleServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		roots := s.roots.Load()
		if roots == nil || r.URL.Path != "/bundle.tar.gz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(bundle(*roots)) // OPA says it if it does not get it
	}))
	t.Cleanup(s.Close)
	return s
}

func bundle(roots string) []byte {
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for name, text := range map[string]string{
		"/.manifest":  `{"revision": "one", "roots": ` + roots + `}`,
		"/authz.rego": "package authz\n\ndefault allow := false\n\nallow if input.user == \"carol\"\n",
	} {
		// Writing to memory does not fail.
		_ = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
		_, _ = archive.Write([]byte(text))
	}
	_ = archive.Close()
	_ = compressed.Close()
	return b.Bytes()
}

// TestBundleServerAway: while the server of bundles is away, a new pod gets no
// requests, and none is restarted.
func TestBundleServerAway(t *testing.T) {
	endToEnd(t)
	bundles := newBundleServer(t)
	c, _ := startServer(t, server, withBundles(t, bundles.URL))
	c.await(t, c.spec.LivenessProbe, http.StatusOK)
	for name, p := range map[string]*core.Probe{"startup": c.spec.StartupProbe, "readiness": c.spec.ReadinessProbe} {
		if status := c.probe(t, p); status != http.StatusInternalServerError {
			t.Errorf("without a bundle, the %s probe has HTTP status %d", name, status)
		}
	}
	if p := c.spec.StartupProbe; p.PeriodSeconds*p.FailureThreshold < 3600 {
		t.Errorf("the startup probe ends the pod after %d s", p.PeriodSeconds*p.FailureThreshold)
	}

	roots := `["authz"]`
	bundles.roots.Store(&roots)
	c.await(t, c.spec.StartupProbe, http.StatusOK)
	c.await(t, c.spec.ReadinessProbe, http.StatusOK)

	bundles.Close()
	for name, p := range map[string]*core.Probe{"liveness": c.spec.LivenessProbe, "readiness": c.spec.ReadinessProbe} {
		if status := c.probe(t, p); status != http.StatusOK {
			t.Errorf("the %s probe has HTTP status %d", name, status)
		}
	}
	_, body := request(t.Context(), t, http.MethodPost, c.url(t, "http")+"/v1/data/authz/allow", `{"input": {"user": "carol"}}`)
	if body != `{"result":true}` {
		t.Errorf("carol: %s", body)
	}
}

// TestBundleOwnsEverything: what config.yaml warns of.
func TestBundleOwnsEverything(t *testing.T) {
	endToEnd(t)
	bundles := newBundleServer(t)
	roots := `[""]`
	bundles.roots.Store(&roots)
	c, _ := startServer(t, server, withBundles(t, bundles.URL))
	c.await(t, c.spec.LivenessProbe, http.StatusInternalServerError)
	if _, body := request(t.Context(), t, http.MethodGet, c.url(t, "diagnostics")+"/health", ""); !strings.Contains(body, "authorization policy missing or undefined") {
		t.Errorf("the reason is another: %s", body)
	}
}
