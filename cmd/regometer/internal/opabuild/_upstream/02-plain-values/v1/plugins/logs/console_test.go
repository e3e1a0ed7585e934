// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
	inmem "github.com/open-policy-agent/opa/v1/storage/inmem/test"
	"github.com/open-policy-agent/opa/v1/util"
)

// A value has the same JSON on the console as in an upload, and belongs to the
// console's logger.
func TestConsoleValues(t *testing.T) {
	t.Parallel()

	type custom struct {
		Names []string `json:"names"`
	}
	for _, value := range []any{
		nil,
		true,
		"text",
		"invalid \xff text",
		json.Number("12345678901234567890"),
		json.Number("1.50"),
		1,
		uint64(1 << 63),
		-2.5,
		[]byte("text"),
		[]string{"a", "b"},
		custom{[]string{"a"}},
		&custom{[]string{"b"}},
		[]any{},
		map[string]any{},
		map[string]any(nil),
		map[string]any{"invalid \xff key": "invalid \xff text", "list": []any{1, []any{json.Number("2"), nil}, custom{}}},
		ast.MustJSON(ast.MustParseTerm(`{"set": {3, "a", [1e100]}}`).Value),
	} {
		event := EventV1{Input: &value, Result: &value, MappedResult: &value}
		fields := eventToFields(event)

		exp := string(util.MustMarshalJSON(value))
		for _, name := range []string{"input", "result", "mapped_result"} {
			if got := string(util.MustMarshalJSON(fields[name])); got != exp {
				t.Errorf("expected %s %s, got %s", name, exp, got)
			}
		}
	}

	inner := map[string]any{"password": "secret"}
	var input any = map[string]any{"list": []any{inner}}
	fields := eventToFields(EventV1{Input: &input})
	delete(inner, "password")
	if got := string(util.MustMarshalJSON(fields["input"])); got != `{"list":[{"password":"secret"}]}` {
		t.Errorf("expected a copy, got %s", got)
	}
}

const logsToConsole = `{"console": true}`

// newConsolePlugin returns a plugin with this configuration that logs to the
// console of a manager with this policy.
func newConsolePlugin(tb testing.TB, config, policy string, console logging.Logger) *Plugin {
	tb.Helper()
	ctx := tb.Context()
	store := inmem.New()
	if policy != "" {
		if err := storage.Txn(ctx, store, storage.WriteParams, func(txn storage.Transaction) error {
			return store.UpsertPolicy(ctx, txn, "test.rego", []byte(policy))
		}); err != nil {
			tb.Fatal(err)
		}
	}
	manager, err := plugins.New(nil, "test", store, plugins.ConsoleLogger(console))
	if err != nil {
		tb.Fatal(err)
	}
	if err := manager.Start(ctx); err != nil {
		tb.Fatal(err)
	}
	parsed, err := ParseConfig([]byte(config), nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return New(parsed, manager)
}

// logDecision logs a decision of the plugin's store.
func (p *Plugin) logDecision(tb testing.TB, ctx context.Context, decision server.Info) {
	tb.Helper()
	err := storage.Txn(tb.Context(), p.manager.Store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		decision.Txn = txn
		return p.Log(ctx, &decision)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkLogConsole logs decisions to the console, in the format of `opa run`,
// without policies and with rules for both log decisions.
func BenchmarkLogConsole(b *testing.B) {
	for name, policy := range map[string]string{
		"none": "",
		"both": "package system.log\n\ndrop if input.path == \"health\"\n\nmask contains \"/input/password\" if input.input.password\n",
	} {
		b.Run("policies="+name, func(b *testing.B) {
			console := logging.New()
			console.SetOutput(io.Discard)
			console.SetFormatter(&logrus.JSONFormatter{})
			p := newConsolePlugin(b, logsToConsole, policy, console)

			var input any = map[string]any{"user": "alice", "action": "read", "resource": "tenants/acme/documents/7"}
			var result any = true
			m := metrics.New()
			m.Timer(metrics.RegoQueryEval).Start()
			m.Timer(metrics.RegoQueryEval).Stop()
			decision := server.Info{DecisionID: "id", Path: "rbac/allow", Input: &input, InputAST: ast.MustInterfaceToValue(input), Results: &result, Metrics: m, Timestamp: time.Now()}

			b.ReportAllocs()
			for b.Loop() {
				p.logDecision(b, b.Context(), decision)
			}
		})
	}
}
