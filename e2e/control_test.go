// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A control is the service that OPA servers depend on: it has the policy as a
// bundle, takes decision logs, and is the directory that http.send asks.
type control struct {
	url    string
	server *httptest.Server
	logs   atomic.Int64 // uploads so far; every third is refused

	mu        sync.Mutex
	resources map[string]resource
}

// A resource is a bundle that servers ask for again and again.
type resource struct {
	content   []byte
	version   string
	downloads int // of all versions
}

func startControl(t *testing.T) *control {
	t.Helper()
	c := &control{resources: map[string]resource{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{resource}", c.serveResource)
	mux.HandleFunc("POST /logs", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if c.logs.Add(1)%3 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /on-call/{user}", func(w http.ResponseWriter, r *http.Request) {
		// From 1 to 8 ms, by the length of the name.
		time.Sleep(time.Duration(1+len(r.PathValue("user"))%8) * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"on_call": %t}`, !strings.HasPrefix(r.PathValue("user"), "off"))
	})
	c.server = httptest.NewServer(mux)
	t.Cleanup(c.server.Close)
	c.url = c.server.URL
	c.activate(t, "one")
	return c
}

// activate makes a new revision of the bundle, with these policies too, by
// file. Their packages are below "more". It waits for nothing.
func (c *control) activate(t *testing.T, revision string, more ...string) {
	t.Helper()
	files := map[string][]byte{
		"/.manifest": asJSON(t, map[string]any{"revision": revision, "roots": []string{"authz", "catalog", "directory", "more"}}),
		"/data.json": asJSON(t, map[string]any{
			"authz": map[string]any{
				"roles":       map[string][]string{"alice": {"admin", "staff"}, "bob": {"staff"}},
				"permissions": map[string][]string{"admin": {"write", "delete"}, "staff": {"read"}},
			},
			"directory": map[string]any{"url": c.url},
		}),
	}
	policies, err := filepath.Glob("testdata/policy/*.rego")
	if err != nil || len(policies) == 0 {
		t.Fatalf("no policies found: %v", err)
	}
	for _, policy := range policies {
		content, err := os.ReadFile(policy)
		if err != nil {
			t.Fatal(err)
		}
		files["/"+filepath.Base(policy)] = content
	}
	for i, text := range more {
		files[fmt.Sprintf("/more%d.rego", i)] = []byte(text)
	}
	c.put("bundle.tar.gz", revision, tarball(t, files))
}

func (c *control) put(name, version string, content []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources[name] = resource{content, `"` + version + `"`, c.resources[name].downloads}
}

// downloads returns how often a resource was sent.
func (c *control) downloads(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resources[name].downloads
}

func (c *control) serveResource(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := r.PathValue("resource")
	found, ok := c.resources[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Header.Get("If-None-Match") == found.version {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	found.downloads++
	c.resources[name] = found
	w.Header().Set("ETag", found.version)
	w.Header().Set("Content-Type", "application/gzip")
	_, _ = w.Write(found.content) // an error would mean that OPA has gone
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tarball returns a bundle of files by path.
func tarball(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// config returns a server's configuration: the plugin with its defaults, the
// policy from the bundle, and the decision log in the server's output.
func (c *control) config(decisionLogs map[string]any) map[string]any {
	logs := map[string]any{"console": true}
	for key, value := range decisionLogs {
		logs[key] = value
	}
	return map[string]any{
		"services": map[string]any{"control": map[string]any{"url": c.url}},
		"bundles": map[string]any{"policy": map[string]any{
			"service": "control", "resource": "bundle.tar.gz",
			"polling": map[string]any{"min_delay_seconds": 1, "max_delay_seconds": 2},
		}},
		"decision_logs": logs,
		"plugins":       map[string]any{"regometer": map[string]any{}},
		"status":        map[string]any{"prometheus": true},
	}
}
