// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	internal_logging "github.com/open-policy-agent/opa/internal/logging"
	"github.com/open-policy-agent/opa/v1/logging"
)

// BenchmarkLoggingHandler measures the lines of a request at the default level,
// in the default format.
func BenchmarkLoggingHandler(b *testing.B) {
	logger := logging.New()
	logger.SetOutput(io.Discard)
	logger.SetFormatter(internal_logging.GetFormatter("json", ""))
	handler := NewLoggingHandler(logger, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	req := httptest.NewRequest(http.MethodPost, "/v1/data/test/hello", nil)
	rec := httptest.NewRecorder()

	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(rec, req)
	}
}
