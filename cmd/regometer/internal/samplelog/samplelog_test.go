// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// events returns the events of a log.
func events(t *testing.T, o Options) (all []event) {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, o); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(b.String())); ; {
		var e event
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// A stage becomes slower from its time on, and nothing else, except what
// contains it. The bundle changes at the same time, and the rate is the one that
// was asked for.
func TestSlower(t *testing.T) {
	t.Parallel()
	o := Options{Decisions: 3000, Rate: 20, Paths: 14, Revisions: [2]string{"a", "b"}}
	usual := events(t, o)
	o.Slower = &Slower{Stage: eval, Factor: 4, After: time.Minute}
	slow := events(t, o)
	changed := 0
	for i, e := range slow {
		factor, revision := 1.0, "a"
		if e.Timestamp.Sub(usual[0].Timestamp) > time.Minute {
			revision = "b"
			if e.Path == profiles[0].path {
				factor = 4
				changed++
			}
		}
		if got := e.Bundles["authz"].Revision; got != revision {
			t.Errorf("event %d has revision %s", i, got)
		}
		for name, value := range e.Metrics {
			ns, isNumber := usual[i].Metrics[name].(float64)
			switch want := ns * factor; {
			case !isNumber || name == "timer_server_handler_ns" && factor > 1:
			case name != "timer_rego_query_eval_ns" && value != ns, name == "timer_rego_query_eval_ns" && value != want:
				t.Errorf("event %d: %s is %v, and was %v", i, name, value, ns)
			}
		}
	}
	if changed < 100 {
		t.Errorf("%d events became slower", changed)
	}
	if rate := 3000 / usual[2999].Timestamp.Sub(usual[0].Timestamp).Seconds(); rate < 14 || rate > 28 {
		t.Errorf("%.1f decisions a second, want about 20", rate)
	}
}

// A log and its events have about the size that was asked for.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, form := range Forms {
		var b strings.Builder
		if err := Write(&b, Options{Size: 3 << 20, EventBytes: 20_000, Form: form, Paths: 5000}); err != nil {
			t.Fatal(err)
		}
		n := strings.Count(b.String(), "requested_by")
		if each := b.Len() / n; b.Len() < 3<<20 || b.Len() > 7<<19 || each < 16_000 || each > 30_000 {
			t.Errorf("%s: %d bytes, %d for each event", form, b.Len(), each)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	r.Close()
	if err := Write(w, Options{Size: 10 << 20}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want the output's", err)
	}
	slower := func(s Slower) Options { return Options{Decisions: 1, Slower: &s} }
	for want, o := range map[string]Options{
		"set either --size":          {},
		"set either --size or":       {Size: 1, Decisions: 1},
		"--decisions to more than 0": {Decisions: -1},
		"invalid --form \"tar\"":     {Decisions: 1, Form: "tar"},
		"invalid --rate -1":          {Decisions: 1, Rate: -1},
		"invalid --rate NaN":         {Decisions: 1, Rate: math.NaN()},
		"invalid --rate 0.001":       {Decisions: 1, Rate: 0.001},
		"invalid --event-size":       {Decisions: 1, EventBytes: 65 << 20},
		"invalid --paths":            {Decisions: 1, Paths: 1_000_001},
		"FACTOR must be":             slower(Slower{Stage: eval, Factor: math.NaN()}),
		`has no stage "rego_eval"`:   slower(Slower{Stage: "rego_eval", Factor: 2}),
	} {
		if err := Write(io.Discard, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
