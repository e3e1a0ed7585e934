// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/storage"

	"github.com/regometer/regometer/rollup"
)

// decisions returns the value of <name>_decisions_total for a path, -1 if the
// registry has no such metric at all.
func decisions(t *testing.T, g prometheus.Gatherer, name, path string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name+"_decisions_total" {
			continue
		}
		sum := 0.0
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "path" && l.GetValue() == path {
					sum += m.GetCounter().GetValue()
				}
			}
		}
		return sum
	}
	return -1
}

func checkDecisions(t *testing.T, g prometheus.Gatherer, name, path string, want float64) {
	t.Helper()
	if got := decisions(t, g, name, path); got != want {
		t.Errorf("%s_decisions_total of %s is %v, want %v", name, path, got, want)
	}
}

func (p *Plugin) mustReconfigure(t *testing.T, config string) {
	t.Helper()
	c, err := parseConfig([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	p.Reconfigure(t.Context(), c)
	if s := p.manager.PluginStatus()[Name]; s.State != plugins.StateOK {
		t.Fatalf("%s: %v", config, s)
	}
}

// Whatever is reconfigured, no decision is lost and none is counted twice.
func TestReconfigure(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	p := newPlugin(t, `{"paths": {"allow": ["a", "b"]}}`, registry)
	n := 0.0
	ask := func() {
		for _, path := range []string{"a", "b"} {
			if err := p.Log(t.Context(), logs.EventV1{Path: path, Metrics: requestMetrics()}); err != nil {
				t.Error(err)
			}
		}
		n++
	}
	ask()
	checkDecisions(t, registry, "opa", "a", n)
	for _, config := range []string{
		`{"paths": {"allow": ["a", "b"]}, "max_paths": 60, "max_series": 3000}`,
		`{"paths": {"allow": ["a", "b"]}, "stages": [{"name": "x", "parent": "rego_query_eval"}]}`,
		`{"paths": {"allow": ["a", "b"]}, "classic_buckets": []}`,
		`{"paths": {"allow": ["a", "b"]}, "classic_buckets": [0.001], "path_stages": []}`,
		`{"paths": {"allow": ["a", "b"]}}`,
	} {
		p.mustReconfigure(t, config)
		ask()
		checkDecisions(t, registry, "opa", "a", n)
		checkDecisions(t, registry, "opa", "b", n)
	}
	p.mustReconfigure(t, `{"namespace": "policy", "paths": {"allow": ["a"]}}`)
	ask()
	checkDecisions(t, registry, "opa", "a", -1)
	checkDecisions(t, registry, "policy", "a", n)
	checkDecisions(t, registry, "policy", "b", n-1)
	checkDecisions(t, registry, "policy", rollup.Other, 1)
	// Lower limits: one label remains.
	p.mustReconfigure(t, `{"max_paths": 1, "paths": {"allow": ["b"]}}`)
	checkDecisions(t, registry, "opa", "a", n) // as long as there is room
	checkDecisions(t, registry, "opa", "b", n-1)
	checkDecisions(t, registry, "opa", rollup.Other, 1)
	p.Stop(t.Context())
	checkDecisions(t, registry, "opa", "a", -1)
	if families, err := registry.Gather(); err != nil || len(families) != 1 || families[0].GetName() != "regometer_build_info" {
		t.Errorf("after Stop: %v, %v", families, err)
	}
}

// A configuration that comes before the start holds from the start.
func TestReconfigureBeforeStart(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newPlugin(t, `{}`, registry)
	p.Stop(t.Context())
	c, err := parseConfig([]byte(`{"paths": {"allow": ["a"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Reconfigure(t.Context(), c)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Log(t.Context(), logs.EventV1{Path: "a"}); err != nil {
		t.Error(err)
	}
	checkDecisions(t, registry, "opa", "a", 1)
}

// Decisions that arrive while the configuration changes are all counted.
func TestReconfigureUnderLoad(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newPlugin(t, `{"paths": {"allow": ["a"]}}`, registry)
	const goroutines, each = 4, 2000
	var load sync.WaitGroup
	for range goroutines {
		load.Go(func() {
			metrics := requestMetrics()
			for range each {
				_ = p.Log(t.Context(), logs.EventV1{Path: "a", Metrics: metrics})
			}
		})
	}
	stop, scraped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(scraped)
		for last := 0.0; ; {
			got := max(0, decisions(t, registry, "opa", "a"))
			if got < last {
				t.Errorf("%v decisions after %v", got, last)
			}
			last = got
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for i := range 20 {
		p.mustReconfigure(t, fmt.Sprintf(`{"paths": {"allow": ["a"]}, "max_paths": %d}`, 20+i))
	}
	load.Wait()
	close(stop)
	<-scraped
	checkDecisions(t, registry, "opa", "a", goroutines*each)
}

// Instances on one registry, one after another or at the same time, share what
// they count.
func TestSharedRegistry(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	const config = `{"paths": {"allow": ["a"]}}`
	ask := func(p *Plugin) {
		t.Helper()
		if err := p.Log(t.Context(), logs.EventV1{Path: "a"}); err != nil {
			t.Error(err)
		}
	}
	first := newPlugin(t, config, registry)
	ask(first)
	second := newPlugin(t, config, registry)
	ask(second)
	checkDecisions(t, registry, "opa", "a", 2)
	first.Stop(t.Context())
	checkDecisions(t, registry, "opa", "a", 2)
	second.Stop(t.Context())
	checkDecisions(t, registry, "opa", "a", -1)
	ask(newPlugin(t, config, registry))
	checkDecisions(t, registry, "opa", "a", 3)

	prefixed := prometheus.NewRegistry()
	ask(newPlugin(t, config, prometheus.WrapRegistererWithPrefix("x_", prefixed)))
	ask(newPlugin(t, config, prometheus.WrapRegistererWithPrefix("x_", prefixed)))
	checkDecisions(t, prefixed, "x_opa", "a", 2)
}

// newRecorder returns the recorder of a plugin that is started.
func newRecorder(t *testing.T, registry prometheus.Registerer, c *Config, policy *ast.Compiler) *recorder {
	t.Helper()
	s, err := stateOf(registry, Build{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{state: s, rules: func() *ast.Compiler { return policy }}
	if err := r.configure(c); err != nil {
		t.Fatal(err)
	}
	return r
}

// activate does what OPA does with a new policy.
func (r *recorder) activate(policy *ast.Compiler) {
	r.rules = func() *ast.Compiler { return policy }
	r.relabel()
}

// A plugin that is stopped may still be told of a new policy, and be given
// decisions, before another one starts: they are counted, and nothing is
// exported.
func TestNothingIsExportedAfterStop(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	check := func(want int) {
		t.Helper()
		if families, err := registry.Gather(); err != nil || len(families) != want {
			t.Errorf("%d families, want %d, %v", len(families), want, err)
		}
	}
	policy := compile(t, "package p\na := 1")
	r := newRecorder(t, registry, withMaxPaths(1), policy)
	r.stop()
	check(1)
	for i := range 3 {
		name := fmt.Sprint("x", i)
		r.activate(compile(t, "package p\n"+name+" := 1"))
		r.record(&decision{path: "p/" + name}, nil, nil)
		r.record(&decision{query: "x = 1"}, nil, nil)
		r.record(&decision{path: "/"}, nil, nil) // the room of a former path's
	}
	check(1)
	r = newRecorder(t, registry, withMaxPaths(1), policy)
	checkDecisions(t, registry, "opa", rollup.Query, 3)
	r.stop()
	check(1)
}

// The same policy brings no new labels, and a new one those of the
// configuration that came last. Only a label that a plugin gives makes room.
func TestRelabel(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	r := newRecorder(t, registry, withMaxPaths(2), compile(t, "package p\na := 1"))
	s := r.state
	second := withMaxPaths(1)
	second.Namespace = "policy"
	if err := r.configure(second); err != nil {
		t.Fatal(err)
	}
	l := r.labels
	r.relabel()
	if r.labels != l {
		t.Error("new labels of the same policy")
	}
	former := l.given["p/a"]
	r.record(&decision{path: "p/a"}, nil, nil)
	r.record(&decision{query: "x = 1"}, nil, nil)

	r.activate(compile(t, "package p\nb := 1\nc := 1"))
	if n := r.labels.counts; n.own != 0 || n.merged != 2 {
		t.Errorf("the labels are not those of the new policy by the new configuration: %+v", n)
	}
	r.activate(compile(t, "package p\nb := 1"))
	r.record(&decision{path: "/"}, nil, nil)
	former.counted.Store(false)
	s.makeRoom(former) // for a decision that began before
	s.makeRoom(&label{name: "p/x"})
	s.makeRoom(r.labels.given[rollup.Query]) // another decision was faster
	if got := pathsOf(t, r); got != "(data) (query) p/a" {
		t.Errorf("series of %q", got)
	}
	s.makeRoom(r.labels.given["p/b"]) // takes that of p/a, and holds it
	if got := pathsOf(t, r); got != "(data) (query) p/b" {
		t.Errorf("series of %q", got)
	}
	r.record(&decision{path: "p/b"}, nil, nil)
	if got := pathsOf(t, r); got != "(data) (query) p/b" {
		t.Errorf("series of %q", got)
	}
	checkDecisions(t, registry, "policy", "p/b", 1)
	checkDecisions(t, registry, "opa", "p/b", -1)
}

// setPolicy puts a policy into the store of the plugin's manager.
func (p *Plugin) setPolicy(t *testing.T, text string) {
	t.Helper()
	store := p.manager.Store
	err := storage.Txn(context.Background(), store, storage.WriteParams, func(txn storage.Transaction) error {
		return store.UpsertPolicy(context.Background(), txn, "policy.rego", []byte(text))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Each of two OPAs on one registry labels by its own policy and configuration,
// whatever the other one does. They share the counts.
func TestTwoOPAs(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	want := map[string]float64{}
	namespace := "opa"
	ask := func(p *Plugin, path, label string) {
		t.Helper()
		if err := p.Log(t.Context(), logs.EventV1{Path: path}); err != nil {
			t.Error(err)
		}
		want[label]++
		checkDecisions(t, registry, namespace, label, want[label])
	}
	paths := func(own, merged, other float64) {
		t.Helper()
		for label, want := range map[string]float64{"own": own, "merged": merged, "other": other} {
			if got := sumOf(t, registry, namespace+"_decision_policy_paths", map[string]string{"label": label}); got != want {
				t.Errorf("%v paths of the policies are %s, want %v", got, label, want)
			}
		}
	}
	first := newPlugin(t, `{}`, registry)
	first.setPolicy(t, "package p\na := 1\nb := 1")
	ask(first, "p/a", "p/a")
	second := newPlugin(t, `{}`, registry)
	second.setPolicy(t, "package p\na := 1\nonly.second := 1")
	ask(first, "p/a", "p/a")
	ask(second, "p/a", "p/a")
	ask(first, "p/b", "p/b")
	ask(second, "p/b", rollup.Other)
	ask(second, "p/only/second", "p/only/second")
	ask(first, "p/only/second", rollup.Other)
	paths(4, 0, 0)

	second.setPolicy(t, "package q\nx := 1")
	ask(first, "p/b", "p/b")
	ask(first, "q/x", rollup.Other)
	ask(second, "q/x", "q/x")
	ask(second, "p/a", rollup.Other)
	first.setPolicy(t, "package p\nc := 1\nd := 1")
	ask(first, "p/c", "p/c")
	ask(first, "p/a", rollup.Other)
	ask(second, "q/x", "q/x")
	paths(3, 0, 0)

	// What is shared is as configured last, by either of them.
	first.mustReconfigure(t, `{"max_paths": 1, "classic_buckets": []}`)
	ask(first, "p/c", "p")
	ask(first, "p/d", "p")
	ask(second, "q/x", "q/x")
	paths(1, 2, 0)
	namespace = "policy"
	second.mustReconfigure(t, `{"namespace": "policy", "paths": {"prefixes": ["pre"]}}`)
	ask(second, "pre/fix", "pre")
	ask(first, "pre/fix", rollup.Other)
	ask(first, "p/d", "p")

	// A plugin that is stopped may be told of policies, and asked.
	second.Stop(t.Context())
	paths(0, 2, 0)
	ask(first, "p/d", "p")
	second.setPolicy(t, "package q\ny := 1")
	ask(second, "q/x", "q/x")
	ask(second, "pre/fix", "pre")
	ask(first, "q/x", rollup.Other)
	first.setPolicy(t, "package p\ne := 1")
	ask(first, "p/e", "p/e")
	if n := len(first.counted().started); n != 1 {
		t.Errorf("%d plugins are remembered, want 1", n)
	}

	if err := second.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(second, "q/y", "q/y")
	ask(first, "p/e", "p/e")
	first.Stop(t.Context())
	ask(second, "q/y", "q/y")
	second.Stop(t.Context())
	checkDecisions(t, registry, namespace, "q/y", -1)
	if n := len(first.counted().started); n != 0 {
		t.Errorf("%d plugins are remembered, want none", n)
	}
}

// Two OPAs may have more labels than there is room for: no more series are
// made than one of them may have, no decision is lost, and a label gets the
// room that becomes free.
func TestTwoOPAsShareRoom(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	first := newRecorder(t, registry, withMaxPaths(2), compile(t, "package p\na := 1\nb := 1"))
	second := newRecorder(t, registry, withMaxPaths(2), compile(t, "package q\nx := 1\ny := 1"))
	s := first.state
	for _, d := range []decision{{path: "p/a"}, {path: "/"}, {query: "1"}} {
		first.record(&d, nil, nil)
	}
	second.record(&decision{path: "q/x"}, nil, nil)
	full := s.rollup
	for range 2 {
		first.record(&decision{path: "p/b"}, nil, nil)
		second.record(&decision{path: "q/y"}, nil, nil)
	}
	if s.rollup != full {
		t.Error("what was counted is copied, although no series can go")
	}
	if got := pathsOf(t, first); got != "(data) (query) other p/a q/x" {
		t.Errorf("series of %q", got)
	}
	checkDecisions(t, registry, "opa", rollup.Other, 4)
	if n := sumOf(t, registry, "opa_decision_label_overflow_total", map[string]string{"kind": "path"}); n != 4 {
		t.Errorf("%v decisions overflow, want 4", n)
	}

	second.stop()
	second.record(&decision{path: "q/y"}, nil, nil) // takes no room
	first.record(&decision{path: "p/b"}, nil, nil)
	second.record(&decision{path: "q/x"}, nil, nil)
	if got := pathsOf(t, first); got != "(data) (query) other p/a p/b" {
		t.Errorf("series of %q", got)
	}
	checkDecisions(t, registry, "opa", rollup.Other, 6)
	checkDecisions(t, registry, "opa", "p/b", 1)
	checkDecisions(t, registry, "opa", "p/a", 1)

	// The limits are those of the plugin that was configured last.
	third := newRecorder(t, registry, withMaxPaths(1), compile(t, "package z\nz := 1"))
	third.record(&decision{path: "z/z"}, nil, nil)
	first.record(&decision{path: "p/a"}, nil, nil)
	first.record(&decision{path: "p/b"}, nil, nil)
	if n := len(strings.Fields(pathsOf(t, first))); n != 1+unnamed+1 {
		t.Errorf("series of %q", pathsOf(t, first))
	}
	if n := sumOf(t, registry, "opa_decisions_total", nil); n != 14-1 { // but for the former one of q/x, whose series went
		t.Errorf("%v decisions, want 13", n)
	}
	if n := len(s.lastActive); n > 2*(2+unnamed)+1 {
		t.Errorf("remembered: %v", s.lastActive)
	}
}

// The paths of the policies of two OPAs are added.
func TestTwoOPAsPolicyPaths(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	newRecorder(t, registry, withMaxPaths(2), compile(t, "package a\nx := 1", "package b\nx := 1\ny := 1", "package c\nx := 1\ny := 1"))
	newRecorder(t, registry, withMaxPaths(2), compile(t, "package d\nx := 1", "package e\nx := 1\ny := 1", "package f\nx := 1"))
	for label, want := range map[string]float64{"own": 2, "merged": 4, "other": 3} {
		if n := sumOf(t, registry, "opa_decision_policy_paths", map[string]string{"label": label}); n != want {
			t.Errorf("%v paths are %s, want %v", n, label, want)
		}
	}
}

// Rules that come without notice, as OPA's external sources bring them, are
// known after the first decision that was about one.
func TestRulesWithoutNotice(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newPlugin(t, `{}`, registry)
	p.setPolicy(t, "package p\na := 1")
	r := p.active.Load().recorder
	r.rules = func() *ast.Compiler { return nil }
	r.relabel() // so it was before
	r.rules = p.manager.GetCompiler
	for _, want := range []float64{0, 1} {
		if err := p.Log(t.Context(), logs.EventV1{Path: "p/a"}); err != nil {
			t.Error(err)
		}
		checkDecisions(t, registry, "opa", "p/a", want)
	}
	checkDecisions(t, registry, "opa", rollup.Other, 1)
}

// While two OPAs on one registry start, stop and get policies and
// configurations, a third counts by its own policy, and nothing is lost.
func TestTwoOPAsUnderLoad(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	steady := newPlugin(t, `{}`, registry)
	steady.setPolicy(t, "package p\na := 1")
	const each = 2000
	var all sync.WaitGroup
	var others atomic.Int64
	for range 2 {
		all.Go(func() {
			for range each {
				_ = steady.Log(t.Context(), logs.EventV1{Path: "p/a", Metrics: requestMetrics()})
			}
		})
	}
	for i := range 2 {
		p := newPlugin(t, `{}`, registry)
		asked := make(chan struct{})
		all.Go(func() {
			defer close(asked)
			for range each {
				_ = p.Log(t.Context(), logs.EventV1{Path: "q/x"})
				others.Add(1)
			}
		})
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-asked:
					return
				default:
				}
				p.setPolicy(t, fmt.Sprintf("package q\nx%d := %d", n%2, n))
				p.mustReconfigure(t, fmt.Sprintf(`{"max_paths": %d}`, 20+10*i+n%3))
				p.Stop(t.Context())
				if err := p.Start(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	checkDecisions(t, registry, "opa", "p/a", 2*each)
	if got, want := sumOf(t, registry, "opa_decisions_total", nil), float64(2*each+others.Load()); got != want {
		t.Errorf("%v decisions, want %v", got, want)
	}
}

// What two OPAs count is apart if each has labels of its own for its metrics.
func TestTwoOPAsApart(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	for i, name := range []string{"a", "b"} {
		p := newPlugin(t, `{"paths": {"allow": ["x"]}}`, prometheus.WrapRegistererWith(prometheus.Labels{"opa": name}, registry))
		for range 1 + i {
			if err := p.Log(t.Context(), logs.EventV1{Path: "x"}); err != nil {
				t.Error(err)
			}
		}
	}
	for name, want := range map[string]float64{"a": 1, "b": 2} {
		if n := sumOf(t, registry, "opa_decisions_total", map[string]string{"opa": name, "path": "x"}); n != want {
			t.Errorf("%v decisions of %s, want %v", n, name, want)
		}
	}
}

// Metrics of somebody else's are not pushed aside.
func TestStartClash(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	theirs := prometheus.NewCounter(prometheus.CounterOpts{Name: "policy_decisions_total", Help: "Theirs."})
	registry.MustRegister(theirs)
	p := newPlugin(t, `{"paths": {"allow": ["a"]}}`, registry)
	c, err := parseConfig([]byte(`{"namespace": "policy", "paths": {"allow": ["b"]}, "classic_buckets": []}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Reconfigure(t.Context(), c)
	if s := p.manager.PluginStatus()[Name]; s.State != plugins.StateErr || !strings.Contains(s.Message, "registering the metrics: ") {
		t.Errorf("status %v", s)
	}
	// It goes on as before.
	before := p.counted().rollup
	if err := p.Log(t.Context(), logs.EventV1{Path: "a"}); err != nil {
		t.Error(err)
	}
	checkDecisions(t, registry, "opa", "a", 1)
	p.mustReconfigure(t, `{"paths": {"allow": ["a"]}, "classic_buckets": []}`)
	if p.counted().rollup == before {
		t.Error("the buckets are not those of the new configuration")
	}
	p.Reconfigure(t.Context(), c)
	p.Stop(t.Context())
	if err := p.Start(t.Context()); err != nil {
		t.Errorf("it does not start with the configuration that could be carried out: %v", err)
	}

	second := Factory{Registerer: registry}.New(p.manager, c).(*Plugin)
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "plugin regometer: registering the metrics: ") {
		t.Errorf("error %v", err)
	}
	if s := p.manager.PluginStatus()[Name]; s.State != plugins.StateErr {
		t.Errorf("status %v", s)
	}
	// The one that did not start does not keep the other's metrics there.
	p.Stop(t.Context())
	checkDecisions(t, registry, "opa", "a", -1)
}
