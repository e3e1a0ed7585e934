// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	opaconfig "github.com/open-policy-agent/opa/v1/config"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// readConfig writes a configuration of OPA and reads it.
func readConfig(t *testing.T, text string) opaconfig.Config {
	name := filepath.Join(t.TempDir(), "config.yaml")
	write(name, text)
	return must(ReadConfig(name))
}

// A collector follows a bundle as OPA does. Whatever the server answers, the
// last good policy and its ETag stay, and the log has each new reason once.
func TestBundleServer(t *testing.T) {
	t.Setenv("BUNDLE_TOKEN", "secret")
	t.Setenv("EMPTY", "")
	type step struct {
		name       string
		status     int
		sent, text string // the ETag and the bundle
		etag       string // that the collector has, before the answer
		want       string // packages
		logged     string // the new line
		changed    bool   // whether the policy counts as current
	}
	var last *http.Request
	var now step
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r
		w.Header().Set("ETag", now.sent)
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.text)
	}))
	defer server.Close()
	c, log := newLogged(Options{})
	p := must(NewPolicy(c, nil, readConfig(t, fmt.Sprintf(`
services: [{name: acme, url: %q, credentials: {bearer: {token: "${BUNDLE_TOKEN}", scheme: "${UNSET_SCHEME}"}}}]
bundles:
  authz: {service: acme, resource: "/x/authz.tar.gz${EMPTY}", polling: {min_delay_seconds: 0, max_delay_seconds: 7}, signing: {keyid: k}}
keys: {k: {key: secret, algorithm: HS256}}
status: {service: acme}
discovery: {resource: d}
`, server.URL))))
	s := p.sources[0]
	wait := func(failures int) time.Duration { s.failures = failures; return s.wait() }
	for range 1000 {
		if first, later, good := wait(1), wait(20), wait(0); first < time.Second || first > 2*time.Second || later < 5*time.Second || max(later-2*time.Second, good) > 7*time.Second || good < time.Second {
			t.Fatalf("the times between two requests are %v and %v after failures, and %v", first, later, good)
		}
	}
	if s.min != time.Second || s.max != 7*time.Second || !strings.Contains(log(), "discovery") {
		t.Errorf("the delays are %v and %v, or the log lacks discovery", s.min, s.max)
	}
	good := bundleOf("a/p.rego", v1, "data.json", "{}")
	var bomb bytes.Buffer
	noError(tar.NewWriter(&bomb).WriteHeader(&tar.Header{Name: "data.bin", Size: 2 * maxUnpacked}))
	zeros := packed(strings.Repeat("\x00", 64<<20))
	for _, now = range []step{
		{"401", 401, "", "", "", "", "401 Unauthorized: check bundles.authz.resource, and services.acme", false},
		{"401 again", 401, "", "", "", "", "", false},
		{"a bundle", 200, "one", good, "", "a", "can be used again", true},
		{"304", 304, "", "", "one", "a", "", true},
		{"500", 500, "", "", "one", "a", "500 Internal", false},
		{"a number", 598, "", "", "one", "a", "status code 598", false},
		{"another number", 599, "", "", "one", "a", "", false},
		{"304 after errors", 304, "", "", "one", "a", "can be used again", true},
		{"a cut bundle", 200, "two", good[:len(good)-30], "one", "a", "unexpected EOF", false},
		{"no bundle", 200, "two", "<html>", "one", "a", "not a bundle", false},
		{"a bundle that does not compile", 200, "two", bundleOf("p.rego", "package c\nx := 1\nx(y) := 1"), "one", "a", "rego_type_error", false},
		{"a delta", 200, "two", bundleOf("patch.json", "{}"), "one", "a", "delta bundle", false},
		{"a bomb", 200, "two", packed(bomb.String()) + strings.Repeat(zeros, maxUnpacked/(64<<20)), "one", "a", "after unpacking", false},
		{"v0", 200, "three", bundleOf("p.rego", v0), "one", "b", "can be used again", true},
		{"signed, without ETag", 200, "", bundleOf("p.rego", v1, ".signatures.json", `{"signatures":["x.y.z"]}`), "three", "a", "", true},
		{"only data", 200, "four", bundleOf("data.json", "{}"), "", "", "", true},
	} {
		c.metrics.policy.Reset()
		p.update(t.Context(), s)
		ok, timed := s.failures == 0, testutil.CollectAndCount(c.metrics.policy) == 1
		if got := packagesOf(p); ok != now.changed || timed != now.changed || got != now.want {
			t.Errorf("%s: the policy is current: %t, it has a time: %t, the packages are %q, want %t and %q", now.name, ok, timed, got, now.changed, now.want)
		}
		if etag := last.Header.Get("If-None-Match"); etag != now.etag || last.URL.Path != "/x/authz.tar.gz" ||
			last.Header.Get("Authorization") != "${UNSET_SCHEME} secret" || last.Header.Get("Prefer") != "modes=snapshot" {
			t.Errorf("%s: the request is %s %v, want the ETag %q", now.name, last.URL, last.Header, now.etag)
		}
		if got := log(); strings.Count(got, "\n") != min(len(now.logged), 1) || !strings.Contains(got, now.logged) {
			t.Errorf("%s: the log is %q, want one line with %q", now.name, got, now.logged)
		}
	}
	server.Close()
	p.update(t.Context(), s)
	if got := log(); !strings.Contains(got, "connection refused") || strings.Contains(got, server.URL) {
		t.Errorf("without the server the log is %q", got)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	p.update(ended, s)
	if got := log(); s.failures == 0 || got != "" {
		t.Errorf("at the end the log is %q", got)
	}
}

// Bundles can come from several servers, and from files. Together with --policy,
// they are one policy.
func TestBundleSources(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, bundleOf("p.rego", "package "+strings.Split(r.URL.Path, "/")[1]+"\np := data.other.p"))
	}))
	defer server.Close()
	dir := t.TempDir()
	lay(dir, map[string]string{"b.tar.gz": bundleOf("p.rego", v1), "p.rego": v0})
	opa := readConfig(t, strings.NewReplacer("URL", server.URL, "DIR", dir).Replace(`
services: {acme: {url: URL}, second: {url: URL/two}, images: {url: URL, type: OCI}}
bundles:
  one: {service: acme, resource: one}
  bundles/two: {service: second, resource: one, polling: {min_delay_seconds: 1, max_delay_seconds: 2}}
  file: {resource: "file://DIR/b.tar.gz"}
  image: {service: images, resource: image}
  missing: {resource: "file://DIR/missing.tar.gz"}
plugins: {regometer: {}}`))
	c := newCollector(Options{Config: opa.Plugins["regometer"]})
	p := must(NewPolicy(c, []string{filepath.Join(dir, "p.rego")}, opa))
	for _, s := range p.sources {
		s.failures = 1
		if first := s.wait(); first < time.Second || first > 2*time.Second {
			t.Errorf("%s is read again %v after a failure", s.name, first)
		}
	}
	p.Follow(t.Context())
	eventually(t, "the policy has the rules of all sources", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return packagesOf(p) == "a b one two" && testutil.CollectAndCount(c.metrics.policy) == 4
	})
	page := scrape(c)
	for _, want := range []string{`opa_decision_policy_paths{label="own"} 4`, `regometer_collect_policy_timestamp_seconds{source="bundles/two"} 1.`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	for text, want := range map[string]string{
		"services: {a: {url: x}}\nbundles: {x: {service: b}}":                                   `service name "b" not found`,
		"services: {a: {url: x}}\nbundles: {x: {polling: {min_delay_seconds: 1}}}":              "missing 'max_delay_seconds'",
		"services: {a: {url: x, credentials: {bearer: 1}}}\nbundles: {x: {resource: file://a}}": "--config",
	} {
		if _, err := NewPolicy(c, nil, readConfig(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", text, err, want)
		}
	}
}
