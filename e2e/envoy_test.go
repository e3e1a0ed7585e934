// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// TestExtAuthz tests a program that makes decisions without OPA's server. The
// plugin gets all of them from the decision log, and counts them once, by path,
// outcome and stage.
func TestExtAuthz(t *testing.T) {
	need(t)
	binary := extAuthz(t) // alone, because others measure times
	t.Parallel()
	e := startEnvoyServer(t, binary)
	want := e.askAll(t, long(200, 50))
	decisions := 0
	for _, n := range want {
		decisions += n
	}
	// A client that did not wait had gone before OPA counted the decision.
	var got map[[2]string]int
	for deadline := time.Now().Add(time.Minute); !maps.Equal(want, got) && time.Now().Before(deadline); {
		got = e.monitor.byLabels(t, "opa_decisions_total > 0", awaitScrapes(t, e.monitor), [2]string{"path", "outcome"})
	}
	require.Equal(t, want, got)
	settled := awaitScrapes(t, e.monitor)
	for query, n := range map[string]int{
		`opa_decision_received_total{source="server"}`:          byServer,
		`opa_decision_received_total{source="decision_log"}`:    decisions - byServer,
		`opa_decision_errors_total{code="eval_conflict_error"}`: want[[2]string{envoyPath, "error"}],
		`sum(opa_decision_stage_unfinished_total) or vector(0)`: 0,
		`sum(opa_decision_label_overflow_total)`:                0,
		`sum(opa_decision_values_invalid_total)`:                0,
		`sum(opa_decision_plugin_failures_total)`:               0,
		`count(regometer_build_info{dropin!=""})`:               1,
	} {
		assert.EqualValues(t, n, e.monitor.number(t, query, settled), query)
	}
	testNativeHistograms(t, &fleet{native: e.monitor, settled: settled, logged: readDecisions(t, e.opa)})
}

// envoyPath is the path of the decisions about Envoy's requests, whose results
// are objects.
const envoyPath = "envoy/authz/decision"

// A check is a request that Envoy asks about, and the expected answer.
type check struct {
	method, path string
	timeout      time.Duration
	code         codes.Code // in the answer, or of the error
	failed       bool       // the answer is an error
	outcome      string
}

var checks = []check{
	{"GET", "/people", time.Minute, codes.OK, false, "allowed"},
	{"POST", "/people", time.Minute, codes.PermissionDenied, false, "denied"},
	{"GET", "/undefined", time.Minute, codes.Unknown, true, "undefined"},
	{"GET", "/conflict", time.Minute, codes.Unknown, true, "error"},
}

// slow is a check that Envoy does not wait for.
var slow = check{"GET", "/slow", 500 * time.Millisecond, codes.DeadlineExceeded, true, "cancelled"}

// byServer is the number of decisions of OPA's own server.
const byServer = 7

// An envoyServer is an OPA that also answers Envoy.
type envoyServer struct {
	*opa
	monitor *monitor
	client  authv3.AuthorizationClient
}

func startEnvoyServer(t *testing.T, binary string) *envoyServer {
	address, diagnostic := freeAddress(t), freeAddress(t)
	// The documented configuration, with addresses and path of this test.
	var config struct {
		Plugins      map[string]map[string]any `yaml:"plugins"`
		DecisionLogs map[string]any            `yaml:"decision_logs"`
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(snippets(t, "envoy.md", "yaml")[0]), &config))
	maps.Copy(config.Plugins["envoy_ext_authz_grpc"], map[string]any{"addr": address, "path": envoyPath})
	config.DecisionLogs["console"] = true
	text, err := yaml.Marshal(config)
	require.NoError(t, err)
	s := startProgram(t, "envoy", binary, string(text), "--log-level", "info", "--diagnostic-addr", diagnostic, "testdata/envoy/authz.rego")
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	m := startMonitor(t, map[string]string{"envoy": diagnostic}, false)
	return &envoyServer{s, m, authv3.NewAuthorizationClient(connection)}
}

// check asks as Envoy does, and returns an error if the answer is not the
// expected one.
func (e *envoyServer) check(ctx context.Context, c check) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := e.client.Check(ctx, &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Method: c.method, Path: c.path, Host: "example.com", Protocol: "HTTP/1.1",
			Headers: map[string]string{":method": c.method, ":path": c.path, "user-agent": "e2e"},
		}},
	}})
	code := status.Code(err)
	if err == nil {
		code = codes.Code(response.GetStatus().GetCode())
	}
	if code != c.code || (err != nil) != c.failed {
		return fmt.Errorf("%s %s: %v, error %w, want %v", c.method, c.path, code, err, c.code)
	}
	return nil
}

// askAll lets several clients at once make each check, then makes the check
// that is too slow, and asks OPA's own server. It returns the number of
// decisions by path and outcome.
func (e *envoyServer) askAll(t *testing.T, times int) map[[2]string]int {
	const clients, cancelled = 4, 2
	made := map[[2]string]int{{"envoy/authz/usual", "allowed"}: byServer, {envoyPath, slow.outcome}: cancelled}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range times {
				for _, c := range checks {
					assert.NoError(t, e.check(t.Context(), c))
				}
			}
		})
	}
	all.Wait()
	for _, c := range checks {
		made[[2]string{envoyPath, c.outcome}] += clients * times
	}
	for range cancelled {
		assert.NoError(t, e.check(t.Context(), slow))
	}
	for range byServer {
		e.decide(t, `{"attributes": {"request": {"http": {"path": "/x"}}}}`, "envoy/authz/usual")
	}
	require.False(t, t.Failed())
	return made
}
