// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego && (386 || amd64 || arm64 || loong64 || ppc64 || ppc64le || s390x)

package metrics

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// OPA's constants each have a slot of their own.
func TestWellKnown(t *testing.T) {
	for kind, names := range map[Kind][]string{
		KindTimer:     append(knownTimers[:], knownOperations[:]...),
		KindCounter:   knownCounters[:],
		KindHistogram: knownOperations[:],
	} {
		for _, name := range names {
			if d := wellKnown(kind, name); d == nil || d.kind != kind || d.name != name {
				t.Errorf("%v %q is not found by its address", kind, name)
			}
			if wellKnown(kind, strings.Clone(name)) != nil {
				t.Errorf("%v %q is found by another address", kind, name)
			}
			if part := name[:len(name)-1]; wellKnown(kind, part) != nil {
				t.Errorf("%v %q is found by the address of %q", kind, part, name)
			}
		}
	}
}

// Where no multiplier tells the addresses apart, names are found by their hash.
func TestWithoutMultiplier(t *testing.T) {
	// In a process of its own: it changes what all tests use.
	const inChild = "REGOMETER_TEST_MULTIPLIER"
	if os.Getenv(inChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWithoutMultiplier$")
		cmd.Env = append(os.Environ(), inChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	d := wellKnown(KindTimer, RegoQueryEval)
	byAddress = addressTable{}
	setWellKnown([]*descriptor{d, d})
	if wellKnown(KindTimer, RegoQueryEval) != nil {
		t.Error("a table of one name twice is in use")
	}
	m := New()
	m.Timer(RegoQueryEval)
	m.Counter(ServerQueryCacheHit).Incr()
	m.Histogram("eval_op_plug")
	m.Counter(strings.Clone(ServerQueryCacheHit)).Incr()
	got, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(map[string]any{
		"timer_rego_query_eval_ns": 0, "counter_server_query_cache_hit": 2, "histogram_eval_op_plug": Statistics(),
	})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %s (error %v), want %s", got, err, want)
	}
}
