// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// config writes a configuration of OPA and reads it.
func config(t *testing.T, text string) OPAConfig {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := ReadConfig(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A collector follows a bundle as OPA does. Whatever the server answers, the
// last good policy and its ETag stay, and the log has each new reason once.
func TestBundleServer(t *testing.T) {
	t.Setenv("BUNDLE_TOKEN", "secret")
	t.Setenv("EMPTY", "")
	var last *http.Request
	var answer func(w http.ResponseWriter)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r
		answer(w)
	}))
	defer server.Close()
	var log bytes.Buffer
	c := newCollector(t, Options{})
	c.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	p, err := NewPolicy(c, nil, config(t, fmt.Sprintf(`
services: [{name: acme, url: %q, credentials: {bearer: {token: "${BUNDLE_TOKEN}", scheme: "${UNSET_SCHEME}"}}}]
bundles:
  authz: {service: acme, resource: "/x/authz.tar.gz${EMPTY}", polling: {min_delay_seconds: 0, max_delay_seconds: 7}, signing: {keyid: k}}
keys: {k: {key: secret, algorithm: HS256}}
status: {service: acme}
discovery: {resource: d}
`, server.URL)))
	if err != nil {
		t.Fatal(err)
	}
	s := p.sources[0]
	for range 1000 {
		if first, later, good := s.wait(1), s.wait(20), s.wait(0); first < time.Second || first > 2*time.Second || later < 5*time.Second || max(later-2*time.Second, good) > 7*time.Second || good < time.Second {
			t.Fatalf("the times between two requests are %v and %v after failures, and %v", first, later, good)
		}
	}
	if s.min != time.Second || s.max != 7*time.Second || !strings.Contains(log.String(), "discovery") {
		t.Errorf("the delays are %v and %v, the log is %q", s.min, s.max, &log)
	}
	sends := func(etag, text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("ETag", etag)
			_, _ = w.Write([]byte(text))
		}
	}
	status := func(code int) func(http.ResponseWriter) { return func(w http.ResponseWriter) { w.WriteHeader(code) } }
	good := bundleOf(t, "a/p.rego", v1, "data.json", "{}")
	var bomb bytes.Buffer
	if err := tar.NewWriter(&bomb).WriteHeader(&tar.Header{Name: "data.bin", Size: 2 * maxUnpacked}); err != nil {
		t.Fatal(err)
	}
	zeros := packed(strings.Repeat("\x00", 64<<20))
	for _, step := range []struct {
		name    string
		answer  func(http.ResponseWriter)
		etag    string // that the collector has, before the answer
		want    string // packages
		logged  string // the new line
		changed bool   // whether the policy counts as current
	}{
		{"401", status(401), "", "", "401 Unauthorized: check bundles.authz.resource, and services.acme", false},
		{"401 again", status(401), "", "", "", false},
		{"a bundle", sends("one", good), "", "a", "can be used again", true},
		{"304", status(304), "one", "a", "", true},
		{"500", status(500), "one", "a", "500 Internal", false},
		{"another error", status(503), "one", "a", "503 Service", false},
		{"a number", status(598), "one", "a", "status code 598", false},
		{"another number", status(599), "one", "a", "", false},
		{"304 after errors", status(304), "one", "a", "can be used again", true},
		{"a cut bundle", sends("two", good[:len(good)-30]), "one", "a", "unexpected EOF", false},
		{"no bundle", sends("two", "<html>"), "one", "a", "not a bundle", false},
		{"a bundle that does not compile", sends("two", bundleOf(t, "p.rego", "package c\nx := 1\nx(y) := 1")), "one", "a", "rego_type_error", false},
		{"a delta", sends("two", bundleOf(t, "patch.json", "{}")), "one", "a", "delta bundle", false},
		{"a bomb", sends("two", packed(bomb.String())+strings.Repeat(zeros, maxUnpacked/(64<<20))), "one", "a", "after unpacking", false},
		{"v0", sends("three", bundleOf(t, "p.rego", v0)), "one", "b", "can be used again", true},
		{"signed, without ETag", sends("", bundleOf(t, "p.rego", v1, ".signatures.json", `{"signatures":["x.y.z"]}`)), "three", "a", "", true},
		{"only data", sends("four", bundleOf(t, "data.json", "{}")), "", "", "", true},
	} {
		log.Reset()
		answer = step.answer
		c.metrics.policy.Reset()
		if ok := p.update(t.Context(), s); ok != step.changed {
			t.Errorf("%s: the policy is current: %t", step.name, ok)
		}
		if n := testutil.CollectAndCount(c.metrics.policy); (n == 1) != step.changed {
			t.Errorf("%s: %d sources have a time", step.name, n)
		}
		if got := packagesOf(p); got != step.want {
			t.Errorf("%s: the packages are %q, want %q", step.name, got, step.want)
		}
		if etag := last.Header.Get("If-None-Match"); etag != step.etag || last.URL.Path != "/x/authz.tar.gz" ||
			last.Header.Get("Authorization") != "${UNSET_SCHEME} secret" || last.Header.Get("Prefer") != "modes=snapshot" {
			t.Errorf("%s: the request is %s %v, want the ETag %q", step.name, last.URL, last.Header, step.etag)
		}
		if strings.Count(log.String(), "\n") != min(len(step.logged), 1) || !strings.Contains(log.String(), step.logged) {
			t.Errorf("%s: the log is %q, want one line with %q", step.name, &log, step.logged)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if p.update(ended, s) || log.Len() > 0 {
		t.Errorf("at the end the log is %q", &log)
	}
}

// Bundles can come from several servers, with all credentials of services, and
// from files. Together with --policy, they are one policy.
func TestBundleSources(t *testing.T) {
	t.Parallel()
	serverCert, serverKey := certificate(t, "server")
	clientCert, clientKey := certificate(t, "client")
	tls, err := ServerTLS(serverCert, serverKey, clientCert, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(bundleOf(t, "p.rego", "package "+strings.Split(r.URL.Path, "/")[1]+"\np := data.other.p")))
	}))
	server.TLS = tls
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"b.tar.gz": bundleOf(t, "p.rego", v1), "p.rego": v0})
	opa := config(t, fmt.Sprintf(`
services:
  acme: {url: %q, tls: {ca_cert: %q}, credentials: {client_tls: {cert: %q, private_key: %q}}}
  second: {url: "%[1]s/two", tls: {ca_cert: %[2]q}, credentials: {client_tls: {cert: %[3]q, private_key: %[4]q}}}
  images: {url: %[1]q, tls: {ca_cert: %[2]q}, credentials: {client_tls: {cert: %[3]q, private_key: %[4]q}}, type: OCI}
bundles:
  one: {service: acme, resource: one}
  bundles/two: {service: second, resource: one, polling: {min_delay_seconds: 1, max_delay_seconds: 2}}
  file: {resource: "file://%[5]s/b.tar.gz"}
  image: {service: images, resource: image}
  missing: {resource: "file://%[5]s/missing.tar.gz"}
plugins: {regometer: {next: console}, console: {}}`, server.URL, serverCert, clientCert, clientKey, dir))
	c := newCollector(t, Options{Config: opa.Plugins.Regometer})
	p, err := NewPolicy(c, []string{filepath.Join(dir, "p.rego")}, opa)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.sources {
		if first := s.wait(1); first < time.Second || first > 2*time.Second {
			t.Errorf("%s is read again %v after a failure", s.name, first)
		}
	}
	p.Follow(t.Context())
	eventually(t, "the policy has the rules of all sources", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return packagesOf(p) == "a b one two" && testutil.CollectAndCount(c.metrics.policy) == 4
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	text := scrape(c)
	for _, want := range []string{`opa_decision_policy_paths{label="own"} 4`, `regometer_collect_policy_timestamp_seconds{source="bundles/two"} 1.`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s:\n%s", want, text)
		}
	}
	for text, want := range map[string]string{
		"services: {a: {url: x}}\nbundles: {x: {service: b}}":                                   `service name "b" not found`,
		"services: {a: {url: x}}\nbundles: {x: {polling: {min_delay_seconds: 1}}}":              "missing 'max_delay_seconds'",
		"services: {a: {url: x, credentials: {bearer: 1}}}\nbundles: {x: {resource: file://a}}": "--config",
	} {
		if _, err := NewPolicy(c, nil, config(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", text, err, want)
		}
	}
}
