// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"

	"github.com/regometer/regometer/exphist"
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

// A plugin that is stopped may still be told of a new policy, and be given
// decisions, before another one starts: they are counted, and nothing is
// exported.
func TestNothingIsExportedAfterStop(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	s, err := stateOf(registry, Build{})
	if err != nil {
		t.Fatal(err)
	}
	config := withMaxPaths(1)
	rules := func(modules ...string) func() *ast.Compiler {
		c := compile(t, modules...)
		return func() *ast.Compiler { return c }
	}
	check := func(want int) {
		t.Helper()
		if families, err := registry.Gather(); err != nil || len(families) != want {
			t.Errorf("%d families, want %d, %v", len(families), want, err)
		}
	}
	if err := s.start(config, rules("package p\na := 1")); err != nil {
		t.Fatal(err)
	}
	s.stop()
	check(1)
	for i := range 3 {
		name := fmt.Sprint("x", i)
		s.relabel(config, rules("package p\n"+name+" := 1"))
		s.record(&decision{path: "p/" + name}, nil, nil)
		s.record(&decision{query: "x = 1"}, nil, nil)
		s.record(&decision{path: "/"}, nil, nil) // the room of a former path's
	}
	check(1)
	if err := s.start(config, rules("package p\na := 1")); err != nil {
		t.Fatal(err)
	}
	checkDecisions(t, registry, "opa", rollup.Query, 3)
	s.stop()
	check(1)
}

// What holds is the configuration that came last: one of before brings no
// labels any more, the same policy nothing new.
func TestRelabel(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	s, err := stateOf(registry, Build{})
	if err != nil {
		t.Fatal(err)
	}
	current := compile(t, "package p\na := 1")
	rules := func() *ast.Compiler { return current }
	first, second := withMaxPaths(1), withMaxPaths(1)
	second.Namespace = "policy"
	if err := s.start(first, rules); err != nil {
		t.Fatal(err)
	}
	if err := s.reconfigure(second, rules); err != nil {
		t.Fatal(err)
	}
	l := s.labels
	s.relabel(second, rules)
	if s.labels != l {
		t.Error("new labels of the same policy")
	}
	former := l.given["p/a"]
	s.record(&decision{path: "p/a"}, nil, nil)
	s.record(&decision{query: "x = 1"}, nil, nil)

	current = compile(t, "package p\nb := 1")
	s.relabel(first, rules)
	if s.labels != l || s.config != second {
		t.Error("labels by a former configuration")
	}
	s.relabel(second, rules)
	if s.labels.compiler != current {
		t.Error("the labels are not those of the new policy")
	}
	s.record(&decision{path: "/"}, nil, nil)
	former.counted.Store(false)
	s.makeRoom(former) // for a decision that began before
	s.makeRoom(&label{name: "p/x"})
	s.makeRoom(s.labels.given[rollup.Query]) // another decision was faster
	if got := pathsOf(t, s); got != "(data) (query) p/a" {
		t.Errorf("series of %q", got)
	}
	s.makeRoom(s.labels.given["p/b"]) // takes that of p/a, and holds it
	if got := pathsOf(t, s); got != "(data) (query) p/b" {
		t.Errorf("series of %q", got)
	}
	s.record(&decision{path: "p/b"}, nil, nil)
	if got := pathsOf(t, s); got != "(data) (query) p/b" {
		t.Errorf("series of %q", got)
	}
	checkDecisions(t, registry, "policy", "p/b", 1)
	checkDecisions(t, registry, "opa", "p/b", -1)
}

// Whatever option of the rollup changes, it is made anew.
func TestSameOptions(t *testing.T) {
	t.Parallel()
	options := func() rollup.Options {
		b, err := exphist.NewBounds(1, 2)
		if err != nil {
			t.Fatal(err)
		}
		return rollup.Options{
			Limits: rollup.Limits{Paths: 1}, Stages: []rollup.Stage{{Name: "a"}}, Counters: []string{"a"}, PathStages: []string{"a"}, Bounds: b,
		}
	}
	if !sameOptions(options(), options()) {
		t.Error("equal options are not the same")
	}
	zero := reflect.ValueOf(rollup.Options{})
	for i := range zero.NumField() {
		o := options()
		field := reflect.ValueOf(&o).Elem().Field(i)
		if field.IsZero() {
			t.Errorf("the test does not know %s", zero.Type().Field(i).Name)
		}
		field.Set(zero.Field(i))
		if sameOptions(o, options()) || sameOptions(options(), o) {
			t.Errorf("without %s, options are the same", zero.Type().Field(i).Name)
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
	c, err := parseConfig([]byte(`{"namespace": "policy"}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Reconfigure(t.Context(), c)
	if s := p.manager.PluginStatus()[Name]; s.State != plugins.StateErr || !strings.Contains(s.Message, "registering the metrics: ") {
		t.Errorf("status %v", s)
	}
	// It goes on as before.
	if err := p.Log(t.Context(), logs.EventV1{Path: "a"}); err != nil {
		t.Error(err)
	}
	checkDecisions(t, registry, "opa", "a", 1)

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
