// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"
)

// TestHTTPSendFailures: failed requests count by their cause, with the
// transport that a program gives too, and only while a plugin is started.
func TestHTTPSendFailures(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/missing", http.NotFound)
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	secure := httptest.NewTLSServer(mux)
	t.Cleanup(secure.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	timeout := "20s"
	send := func(ctx context.Context, url string, options ...rego.EvalOption) {
		q, err := rego.New(rego.Query(`x := http.send({"method": "GET", "url": input, "timeout": ` + strconv.Quote(timeout) + `})`)).PrepareForEval(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = q.Eval(ctx, append(options, rego.EvalInput(url))...) // a failed call is undefined
	}
	gone, cancel := context.WithCancel(t.Context())
	asked := 0
	custom := rego.EvalHTTPRoundTripper(func(*http.Transport) http.RoundTripper {
		asked++
		return http.DefaultTransport
	})
	started.Add(1)
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			started.Add(-1)
		}
	})
	for _, test := range []struct {
		name, url string
		cause     int
		call      func(url string)
	}{
		{"a good answer", server.URL + "/ok", -1, nil},
		{"404", server.URL + "/missing", -1, nil},
		{"502", server.URL + "/status", httpStatus, nil},
		{"a cut connection", server.URL + "/cut", httpConnection, nil},
		{"a closed port", "http://" + closed.Addr().String(), httpConnection, nil},
		{"a slow service", server.URL + "/slow", httpTimeout, func(url string) {
			timeout = "20ms"
			send(t.Context(), url)
			timeout = "20s"
		}},
		{"an unknown certificate", secure.URL + "/ok", httpOther, nil},
		{"a client that leaves", server.URL + "/slow", httpOther, func(url string) {
			time.AfterFunc(10*time.Millisecond, cancel)
			send(gone, url)
		}},
		{"the program's transport", server.URL + "/status", httpStatus, func(url string) { send(t.Context(), url, custom) }},
		{"no plugin", server.URL + "/status", -1, func(url string) {
			started.Add(-1)
			stopped = true
			send(t.Context(), url)
		}},
	} {
		var before, want [len(httpCauses)]uint64
		for i := range httpFailures {
			before[i] = httpFailures[i].Load()
		}
		if test.cause >= 0 {
			want[test.cause] = 1
		}
		if test.call == nil {
			send(t.Context(), test.url)
		} else {
			test.call(test.url)
		}
		for i, cause := range httpCauses {
			if n := httpFailures[i].Load() - before[i]; n != want[i] {
				t.Errorf("%s: %d failures %s, want %d", test.name, n, cause, want[i])
			}
		}
	}
	if asked != 1 {
		t.Errorf("the program's transport was asked for %d times, want once", asked)
	}
}
