// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

func TestLookupDecisionLogger(t *testing.T) {
	for _, tc := range []struct {
		note      string
		overrides []string
		exp       bool
	}{
		{note: "no decision log"},
		{note: "console", overrides: []string{"decision_logs.console=true"}, exp: true},
	} {
		t.Run(tc.note, func(t *testing.T) {
			rt, _ := newTestHandler(t, tc.overrides...)
			if log := rt.lookupDecisionLogger()(); (log != nil) != tc.exp {
				t.Errorf("expected a logger: %v, got %v", tc.exp, log != nil)
			}
		})
	}
}

// countingLogger counts the events that it gets.
type countingLogger struct{ events int }

func (*countingLogger) Start(context.Context) error      { return nil }
func (*countingLogger) Stop(context.Context)             {}
func (*countingLogger) Reconfigure(context.Context, any) {}

func (l *countingLogger) Log(context.Context, logs.EventV1) error {
	l.events++
	return nil
}

// An event of a request that a restart overtakes goes to the new plugin, since
// the old one has been stopped.
func TestLookupDecisionLoggerRestart(t *testing.T) {
	store := inmem.New()
	newManager := func(l *countingLogger) *plugins.Manager {
		m, err := plugins.New([]byte("{}"), "test", store)
		if err != nil {
			t.Fatal(err)
		}
		config, err := logs.ParseConfig([]byte(`{"plugin": "logger"}`), nil, []string{"logger"})
		if err != nil {
			t.Fatal(err)
		}
		m.Register("logger", l)
		m.Register(logs.Name, logs.New(config, m))
		return m
	}
	before, after := &countingLogger{}, &countingLogger{}
	rt := &Runtime{Manager: newManager(before)}
	log := rt.lookupDecisionLogger()()
	rt.Manager = newManager(after)

	ctx := t.Context()
	err := storage.Txn(ctx, store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		return log(ctx, &server.Info{Txn: txn})
	})
	if err != nil {
		t.Fatal(err)
	}
	if before.events != 0 || after.events != 1 {
		t.Errorf("expected one event for the new plugin, got %d and %d", before.events, after.events)
	}
}
