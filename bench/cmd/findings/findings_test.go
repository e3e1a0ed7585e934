// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// An event is what the tests read back of a log.
type event struct {
	Labels      map[string]string
	ID          string `json:"decision_id"`
	Bundles     map[string]struct{ Revision string }
	Path        string
	Result      any
	Error       *struct{ Code string }
	RequestedBy string `json:"requested_by"`
	Timestamp   time.Time
	Metrics     map[string]int64
}

func (e *event) outcome() int {
	if object, ok := e.Result.(map[string]any); ok {
		e.Result = object["allow"]
	}
	switch {
	case e.Error != nil && e.Error.Code == "eval_cancel_error":
		return cancelled
	case e.Error != nil:
		return failed
	case e.Result == nil:
		return undefined
	case e.Result == true:
		return allowed
	case e.Result == false:
		return denied
	}
	return other
}

func readBack(t *testing.T, log []byte) (events []event) {
	t.Helper()
	ids := map[string]bool{}
	for line := range bytes.Lines(log) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if ids[e.ID] {
			t.Fatalf("id %s twice", e.ID)
		}
		ids[e.ID] = true
		events = append(events, e)
	}
	return events
}

// plant returns the truth of a log with a fault, and the log.
func plant(t *testing.T, k *kind, value float64, seed uint64, decisions int) (*truth, []byte) {
	t.Helper()
	s := newScene(seed, decisions)
	planted := &truth{kind: k, scene: s, planted: k.plant(s, rand.New(rand.NewPCG(seed, 3)), value)}
	var log bytes.Buffer
	if err := s.generate(&log, planted.see); err != nil {
		t.Fatal(err)
	}
	return planted, log.Bytes()
}

// TestTruth checks that each log has what its truth says.
func TestTruth(t *testing.T) {
	for i := range faults {
		k := &faults[i]
		for _, z := range k.sizes {
			truth, log := plant(t, k, z.value, 7, 2000)
			events := readBack(t, log)
			if len(truth.decisions) != 2000 || len(events) != 2000 {
				t.Fatalf("%s: the truth has %d decisions, the log %d, want 2000", k.name, len(truth.decisions), len(events))
			}
			for i, e := range events {
				d := &truth.decisions[i]
				client, _, _ := strings.Cut(e.RequestedBy, ":")
				if e.Path != d.path.name || e.Labels["id"] != d.server.id || client != clientName(d.client) || e.Bundles["main"].Revision != d.revision ||
					e.outcome() != d.outcome || e.Timestamp.UnixNano() != d.at+int64(d.clock) || (e.Metrics == nil) != d.bare {
					t.Fatalf("%s, %s: the log has %+v, the truth %+v", k.name, z.text, e, d)
				}
				if d.server == truth.server && d.clock != truth.seconds*1e9 {
					t.Fatalf("%s, %s: a clock is off by %v s, want %v", k.name, z.text, d.clock/1e9, truth.seconds)
				}
				_, compiled := e.Metrics["timer_rego_query_compile_ns"]
				http, called := e.Metrics["timer_rego_builtin_http_send_ns"]
				if !d.bare && (compiled != (d.compile > 0) || called != (d.http > 0 && !d.hung || d.unfinished()) || !d.hung && http != int64(d.http) ||
					e.Metrics["timer_rego_query_eval_ns"] != int64(d.eval+d.http) || e.Metrics["timer_server_handler_ns"] != int64(d.handler)) {
					t.Fatalf("%s, %s: the log has %v, the truth %+v", k.name, z.text, e.Metrics, d)
				}
			}
		}
	}
}

// TestSameSeed checks that a seed decides everything, and that another seed gives another log.
func TestSameSeed(t *testing.T) {
	_, first := plant(t, &faults[0], 30, 1, 500)
	_, again := plant(t, &faults[0], 30, 1, 500)
	_, another := plant(t, &faults[0], 30, 2, 500)
	if !bytes.Equal(first, again) || bytes.Equal(first, another) {
		t.Error("the seed does not decide the log")
	}
}

func faultNamed(name string) *kind {
	return &faults[slices.IndexFunc(faults, func(k kind) bool { return k.name == name })]
}

// TestEffects checks that faults have the size that their names say, and that
// the judge knows their figures.
func TestEffects(t *testing.T) {
	for _, test := range []struct {
		name       string
		by         finding
		figure     string
		in, beside float64
	}{
		{"allowed 80 % → less, new revision", finding{Path: firstPath}, "allowed", 0.3, 0.8},
		{"allowed 97 % → less, new revision", finding{Path: rbacPath}, "share", 0.8, 0.03},
		{"allowed 40 % → more, new revision", finding{Path: thirdPath}, "allowed", 1, 0.4},
		{"cancelled rises from 0 on a path", finding{Path: thirdPath}, "share", 0.3, 0},
		{"http.send times out, from a time on", finding{Path: httpPath}, "share", 0.133, 0},
		{"some calls of http.send take 10 s", finding{Path: httpPath, Rule: "http_send_slow"}, "max_ns", 10.2e9, math.NaN()},
		{"all decisions compile after a bundle", finding{}, "share", 1, 0.003},
		{"metrics gone on one pod", finding{Server: "x"}, "share", 1, 0},
		{"everything slower, from a time on", finding{Path: rbacPath, Text: "Evaluation"}, "median_ns", 3, 1},
		{driftName, finding{Text: "Evaluation"}, "median_ns", 3.48, 1.77},
		{"one client slower", finding{Path: rbacPath, Client: clientName(3), Text: "Evaluation"}, "median_ns", 3, 1},
		{"the rate falls for good", finding{}, "per_minute", 8, 79},
		{"a storm of retries, ten minutes", finding{Path: firstPath, Client: clientName(3)}, "share", 1, 0},
		{"a server's clock is off", finding{}, "seconds", -3600, -3600},
		{"a pause without decisions", finding{}, "seconds", 1800, 19800},
		{"one pod missing from some time on", finding{Server: "x"}, "decisions", 0, 2050},
	} {
		k := faultNamed(test.name)
		truth, _ := plant(t, k, k.sizes[0].value, 9, 20_000)
		if test.by.Server != "" {
			test.by.Server = truth.server.pod
		}
		in, out := truth.sides(&test.by)
		for of, want := range map[*side]float64{&in: test.in, &out: test.beside} {
			got := figures[test.figure](truth, &test.by, of)
			if test.figure == "median_ns" {
				got /= truth.paths[1].median
			}
			if math.Abs(got-want) > 0.01+0.1*math.Abs(want) {
				t.Errorf("%s: %s is %.3f, want %.3f", k.name, test.figure, got, want)
			}
		}
	}
}

func TestHealthyScenes(t *testing.T) {
	for _, k := range healthyKinds(nil) {
		_, log := plant(t, &k, 2000, 3, 1)
		events := readBack(t, log)
		if len(events) != 2000 || !slices.IsSortedFunc(events, func(a, b event) int { return a.Timestamp.Compare(b.Timestamp) }) {
			t.Errorf("%s: %d decisions, want 2000 in order", k.name, len(events))
		}
	}
}

func TestJudge(t *testing.T) {
	truths := map[string]*truth{}
	client := faultNamed("one client slower")
	for name, k := range map[string]*kind{"": &faults[0], "client": client, "healthy": {plant: client.plant}} {
		truths[name], _ = plant(t, k, 30, 5, 20_000)
	}
	truth := truths[""]
	times, before, _ := truth.times()
	at := func(steps int) string { return time.Unix(0, times[before+steps]).UTC().Format(time.RFC3339Nano) }
	in, out := truth.sides(&finding{Path: firstPath})
	share, outside := in.share(isOutcome(denied)), out.share(isOutcome(denied))
	good := finding{Rule: "denied_rose", Path: firstPath, From: at(0), Figures: map[string]float64{"share": share, "share_outside": outside}}
	slow := finding{Rule: "client_slower", Client: clientName(3), Figures: map[string]float64{"share": 0.5}}
	with := func(f finding, change func(f *finding)) []finding {
		change(&f)
		return []finding{f}
	}
	figures := func(share, low, high, outside float64) func(f *finding) {
		return func(f *finding) {
			f.Figures = map[string]float64{"share": share, "share_low": low, "share_high": high, "share_outside": outside}
		}
	}
	for _, test := range []struct {
		name, kind string
		findings   []finding
		want       string
	}{
		{"right", "", []finding{good}, "found cause time figure"},
		{"nothing", "", nil, "unjudged"},
		{"eight decisions early", "", with(good, func(f *finding) { f.From = at(-8) }), "found cause figure"},
		{"five decisions early", "", with(good, func(f *finding) { f.From = at(-5) }), "found cause time figure"},
		{"thirty decisions late", "", with(good, func(f *finding) { f.From = at(30) }), "found cause figure"},
		{"no time", "", with(good, func(f *finding) { f.From = "" }), "found cause figure"},
		{"wrong figure", "", with(good, figures(share*1.2, 0, 0, outside)), "found cause time"},
		{"the figure of the other side", "", with(good, figures(outside, 0, 0, outside)), "found cause time"},
		{"figure in its interval", "", with(good, figures(share*1.2, share*0.9, share*1.4, outside)), "found cause time figure"},
		{"figure not in its interval", "", with(good, figures(share*1.2, share*1.1, share*1.4, outside)), "found cause time"},
		{"one of two figures wrong", "", with(good, figures(share, 0, 1, share)), "found cause time"},
		{"no figure", "", with(good, func(f *finding) { f.Figures = nil }), "found cause time"},
		{"wrong cause", "", with(good, func(f *finding) { f.Rule = "latency_rose" }), "found unjudged"},
		{"wrong path", "", with(good, func(f *finding) { f.Path = rbacPath }), "unjudged denied_rose"},
		{"wrong revision", "", with(good, func(f *finding) { f.Revision = "main=" + truth.revisions[0] }), "unjudged denied_rose"},
		{"right revision", "", with(good, func(f *finding) { f.Revision = "main=" + truth.revision }), "found cause time figure"},
		{"a client for a fault of all clients", "", with(good, func(f *finding) { f.Client = clientName(3) }), "unjudged denied_rose"},
		{"info", "", with(good, func(f *finding) { f.Severity = "info" }), "found cause time figure"},
		{"info about something else", "", with(good, func(f *finding) { f.Severity, f.Path = "info", rbacPath }), "unjudged"},
		{"another beside it", "", append(with(good, func(f *finding) { f.Path = rbacPath }), good), "found cause time figure denied_rose"},
		{"a share above a threshold", "client", []finding{slow}, "found cause time unjudged"},
		{"no client", "client", with(slow, func(f *finding) { f.Client = "" }), "unjudged"},
		{"another rule without a subject", "client", with(slow, func(f *finding) { f.Client, f.Rule = "", "ids_reused" }), "unjudged ids_reused"},
		{"a healthy log", "healthy", []finding{slow}, "unjudged client_slower"},
	} {
		v := judge(truths[test.kind], test.findings)
		var got []string
		for i, is := range []bool{v.found, v.cause, v.time, v.figure, !v.judged} {
			if is {
				got = append(got, [...]string{"found", "cause", "time", "figure", "unjudged"}[i])
			}
		}
		if got := strings.Join(append(got, v.others...), " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestReplaceTable(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("a\n"+beginMark+"\nold\n"+endMark+"\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := replaceTable(page, "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(page); string(got) != "a\n"+beginMark+"\nnew\n"+endMark+"\nb\n" {
		t.Errorf("%q", got)
	}
	if replaceTable(filepath.Join(t.TempDir(), "none.md"), "") == nil {
		t.Error("no error without a page")
	}
}
