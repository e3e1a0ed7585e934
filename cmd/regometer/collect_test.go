// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/collect"
)

// The command logs which paths lack a label, and which of them clients ask for.
func TestCollectLogsPaths(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "p.rego")
	if err := os.WriteFile(policy, []byte("package a\np := input.p\nq := input.q"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	c, err := collect.New(collect.Options{Config: []byte(`{"max_paths": 1}`), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect.NewPolicy(c, []string{policy}, collect.OPAConfig{}); err != nil {
		t.Fatal(err)
	}
	event := `[{"labels":{"id":"s"},"decision_id":"1","path":"a/p","result":true,"metrics":{"timer_server_handler_ns":1}}]`
	c.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/logs", strings.NewReader(event)))
	end := errors.New("end")
	ended := make(chan error, 1)
	ended <- end
	if err := wait(context.Background(), nil, ended, c, log); !errors.Is(err, end) {
		t.Errorf("the error is %v", err)
	}
	for _, want := range []string{"The policy has 2 paths", "a/p counts as a. "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log is %q, want %q in it", b.String(), want)
		}
	}
}
