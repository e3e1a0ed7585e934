// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"io"
	"testing"

	"github.com/sirupsen/logrus"
)

// A logger keeps the fields that it was made with.
func TestWithFieldsKeepsFields(t *testing.T) {
	t.Parallel()

	var buf bytes.Buffer
	root := New()
	root.SetOutput(&buf)
	root.SetFormatter(&logrus.JSONFormatter{DisableTimestamp: true})
	fields := map[string]any{"a": 1, "b": 1}
	first := root.WithFields(fields)
	fields["a"] = 2
	second := first.WithFields(map[string]any{"b": 2})

	for _, logger := range []Logger{root, first, second} {
		logger.Info("x")
	}
	exp := `{"level":"info","msg":"x"}` + "\n" +
		`{"a":1,"b":1,"level":"info","msg":"x"}` + "\n" +
		`{"a":1,"b":2,"level":"info","msg":"x"}` + "\n"
	if got := buf.String(); got != exp {
		t.Errorf("expected\n%sgot\n%s", exp, got)
	}
}

// A line of a level that is off copies no fields. Its format is an argument.
func TestDisabledLevelAllocs(t *testing.T) {
	root := New()
	root.SetOutput(io.Discard)
	logger := root.WithFields(map[string]any{"plugin": "test"})
	if n := testing.AllocsPerRun(100, func() { logger.Debug("x") }); n > 1 {
		t.Errorf("expected one allocation, got %v", n)
	}
}
