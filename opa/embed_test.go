// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opa_test

import (
	"context"
	"os"
	"testing"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/opa"
)

const policy = `package example

allow if {
	input.user == "alice"
	count(numbers.range(1, 50)) == 50
}
`

// sameMetrics compares the keys of OPA's own collection and of ours after the
// same work.
func sameMetrics(t *testing.T, work func(opametrics.Metrics)) {
	t.Helper()
	theirs, ours := opametrics.New(), metrics.New()
	work(theirs)
	work(opa.Metrics(ours))
	want, got := theirs.All(), ours.All()
	if len(want) == 0 {
		t.Fatal("OPA recorded nothing")
	}
	for key, value := range want {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing; OPA's own collection has %v", key, value)
		}
	}
	for key, value := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s = %v is not in OPA's own collection", key, value)
		}
		if value, ok := value.(int64); ok && value <= 0 {
			t.Errorf("%s = %d, want a time", key, value)
		}
	}
}

func TestRego(t *testing.T) {
	sameMetrics(t, func(m opametrics.Metrics) {
		ctx := context.Background()
		query, err := rego.New(
			rego.Query("data.example.allow"),
			rego.Module("example.rego", policy),
			rego.Metrics(m),
			rego.Instrument(true),
		).PrepareForEval(ctx)
		if err != nil {
			t.Fatal(err)
		}
		results, err := query.Eval(ctx,
			rego.EvalInput(map[string]any{"user": "alice"}),
			rego.EvalMetrics(m),
			rego.EvalInstrument(true),
		)
		if err != nil || !results.Allowed() {
			t.Fatalf("allowed: %v, %v", results.Allowed(), err)
		}
	})
}

// TestOPAVersion checks that the tests run with the version of OPA that the
// caller wants. The Makefile runs them with both ends of the range.
func TestOPAVersion(t *testing.T) {
	t.Logf("OPA %s", version.Version)
	if want := os.Getenv("REGOMETER_WANT_OPA"); want != "" && want != "v"+version.Version {
		t.Errorf("these tests ran with OPA v%s, want %s", version.Version, want)
	}
}
