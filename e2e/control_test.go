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
	url     string
	logs    atomic.Int64 // uploads so far; every third is refused
	mu      sync.Mutex
	bundle  []byte
	version string
}

func startControl(t *testing.T) *control {
	t.Helper()
	c := &control{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bundle.tar.gz", c.serveBundle)
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
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.url = server.URL
	c.activate(t, "one")
	return c
}

// activate makes a new revision of the bundle, with these policies too, by
// file. Their packages are below "more". It waits for nothing.
func (c *control) activate(t *testing.T, revision string, more ...string) {
	t.Helper()
	files := map[string]any{
		".manifest": map[string]any{"revision": revision, "roots": []string{"authz", "catalog", "directory", "more"}},
		"data.json": map[string]any{
			"authz": map[string]any{
				"roles":       map[string][]string{"alice": {"admin", "staff"}, "bob": {"staff"}},
				"permissions": map[string][]string{"admin": {"write", "delete"}, "staff": {"read"}},
			},
			"directory": map[string]any{"url": c.url},
		},
	}
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	add := func(name string, content []byte) {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range files {
		content, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		add("/"+name, content)
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
		add("/"+filepath.Base(policy), content)
	}
	for i, text := range more {
		add(fmt.Sprintf("/more%d.rego", i), []byte(text))
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bundle, c.version = b.Bytes(), `"`+revision+`"`
}

func (c *control) serveBundle(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Header.Get("If-None-Match") == c.version {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("ETag", c.version)
	w.Header().Set("Content-Type", "application/gzip")
	_, _ = w.Write(c.bundle) // an error would mean that OPA has gone
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
