// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opa_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regometer/regometer/opa/internal/hook"
	"github.com/regometer/regometer/opa/plugin"
)

var ran bool

// TestCountHTTPSend: a program that imports the plugin, and not its package
// register, keeps OPA's http.send and has no series of its failures. After
// CountHTTPSend, each failed request counts once by its cause, with the
// transport that a program gives too, while a plugin is started. (The tests of
// the plugin import register.)
func TestCountHTTPSend(t *testing.T) {
	if ran {
		t.Skip("http.send is replaced until the process ends")
	}
	ran = true
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/missing", http.NotFound)
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
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
	send := func(ctx context.Context, url, timeout string, options ...rego.EvalOption) {
		q, err := rego.New(rego.Query(`x := http.send({"method": "GET", "url": input, "timeout": ` + strconv.Quote(timeout) + `})`)).PrepareForEval(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = q.Eval(ctx, append(options, rego.EvalInput(url))...) // a failed call is undefined
	}

	manager, err := plugins.New([]byte(`{"plugins": {"regometer": {}}}`), "test", inmem.New(), plugins.Logger(logging.NewNoOpLogger()))
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	factory := plugin.Factory{Registerer: registry}
	config, err := factory.Validate(manager, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := factory.New(manager, config)
	start := func() {
		if err := p.Start(t.Context()); err != nil || hook.Started.Load() == 0 {
			t.Fatalf("a started plugin is active: %t, %v", hook.Started.Load() > 0, err)
		}
	}
	start()
	// read returns the failures by cause, and the number of all series by the
	// metric of them.
	read := func() (failures map[string]float64, series float64) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		failures = map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				switch f.GetName() {
				case "opa_decision_http_send_failures_total":
					failures[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
				case "opa_decision_metric_series":
					series = m.GetGauge().GetValue()
				}
			}
		}
		return failures, series
	}

	send(t.Context(), server.URL+"/status", "20s")
	name := runtime.FuncForPC(reflect.ValueOf(topdown.GetBuiltin(ast.HTTPSend.Name)).Pointer()).Name()
	failures, before := read()
	if len(failures) != 0 || !strings.HasPrefix(name, "github.com/open-policy-agent/opa/") {
		t.Errorf("an import replaces http.send by %s, and exports the failures %v", name, failures)
	}
	plugin.CountHTTPSend()
	plugin.CountHTTPSend()
	if failures, after := read(); len(failures) != 4 || after != before+4 {
		t.Errorf("there are the failures %v, and %v series after %v", failures, after, before)
	}
	gone, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	custom := rego.EvalHTTPRoundTripper(func(*http.Transport) http.RoundTripper {
		asked++
		return http.DefaultTransport
	})
	for _, test := range []struct{ name, url, cause string }{
		{"a good answer", server.URL + "/ok", ""},
		{"404", server.URL + "/missing", ""},
		{"500", server.URL + "/status", "status"},
		{"a cut connection", server.URL + "/cut", "connection"},
		{"a closed port", "http://" + closed.Addr().String(), "connection"},
		{"a slow service", server.URL + "/slow", "timeout"},
		{"an unknown certificate", secure.URL + "/ok", "other"},
		{"a client that leaves", server.URL + "/slow", "other"},
		{"the program's transport", server.URL + "/status", "status"},
		{"no plugin", server.URL + "/status", ""},
	} {
		want, _ := read()
		switch test.name {
		case "a slow service":
			send(t.Context(), test.url, "20ms")
		case "a client that leaves":
			time.AfterFunc(10*time.Millisecond, cancel)
			send(gone, test.url, "20s")
		case "the program's transport":
			send(t.Context(), test.url, "20s", custom)
		case "no plugin":
			p.Reconfigure(t.Context(), config)
			p.Stop(t.Context())
			if hook.Started.Load() > 0 {
				t.Error("a stopped plugin is active")
			}
			send(t.Context(), test.url, "20s")
			start()
		default:
			send(t.Context(), test.url, "20s")
		}
		if test.cause != "" {
			want[test.cause]++
		}
		if got, _ := read(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: there are the failures %v, want %v", test.name, got, want)
		}
	}
	if asked != 1 {
		t.Errorf("the program's transport was asked for %d times, want once", asked)
	}
	p.Stop(t.Context())
}
