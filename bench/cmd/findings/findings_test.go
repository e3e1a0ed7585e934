// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
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
	Labels      map[string]string                    `json:"labels"`
	ID          string                               `json:"decision_id"`
	Bundles     map[string]struct{ Revision string } `json:"bundles"`
	Path        string                               `json:"path"`
	Result      any                                  `json:"result"`
	Error       *struct{ Code string }               `json:"error"`
	RequestedBy string                               `json:"requested_by"`
	Timestamp   time.Time                            `json:"timestamp"`
	Metrics     map[string]int64                     `json:"metrics"`
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

// TestTruth checks that each log has what its truth says.
func TestTruth(t *testing.T) {
	for _, k := range kinds {
		for size := range k.sizes {
			s := newScene(7, 3000)
			p := k.plant(s, rand.New(rand.NewPCG(7, 3)), size)
			truth := newTruth(s, p)
			var log bytes.Buffer
			if err := s.generate(&log, truth.see); err != nil {
				t.Fatal(err)
			}
			events := readBack(t, log.Bytes())
			clock := strings.Contains(k.name, "clock")
			begin, end := s.at(p.begin), s.at(p.end)
			var seen sample
			for _, e := range events {
				// Some names begin with others.
				client, _, _ := strings.Cut(e.RequestedBy, ":")
				at := e.Timestamp.UnixNano()
				if p.path != "" && e.Path != p.path || p.server != "" && e.Labels["id"] != p.server || p.client != "" && client != p.client ||
					p.revision != "" && e.Bundles["main"].Revision != p.revision || !clock && (at < begin || at >= end) {
					continue
				}
				seen.n++
				seen.outcomes[e.outcome()]++
				if e.Metrics == nil {
					seen.bare++
					continue
				}
				if _, compiled := e.Metrics["timer_rego_query_compile_ns"]; compiled {
					seen.compiled++
				}
				seen.eval = append(seen.eval, float64(e.Metrics["timer_rego_query_eval_ns"]))
			}
			a := &truth.groups[affected]
			if seen.n != a.n || seen.outcomes != a.outcomes || seen.bare != a.bare || truth.all != len(events) || seen.compiled != a.compiled && a.bare == 0 {
				t.Errorf("%s, %s: the log has %+v, the truth %d %v %d %d of %d", k.name, sizeNames[size], seen.n, a.n, a.outcomes, a.bare, a.compiled, truth.all)
			}
			if got, want := median(seen.eval), median(a.eval); len(a.eval) > 0 && (got > want || got < want-1) {
				t.Errorf("%s, %s: median of evaluation %v, want %v", k.name, sizeNames[size], got, want)
			}
			if truth.all > s.decisions || truth.groups[affected].n+truth.groups[rest].n != truth.all {
				t.Errorf("%s: groups do not add up", k.name)
			}
		}
	}
}

// TestSameSeed checks that a seed decides everything, and that another seed gives another log.
func TestSameSeed(t *testing.T) {
	var logs [3]bytes.Buffer
	for i, seed := range []uint64{1, 1, 2} {
		if err := newScene(seed, 500).generate(&logs[i], func(*generator, *decision) {}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(logs[0].Bytes(), logs[1].Bytes()) || bytes.Equal(logs[0].Bytes(), logs[2].Bytes()) {
		t.Error("the seed does not decide the log")
	}
}

// TestEffects checks that faults have the size that their names say.
func TestEffects(t *testing.T) {
	for _, test := range []struct {
		name        string
		before, now float64
		of          func(s *sample) float64
	}{
		{"allowed 80 % → less, new revision", 0.8, 0.3, func(s *sample) float64 { return s.share(allowed) }},
		{"allowed 40 % → more, new revision", 0.4, 1, func(s *sample) float64 { return s.share(allowed) }},
		{"cancelled rises from 0 on a path", 0, 0.3, func(s *sample) float64 { return s.share(cancelled) }},
		{"all decisions compile after a bundle", 0, 1, func(s *sample) float64 { return float64(s.compiled) / float64(s.n) }},
		{"metrics gone on one pod", 0, 1, func(s *sample) float64 { return float64(s.bare) / float64(s.n) }},
		{"everything slower, from a time on", 1, 3, func(s *sample) float64 { return median(s.eval) / 105e3 }},
	} {
		k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == test.name })]
		s := newScene(9, 40_000)
		truth := newTruth(s, k.plant(s, rand.New(rand.NewPCG(9, 3)), 0))
		if err := s.generate(io.Discard, truth.see); err != nil {
			t.Fatal(err)
		}
		before, now := test.of(&truth.groups[earlier]), test.of(&truth.groups[affected])
		if math.Abs(before-test.before) > 0.02+0.15*test.before || math.Abs(now-test.now) > 0.02+0.15*test.now {
			t.Errorf("%s: %.3f and %.3f, want %.3f and %.3f", k.name, before, now, test.before, test.now)
		}
	}
}

func TestHealthyScenes(t *testing.T) {
	for _, h := range healthyScenes {
		s := newScene(3, 2000)
		h.shape(s, rand.New(rand.NewPCG(3, 3)))
		var log bytes.Buffer
		if err := s.generate(&log, func(*generator, *decision) {}); err != nil {
			t.Fatal(err)
		}
		events := readBack(t, log.Bytes())
		if len(events) != 2000 || !slices.IsSortedFunc(events, func(a, b event) int { return a.Timestamp.Compare(b.Timestamp) }) {
			t.Errorf("%s: %d decisions, want 2000 in order", h.name, len(events))
		}
	}
}

func TestJudge(t *testing.T) {
	s := newScene(5, 20_000)
	p := kinds[0].plant(s, rand.New(rand.NewPCG(5, 3)), 0)
	truth := newTruth(s, p)
	if err := s.generate(io.Discard, truth.see); err != nil {
		t.Fatal(err)
	}
	at := func(steps int) string {
		i, _ := slices.BinarySearch(truth.times, truth.start)
		return time.Unix(0, truth.times[i+steps]).UTC().Format(time.RFC3339Nano)
	}
	share := truth.groups[affected].share(denied)
	good := finding{Rule: "denied_rose", Path: p.path, From: at(0), Figures: map[string]float64{"share": share}}
	with := func(change func(f *finding)) []finding {
		f := good
		change(&f)
		return []finding{f}
	}
	for _, test := range []struct {
		name     string
		findings []finding
		want     string
	}{
		{"right", []finding{good}, "found cause time figure"},
		{"nothing", nil, ""},
		{"five decisions late", with(func(f *finding) { f.From = at(5) }), "found cause time figure"},
		{"six decisions late", with(func(f *finding) { f.From = at(6) }), "found cause figure"},
		{"thirty decisions early", with(func(f *finding) { f.From = at(-30) }), "found cause figure"},
		{"no time", with(func(f *finding) { f.From = "" }), "found cause figure"},
		{"wrong figure", with(func(f *finding) { f.Figures = map[string]float64{"share": share * 1.2} }), "found cause time"},
		{"figure in its interval", with(func(f *finding) {
			f.Figures = map[string]float64{"share": share * 1.2, "share_low": share * 0.9, "share_high": share * 1.4}
		}), "found cause time figure"},
		{"no figure", with(func(f *finding) { f.Figures = nil }), "found cause time"},
		{"wrong cause", with(func(f *finding) { f.Rule = "latency_rose" }), "found"},
		{"wrong path", with(func(f *finding) { f.Path = "rbac/allow" }), "denied_rose"},
		{"wrong revision", with(func(f *finding) { f.Revision = "main=" + s.revisions[0] }), "denied_rose"},
		{"a client for a fault of all clients", with(func(f *finding) { f.Client = clientName(3) }), "denied_rose"},
		{"info", with(func(f *finding) { f.Severity = "info" }), "found cause time figure"},
		{"info about something else", with(func(f *finding) { f.Severity, f.Path = "info", "rbac/allow" }), ""},
		{"another beside it", append(with(func(f *finding) { f.Path = "rbac/allow" }), good), "found cause time figure denied_rose"},
	} {
		v := judge(truth, kinds[0].rules, test.findings)
		var got []string
		for _, is := range []struct {
			name string
			is   bool
		}{{"found", v.found}, {"cause", v.cause}, {"time", v.time}, {"figure", v.figure}} {
			if is.is {
				got = append(got, is.name)
			}
		}
		if got := strings.Join(append(got, v.others...), " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestWilson(t *testing.T) {
	for _, test := range []struct {
		k, n      int
		low, high float64
	}{{0, 10, 0, 0.2775}, {1, 400, 0.0004, 0.0140}, {10, 10, 0.7225, 1}} {
		low, high := wilson(test.k, test.n)
		if low < test.low-1e-4 || low > test.low+1e-4 || high < test.high-1e-4 || high > test.high+1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f", test.k, test.n, low, high)
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
