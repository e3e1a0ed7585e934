// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/internal/prometheus"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/types"
)

func init() {
	// What a built-in function gets of the request that it evaluates for.
	rego.RegisterBuiltinDyn(&rego.Function{
		Name:             "test.request",
		Decl:             types.NewFunction(nil, types.A),
		Nondeterministic: true,
	}, func(bctx rego.BuiltinContext, _ []*ast.Term) (*ast.Term, error) {
		_, saves := bctx.Context.Value(IntermediateResultsContextKey{}).(map[string]any)
		return ast.NewTerm(ast.NewArray(ast.StringTerm(bctx.Metrics.Info().Name), ast.BooleanTerm(saves))), nil
	})
}

// metricsStore remembers what the last transaction was given for metrics.
type metricsStore struct {
	storage.Store
	provider string
}

func (s *metricsStore) NewTransaction(ctx context.Context, params ...storage.TransactionParams) (storage.Transaction, error) {
	s.provider = ""
	for _, p := range params {
		if p.Context != nil && p.Context.Metrics() != nil {
			s.provider = p.Context.Metrics().Info().Name
		}
	}
	return s.Store.NewTransaction(ctx, params...)
}

const decisionTestPolicy = `package test

request := test.request()

broken := 1 if test.request()

broken := 2 if test.request()

include if input.fruits.price > 1
`

// decisionTestRequests ask for a decision by each API. The response to some has
// what test.request returned.
var decisionTestRequests = []struct {
	method, path, body string
	returns            bool
}{
	{http.MethodGet, "/v1/data/test/request", "", true},
	{http.MethodPost, "/v1/data/test/request", "{}", true},
	{http.MethodPost, "/v0/data/test/request", "{}", true},
	{http.MethodPost, "/", "{}", true},
	{http.MethodGet, "/v1/query?q=x%3Ddata.test.request", "", true},
	{http.MethodPost, "/v1/query", `{"query": "x = data.test.request"}`, true},
	{http.MethodPost, "/v1/compile/test/include", `{"unknowns": ["input.fruits"]}`, false},
	{http.MethodPost, "/v1/data/test/broken", "{}", false},
	{http.MethodPost, "/v1/data/test/missing", "{}", false},
}

// returned returns what test.request returned.
func returned(t *testing.T, response map[string]any) (provider string, saves bool) {
	t.Helper()
	list, ok := response["result"].([]any)
	if ok && len(list) == 1 { // of a query
		list, ok = list[0].(map[string]any)["x"].([]any)
	}
	if !ok || len(list) != 2 {
		t.Fatalf("unexpected response %v", response)
	}
	return list[0].(string), list[1].(bool)
}

func newDecisionFixture(t *testing.T, store storage.Store, opt func(*Server)) *fixture {
	t.Helper()
	f := newFixture(t, func(s *Server) {
		opt(s.WithStore(store).WithDecisionIDFactory(func() string { return "id" }))
	})
	for id, policy := range map[string]string{"test": decisionTestPolicy, "system": "package system\n\nmain := data.test.request\n"} {
		if err := f.v1(http.MethodPut, "/policies/"+id, policy, 200, ""); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *fixture) decide(t *testing.T, method, path, param, body string) (response map[string]any) {
	t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	req := newReqUnversioned(method, path+sep+param, body)
	if strings.HasPrefix(path, "/v1/compile") {
		req.Header.Set("Accept", "application/vnd.opa.sql.postgresql+json")
	}
	f.reset()
	f.server.Handler.ServeHTTP(f.recorder, req)

	text := f.recorder.Body.String()
	if code := f.recorder.Code; (code != http.StatusOK) != strings.HasSuffix(path, "broken") {
		t.Fatalf("unexpected status %d: %s", code, text)
	}
	if !strings.HasPrefix(path, "/v1/") {
		text = `{"result": ` + text + "}"
	}
	if err := json.Unmarshal([]byte(text), &response); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return response
}

// Metrics are collected only for requests whose decision is logged, and for
// those that ask for metrics. Nothing else depends on it.
func TestMetricsOfRequest(t *testing.T) {
	var calls, events int
	var log func(context.Context, *Info) error
	store := &metricsStore{Store: inmem.New()}
	prom := prometheus.New(metrics.New(), nil, []float64{1})
	f := newDecisionFixture(t, store, func(s *Server) {
		s.WithMetrics(prom).WithDecisionLoggerFunc(func() func(context.Context, *Info) error {
			calls++
			return log
		})
	})
	ctx := t.Context()
	err := storage.Txn(ctx, store, storage.WriteParams, func(txn storage.Transaction) error {
		return bundle.WriteManifestToStore(ctx, store, txn, "b", bundle.Manifest{Revision: "r"})
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, tc := range decisionTestRequests {
		for _, logged := range []bool{false, true} {
			for _, param := range []string{"", "metrics", "instrument", "provenance"} {
				name := tc.method + " " + tc.path + " " + param
				if logged {
					name += " logged"
				}
				t.Run(name, func(t *testing.T) {
					calls, events, log = 0, 0, nil
					exp := "<built-in no-op>"
					if logged || param == "metrics" || param == "instrument" {
						exp = "<built-in>"
					}
					if logged {
						log = func(_ context.Context, info *Info) error { //nolint:unparam // as the server calls it
							events++
							if got := info.Metrics.Info().Name; got != exp {
								t.Errorf("expected an event with metrics from %s, got %s", exp, got)
							}
							if len(info.Metrics.All()) == 0 || info.Bundles["b"].Revision != "r" {
								t.Errorf("unexpected metrics %v or bundles %v in the event", info.Metrics.All(), info.Bundles)
							}
							return nil
						}
					}
					response := f.decide(t, tc.method, tc.path, param, tc.body)

					if calls != 1 {
						t.Errorf("expected to be asked for the logger once, got %d", calls)
					}
					if logged != (events == 1) {
						t.Errorf("got %d events", events)
					}
					if v0 := !strings.HasPrefix(tc.path, "/v1/"); !v0 && store.provider != exp {
						t.Errorf("expected a transaction with metrics from %s, got %q", exp, store.provider)
					}
					if tc.returns {
						if got, _ := returned(t, response); got != exp {
							t.Errorf("expected an evaluation with metrics from %s, got %s", exp, got)
						}
					}
					if f.recorder.Code != http.StatusOK || !strings.HasPrefix(tc.path, "/v1/") {
						return
					}
					_, hasMetrics := response["metrics"]
					if exp := param == "metrics" || param == "instrument"; hasMetrics != exp {
						t.Errorf("expected metrics in the response: %v, got %v", exp, response)
					}
					if !strings.HasPrefix(tc.path, "/v1/data") {
						return
					}
					if response["decision_id"] != "id" {
						t.Errorf("expected the decision's id, got %v", response)
					}
					text, _ := json.Marshal(response["provenance"])
					if exp := param == "provenance"; strings.Contains(string(text), `"b":{"revision":"r"}`) != exp {
						t.Errorf("expected the bundle's revision: %v, got %s", exp, text)
					}
				})
			}
		}
	}

	// The server's own metrics have all requests.
	f.reset()
	f.server.Handler.ServeHTTP(f.recorder, newReqUnversioned(http.MethodGet, "/metrics", ""))
	for _, exp := range []string{
		`{code="200",handler="v1/data",method="get"} 8`,
		`{code="200",handler="v1/data",method="post"} 16`,
		`{code="500",handler="v1/data",method="post"} 8`,
		`{code="200",handler="v0/data",method="post"} 8`,
		`{code="200",handler="v1/query",method="get"} 8`,
	} {
		if !strings.Contains(f.recorder.Body.String(), "http_request_duration_seconds_count"+exp+"\n") {
			t.Errorf("expected %s in\n%s", exp, f.recorder.Body)
		}
	}
}

// A logger that comes while a request is evaluated gets the next decision. One
// that goes still gets the decision of the request.
func TestDecisionLoggerSwitched(t *testing.T) {
	for _, tc := range decisionTestRequests {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			var log func(context.Context, *Info) error
			var change func()
			f := newDecisionFixture(t, inmem.New(), func(s *Server) {
				s.WithDecisionLoggerFunc(func() func(context.Context, *Info) error {
					defer change() // after the request began
					return log
				})
			})
			var events []*Info
			logger := func(_ context.Context, info *Info) error { //nolint:unparam // as the server calls it
				events = append(events, info)
				return nil
			}

			change = func() { log = logger }
			f.decide(t, tc.method, tc.path, "", tc.body)
			if len(events) != 0 {
				t.Errorf("expected no event, got %v", events)
			}
			change = func() { log = nil }
			f.decide(t, tc.method, tc.path, "", tc.body)
			if len(events) != 1 || len(events[0].Metrics.All()) == 0 {
				t.Errorf("expected one event with metrics, got %v", events)
			}
		})
	}
}

// A server without a logger works, however it came to have none.
func TestNoDecisionLogger(t *testing.T) {
	for name, opt := range map[string]func(*Server){
		"never set":    func(*Server) {},
		"no logger":    func(s *Server) { s.WithDecisionLoggerWithErr(nil) },
		"no function":  func(s *Server) { s.WithDecisionLoggerFunc(nil) },
		"removed":      func(s *Server) { s.WithDecisionLogger(func(context.Context, *Info) {}).WithDecisionLoggerWithErr(nil) },
		"returns none": func(s *Server) { s.WithDecisionLoggerFunc(func() func(context.Context, *Info) error { return nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newDecisionFixture(t, inmem.New(), opt)
			for _, tc := range decisionTestRequests {
				f.decide(t, tc.method, tc.path, "", tc.body)
			}
		})
	}
}

// Without a logger, functions can save intermediate results as before, if nobody
// logs them: by all APIs but POST /v1/data.
func TestIntermediateResultsWithoutDecisionLogger(t *testing.T) {
	defer func(enabled bool) { intermediateResultsEnabled = enabled }(intermediateResultsEnabled)

	f := newDecisionFixture(t, inmem.New(), func(*Server) {})
	for _, intermediateResultsEnabled = range []bool{false, true} {
		for _, tc := range decisionTestRequests {
			if !tc.returns {
				continue
			}
			exp := intermediateResultsEnabled && !(tc.method == http.MethodPost && strings.HasPrefix(tc.path, "/v1/data"))
			if _, got := returned(t, f.decide(t, tc.method, tc.path, "", tc.body)); got != exp {
				t.Errorf("%s %s: expected a place for intermediate results: %v, got %v", tc.method, tc.path, exp, got)
			}
		}
	}
}
