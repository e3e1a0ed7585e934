// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"go.yaml.in/yaml/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// TestExtAuthz: a program whose decisions OPA's server knows nothing of. All of
// them are counted by way of the decision log.
func TestExtAuthz(t *testing.T) {
	askedFor(t)
	testEnvoy(t, buildProgram(t, "extauthz", "."))
}

// TestOPAEnvoyPlugin does the same with opa-envoy-plugin itself.
func TestOPAEnvoyPlugin(t *testing.T) {
	askedFor(t)
	given := os.Getenv("OPA_ENVOY_PLUGIN")
	if given == "" {
		t.Skip("set OPA_ENVOY_PLUGIN to a folder with the source of github.com/open-policy-agent/opa-envoy-plugin " +
			"to build and test that, or to a binary of regometer build to test that one")
	}
	if !filepath.IsAbs(given) {
		t.Fatalf("OPA_ENVOY_PLUGIN is %q: give an absolute path", given)
	}
	info, err := os.Stat(given)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		given = buildProgram(t, given, "./cmd/opa-envoy-plugin")
	}
	testEnvoy(t, given)
}

// buildProgram returns the main package in a folder, built by `regometer
// build`. It is called before a test becomes parallel: what others measure is
// not to be measured beside a compiler.
func buildProgram(t *testing.T, folder, mainPackage string) (binary string) {
	t.Helper()
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	regometer := filepath.Join(dir, "regometer")
	output(t, root, []string{"GOWORK=", "GOFLAGS="}, "go", "build", "-o", regometer, "./cmd/regometer")
	binary = filepath.Join(dir, "program")
	// This repository's go.work is no concern of what is built.
	output(t, dir, []string{"GOWORK=off"}, regometer, "build", "-C", folder, mainPackage, "-o", binary)
	if told := output(t, dir, nil, regometer, "version", binary); !strings.Contains(told, "drop-in: sha256:") {
		t.Fatalf("the drop-in is not in the program:\n%s", told)
	}
	return binary
}

// output runs a program in dir, with these variables added to the environment,
// and returns what it prints.
func output(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return stdout.String()
}

// A check is a request that Envoy asks about, and what is to come of it.
type check struct {
	method, path string
	timeout      time.Duration // 0: none
	code         codes.Code    // in the answer, or of the error
	failed       bool          // there is no answer
	outcome      string
}

var checks = []check{
	{"GET", "/people", 0, codes.OK, false, "allowed"},
	{"POST", "/people", 0, codes.PermissionDenied, false, "denied"},
	{"GET", "/undefined", 0, codes.Unknown, true, "undefined"},
	{"GET", "/conflict", 0, codes.Unknown, true, "error"},
}

// slow is a check that Envoy does not wait for.
var slow = check{"GET", "/slow", 500 * time.Millisecond, codes.DeadlineExceeded, true, "cancelled"}

func testEnvoy(t *testing.T, binary string) {
	t.Parallel()
	for _, path := range []string{"envoy/authz/allow", "envoy/authz/decision"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			startEnvoyServer(t, binary, path, true).checkCounts(t)
		})
	}
	t.Run("no decision log", func(t *testing.T) {
		t.Parallel()
		startEnvoyServer(t, binary, "envoy/authz/allow", false).checkNothingCounted(t)
	})
}

// An envoyServer is an OPA that answers Envoy too.
type envoyServer struct {
	*opa
	path       string
	diagnostic string // the address where its metrics are
	client     authv3.AuthorizationClient
}

func startEnvoyServer(t *testing.T, binary, path string, decisionLog bool) *envoyServer {
	t.Helper()
	address := freeAddress(t)
	e := &envoyServer{path: path, diagnostic: freeAddress(t)}
	// The documented configuration, but for what differs from test to test.
	var config struct {
		Plugins      map[string]map[string]any `yaml:"plugins"`
		DecisionLogs map[string]any            `yaml:"decision_logs"`
	}
	if err := yaml.UnmarshalStrict([]byte(snippetsIn(t, document(t, "envoy.md"), "yaml")[0]), &config); err != nil {
		t.Fatal(err)
	}
	maps.Copy(config.Plugins["envoy_ext_authz_grpc"], map[string]any{"addr": address, "path": path})
	all := map[string]any{"plugins": config.Plugins}
	if decisionLog {
		all["decision_logs"] = config.DecisionLogs
		config.DecisionLogs["console"] = true
	}
	e.opa = startProgram(t, "envoy", binary, all,
		"--log-level", "info", "--diagnostic-addr", e.diagnostic, "testdata/envoy/authz.rego")
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	e.client = authv3.NewAuthorizationClient(connection)
	return e
}

// ask asks as Envoy does, and checks the answer.
func (e *envoyServer) ask(ctx context.Context, c check) error {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
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

// askAll asks all checks by several clients at once, each so many times, and
// then those that nobody waits for. It returns how many decisions there are by
// outcome.
func (e *envoyServer) askAll(t *testing.T, times int) map[string]int {
	t.Helper()
	const clients = 4
	made := map[string]int{}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := range times * len(checks) {
				if err := e.ask(t.Context(), checks[i%len(checks)]); err != nil {
					t.Error(err)
				}
			}
		})
		for _, c := range checks {
			made[c.outcome] += times
		}
	}
	all.Wait()
	for range 2 {
		if err := e.ask(t.Context(), slow); err != nil {
			t.Error(err)
		}
		made[slow.outcome]++
	}
	if t.Failed() {
		t.FailNow()
	}
	return made
}

// askServer asks OPA's own server so many times.
func (e *envoyServer) askServer(t *testing.T, times int) {
	t.Helper()
	for range times {
		q := question{method: http.MethodPost, path: "/v1/data/envoy/authz/usual", body: `{"input": {"attributes": {"request": {"http": {"path": "/x"}}}}}`}
		if code, body, err := e.opa.ask(t.Context(), q); err != nil || code != http.StatusOK {
			t.Fatalf("HTTP status %d, %v: %.300s", code, err, body)
		}
	}
}

// checkCounts: all decisions are counted once, by path, outcome and stage.
func (e *envoyServer) checkCounts(t *testing.T) {
	t.Helper()
	const byServer = 7
	m := startMonitor(t, map[string]string{e.name: e.diagnostic}, monitorOptions{})
	want := map[[2]string]int{{"envoy/authz/usual", "allowed"}: byServer}
	decisions := byServer
	for outcome, n := range e.askAll(t, long(200, 50)) {
		want[[2]string{e.path, outcome}] = n
		decisions += n
	}
	e.askServer(t, byServer)

	// Who did not wait for an answer was gone before the decision was counted.
	got := map[[2]string]int{}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && !maps.Equal(got, want); {
		clear(got)
		for _, s := range m.vector(t, "opa_decisions_total > 0", m.awaitScrapes(t)) {
			got[[2]string{s.Metric.Get("path"), s.Metric.Get("outcome")}] = int(s.F)
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("decisions by path and outcome: %v\nwant %v", got, want)
	}
	settled := m.awaitScrapes(t)
	for query, n := range map[string]int{
		`opa_decision_received_total{source="server"}`:          byServer,
		`opa_decision_received_total{source="decision_log"}`:    decisions - byServer,
		`opa_decision_errors_total{code="eval_conflict_error"}`: want[[2]string{e.path, "error"}],
		`sum(opa_decision_errors_total)`:                        want[[2]string{e.path, "error"}],
		`sum(opa_decision_stage_unfinished_total) or vector(0)`: 0,
		`sum(opa_decision_label_overflow_total)`:                0,
		`sum(opa_decision_values_invalid_total)`:                0,
		`sum(opa_decision_plugin_failures_total)`:               0,
		`count(regometer_build_info{dropin!=""})`:               1,
	} {
		if got := m.number(t, query, settled); got != float64(n) {
			t.Errorf("%s is %v, want %d", query, got, n)
		}
	}
	logged := readDecisions(t, e.opa)
	testNativeHistograms(t, &fleet{native: m, settled: settled, logged: logged})
}

// checkNothingCounted: without a decision log nobody hands these decisions on.
// Those of OPA's server are counted, and the log says what is missing.
func (e *envoyServer) checkNothingCounted(t *testing.T) {
	t.Helper()
	const byServer = 7
	m := startMonitor(t, map[string]string{e.name: e.diagnostic}, monitorOptions{})
	e.askAll(t, 1)
	e.askServer(t, byServer)
	settled := m.awaitScrapes(t)
	for _, query := range []string{`sum(opa_decisions_total)`, `sum(opa_decisions_total{path="envoy/authz/usual"})`} {
		if got := m.number(t, query, settled); got != byServer {
			t.Errorf("%s is %v, want %d", query, got, byServer)
		}
	}
	const warning = "The plugin sees no decisions of envoy_ext_authz_grpc, because decision_logs.plugin does not name it."
	if words := e.lastWords(t); !strings.Contains(words, warning) {
		t.Errorf("it does not warn:\n%s", words)
	}
}
