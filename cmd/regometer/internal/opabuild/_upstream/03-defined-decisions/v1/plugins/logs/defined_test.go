// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"cmp"
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	testLogger "github.com/open-policy-agent/opa/v1/logging/test"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
)

// What the plugin logs of a decision whose input has a password.
const (
	logsAll    = "all"
	logsMasked = "masked"
	logsNone   = "none"
)

// checkLog logs a decision and checks what of it is logged.
func checkLog(t *testing.T, ctx context.Context, p *Plugin, exp string) {
	t.Helper()
	var input any = map[string]any{"password": "secret"}
	var result any = true
	before := len(p.manager.ConsoleLogger().(*testLogger.Logger).Entries())
	p.logDecision(t, ctx, server.Info{Path: "test/allow", Input: &input, Results: &result})

	got := logsNone
	for _, entry := range p.manager.ConsoleLogger().(*testLogger.Logger).Entries()[before:] {
		got = logsAll
		if _, ok := entry.Fields["input"].(map[string]any)["password"]; !ok {
			got = logsMasked
		}
	}
	if got != exp {
		t.Errorf("expected the log to have %s, got %s", exp, got)
	}
}

// Log decisions apply wherever their rules and data are.
func TestLogDecisionsDefined(t *testing.T) {
	t.Parallel()

	const password = `"/input/password"`
	for _, tc := range []struct {
		note, policy, data string // data is at /system
		config             string
		exp                string
	}{
		{note: "nothing", exp: logsAll},
		{note: "other policies", policy: "package system.logs\n\nmask contains " + password + "\n\ndrop := true", exp: logsAll},
		{note: "an empty package", policy: "package system.log.mask", exp: logsNone}, // an object is no list of masks,
		{note: "drop", policy: "package system.log\n\ndrop := true", exp: logsNone},
		{note: "mask", policy: "package system.log\n\nmask contains " + password, exp: logsMasked},
		{note: "undefined for the input", policy: "package system.log\n\nmask contains " + password + " if input.path == \"other\"", exp: logsAll},
		{note: "a default", policy: "package system.log\n\ndefault drop := true", exp: logsNone},
		{note: "rules below", policy: "package system.log.mask\n\np := " + password, exp: logsNone},
		{note: "a package of the decision", policy: "package system.log.drop\n\np := true", exp: logsAll},
		{note: "an object above", policy: "package system\n\nlog := {\"drop\": false, \"mask\": [" + password + "]}", exp: logsMasked},
		{note: "a variable above", policy: "package system\n\nlog[x] := true if some x in [\"drop\"]", exp: logsNone},
		{note: "data", data: `{"log": {"mask": [` + password + `]}}`, exp: logsMasked},
		{note: "data with rules beside", policy: "package system.log\n\nx := 1", data: `{"log": {"drop": true}}`, exp: logsNone},
		{note: "false", data: `{"log": {"drop": false}}`, exp: logsAll},
		{note: "a number above", data: `{"log": 5}`, exp: logsAll},
		{note: "a list above", data: `{"log": ["drop"]}`, exp: logsAll},
		{
			note:   "another decision",
			policy: "package my.log\n\ndrop := true",
			config: `{"console": true, "drop_decision": "my/log/drop"}`,
			exp:    logsNone,
		},
		{
			note:   "data of another decision",
			data:   `{"my": {"mask": [` + password + `]}}`,
			config: `{"console": true, "mask_decision": "/system/my/mask"}`,
			exp:    logsMasked,
		},
	} {
		t.Run(tc.note, func(t *testing.T) {
			p := newConsolePlugin(t, cmp.Or(tc.config, logsToConsole), tc.policy, testLogger.New())
			if tc.data != "" {
				writeData(t, p.manager.Store, "/system", tc.data)
			}
			checkLog(t, t.Context(), p, tc.exp)
		})
	}
}

func writeData(t *testing.T, store storage.Store, path, text string) {
	t.Helper()
	value := ast.MustJSON(ast.MustParseTerm(text).Value)
	if err := storage.WriteOne(t.Context(), store, storage.AddOp, storage.MustParsePath(path), value); err != nil {
		t.Fatal(err)
	}
}

// Policies and data apply from the next decision on.
func TestLogDecisionsChange(t *testing.T) {
	t.Parallel()

	p := newConsolePlugin(t, logsToConsole, "", testLogger.New())
	ctx, store := t.Context(), p.manager.Store
	checkLog(t, ctx, p, logsAll)
	for _, change := range []struct {
		exp  string
		make func(storage.Transaction) error
	}{
		{logsNone, func(txn storage.Transaction) error {
			return store.UpsertPolicy(ctx, txn, "a", []byte("package system.log\n\ndrop := true"))
		}},
		{logsAll, func(txn storage.Transaction) error { return store.DeletePolicy(ctx, txn, "a") }},
		{logsNone, func(txn storage.Transaction) error {
			return store.Write(ctx, txn, storage.AddOp, storage.MustParsePath("/system"), map[string]any{"log": map[string]any{"drop": true}})
		}},
		{logsAll, func(txn storage.Transaction) error {
			return store.Write(ctx, txn, storage.RemoveOp, storage.MustParsePath("/system/log"), nil)
		}},
	} {
		if err := storage.Txn(ctx, store, storage.WriteParams, change.make); err != nil {
			t.Fatal(err)
		}
		checkLog(t, ctx, p, change.exp)
	}
}

// externalDrop is an external source of rules with the rule drop.
type externalDrop struct{}

func (externalDrop) Refs() []ast.Ref { return []ast.Ref{ast.MustParseRef("data.system.log")} }

func (s externalDrop) Init(context.Context, ast.Ref) (ast.ExternalRuleIndex, error) { return s, nil }

func (externalDrop) Opts() *ast.ExternalSourceOptions { return nil }

func (externalDrop) Lookup(context.Context, ...ast.LookupOption) ([]*ast.Rule, ast.ExternalRuleIndex, error) {
	return ast.MustParseModule("package system.log\n\ndrop := true").Rules, nil, nil
}

func TestLogDecisionsOfExternalSource(t *testing.T) {
	t.Parallel()

	p := newConsolePlugin(t, logsToConsole, "", testLogger.New())
	for _, ref := range (externalDrop{}).Refs() {
		p.manager.RegisterExternalSource(ref, externalDrop{})
	}
	if err := p.manager.Start(t.Context()); err != nil { // compiles again
		t.Fatal(err)
	}
	checkLog(t, t.Context(), p, logsNone)
}

// A manager that is not started has no compiler.
func TestLogBeforeStart(t *testing.T) {
	t.Parallel()

	p := newConsolePlugin(t, logsToConsole, "", testLogger.New())
	manager, err := plugins.New(nil, "test", p.manager.Store, plugins.ConsoleLogger(testLogger.New()))
	if err != nil {
		t.Fatal(err)
	}
	p.manager = manager
	checkLog(t, t.Context(), p, logsAll)
}
