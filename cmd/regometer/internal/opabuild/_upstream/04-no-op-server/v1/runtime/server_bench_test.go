// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/storage"
)

// newTestHandler returns the handler of the server that `opa run` starts with
// these settings.
func newTestHandler(tb testing.TB, overrides ...string) (*Runtime, http.Handler) {
	tb.Helper()
	ctx := tb.Context()
	params := NewParams()
	params.Addrs = &[]string{"localhost:0"}
	params.Logger = logging.NewNoOpLogger()
	params.ConfigOverrides = overrides
	rt, err := NewRuntime(ctx, params)
	if err != nil {
		tb.Fatal(err)
	}
	policy := "package test\n\ndefault hello := false\n\nhello if input.message == \"world\"\n"
	err = storage.Txn(ctx, rt.Store, storage.WriteParams, func(txn storage.Transaction) error {
		return rt.Store.UpsertPolicy(ctx, txn, "test.rego", []byte(policy))
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := rt.Manager.Start(ctx); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { rt.Manager.Stop(context.WithoutCancel(ctx)) })
	srv, err := rt.buildServer(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	return rt, srv.Handler
}

// BenchmarkDataPost measures a request to a server as `opa run` starts it.
func BenchmarkDataPost(b *testing.B) {
	_, handler := newTestHandler(b)
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/v1/data/test/hello", strings.NewReader(`{"input": {"message": "world"}}`))
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, req)
		if body := rec.Body.String(); body != "{\"result\":true}\n" {
			b.Fatalf("Unexpected response: %v", body)
		}
	}
}
