// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A control is the service that OPA servers depend on: it serves bundles, takes
// decision logs, and answers http.send.
type control struct {
	server  *httptest.Server
	away    atomic.Bool  // whether it refuses to serve bundles
	refused atomic.Int64 // n: it refuses every nth upload. 0: none
	uploads atomic.Int64

	mu        sync.Mutex
	resources map[string]resource
	events    []json.RawMessage // in the uploads that it took
}

// A resource is a bundle that servers ask for again and again.
type resource struct {
	content   []byte
	etag      string
	downloads int // of all versions
}

func startControl(t *testing.T) *control {
	c := &control{resources: map[string]resource{}}
	c.refused.Store(3)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{resource}", c.serveResource)
	mux.HandleFunc("POST /logs", func(w http.ResponseWriter, r *http.Request) {
		if n := c.refused.Load(); n > 0 && c.uploads.Add(1)%n == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var events []json.RawMessage
		text, err := gzip.NewReader(r.Body)
		if err == nil && json.NewDecoder(text).Decode(&events) == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events = append(c.events, events...)
		}
	})
	mux.HandleFunc("GET /on-call/{user}", func(w http.ResponseWriter, r *http.Request) {
		// From 1 to 8 ms, by the length of the name.
		time.Sleep(time.Duration(1+len(r.PathValue("user"))%8) * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"on_call": %t}`, !strings.HasPrefix(r.PathValue("user"), "off"))
	})
	mux.HandleFunc("GET /wait/{ms}", func(_ http.ResponseWriter, r *http.Request) {
		ms, _ := strconv.Atoi(r.PathValue("ms"))
		time.Sleep(time.Duration(ms) * time.Millisecond)
	})
	c.server = httptest.NewServer(mux)
	t.Cleanup(c.server.Close)
	c.activate(t, "one")
	return c
}

// activate makes a new revision of the bundle. more are further policies, in
// packages below "more". activate does not wait for the servers.
func (c *control) activate(t *testing.T, revision string, more ...string) {
	files := map[string]string{
		"/.manifest": asJSON(t, map[string]any{"revision": revision, "roots": []string{"authz", "catalog", "directory", "more"}}),
		"/data.json": asJSON(t, map[string]any{
			"authz": map[string]any{
				"roles":       map[string][]string{"alice": {"admin", "staff"}, "bob": {"staff"}},
				"permissions": map[string][]string{"admin": {"write", "delete"}, "staff": {"read"}},
			},
			"directory": map[string]any{"url": c.server.URL},
		}),
	}
	policies, err := filepath.Glob("testdata/policy/*.rego")
	require.NoError(t, err)
	require.NotEmpty(t, policies)
	for _, policy := range policies {
		content, err := os.ReadFile(policy)
		require.NoError(t, err)
		files["/"+filepath.Base(policy)] = string(content)
	}
	for i, text := range more {
		files[fmt.Sprintf("/more%d.rego", i)] = text
	}
	c.put("bundle.tar.gz", revision, bundle(t, files))
}

// logged returns the decisions in the uploads that the control took.
func (c *control) logged() (events []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, event := range c.events {
		events = append(events, string(event))
	}
	return events
}

func (c *control) put(name, version string, content []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources[name] = resource{content, strconv.Quote(version), c.resources[name].downloads}
}

// downloads returns the number of times that a resource was sent.
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
	switch {
	case !ok || c.away.Load():
		w.WriteHeader(http.StatusInternalServerError)
	case r.Header.Get("If-None-Match") == found.etag:
		w.WriteHeader(http.StatusNotModified)
	default:
		found.downloads++
		c.resources[name] = found
		w.Header().Set("ETag", found.etag)
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(found.content) // it fails only if OPA has gone
	}
}

// config returns a server's configuration: the plugin with its defaults, the
// policy from the bundle, and the decision log in the server's output and in
// the places that decisionLogs adds.
func (c *control) config(decisionLogs map[string]any) map[string]any {
	logs := map[string]any{"console": true}
	maps.Copy(logs, decisionLogs)
	return map[string]any{
		"services": map[string]any{"control": map[string]any{"url": c.server.URL}},
		"bundles": map[string]any{"policy": map[string]any{
			"service": "control", "resource": "bundle.tar.gz",
			"polling": map[string]any{"min_delay_seconds": 1, "max_delay_seconds": 2},
		}},
		"decision_logs": logs,
		"plugins":       map[string]any{"regometer": map[string]any{}},
		"status":        map[string]any{"prometheus": true},
	}
}

// uploads configures a decision log that is uploaded every second or two, with
// these further limits.
func uploads(limits map[string]any) map[string]any {
	reporting := map[string]any{"min_delay_seconds": 1, "max_delay_seconds": 2}
	maps.Copy(reporting, limits)
	return map[string]any{"service": "control", "resource": "logs", "reporting": reporting}
}

// A steady address leads to one server after the other. It does not answer
// while there is none.
type steady struct {
	address string
	server  atomic.Pointer[opa]
}

func newSteady(t *testing.T) *steady {
	s := &steady{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), // of requests to servers that are down
		Rewrite: func(r *httputil.ProxyRequest) {
			address := "127.0.0.1:0" // an error
			if server := s.server.Load(); server != nil {
				address = server.address
			}
			r.SetURL(&url.URL{Scheme: "http", Host: address})
		},
	})
	t.Cleanup(proxy.Close)
	s.address = proxy.Listener.Addr().String()
	return s
}
