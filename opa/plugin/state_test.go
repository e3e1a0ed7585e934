// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/storage"

	"github.com/regometer/regometer/rollup"
)

func (p *Plugin) mustReconfigure(t *testing.T, config string) {
	t.Helper()
	c, err := parseConfig([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	p.Reconfigure(t.Context(), c)
	if s := p.manager.PluginStatus()[Name]; s.State == plugins.StateErr {
		t.Fatalf("%s: the status is %v", config, s)
	}
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

// newRecorder returns the recorder of a plugin that is started.
func newRecorder(t *testing.T, registry prometheus.Registerer, c *settings, policy *ast.Compiler) *recorder {
	t.Helper()
	s, err := stateOf(registry, buildInfo("", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{state: s, rules: func() *ast.Compiler { return policy }, warn: func(string) {}, info: func(string) {}}
	if err := r.configure(c); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask records a decision of a path.
func (r *recorder) ask(path string, numbers ...rollup.Number) {
	r.record(&decision{Decision: rollup.Decision{Path: path, Numbers: numbers}})
}

// askQuery records an ad-hoc query.
func (r *recorder) askQuery(numbers ...rollup.Number) {
	r.record(&decision{Decision: rollup.Decision{Numbers: numbers}, query: "x = 1"})
}

// activate does what OPA does with a new policy.
func (r *recorder) activate(policy *ast.Compiler) {
	r.rules = func() *ast.Compiler { return policy }
	r.relabel()
}

// snapshot returns the counts.
func (r *recorder) snapshot() *rollup.Snapshot {
	r.state.recording.RLock()
	defer r.state.recording.RUnlock()
	var snapshot rollup.Snapshot
	r.state.rollup.Snapshot(&snapshot)
	return &snapshot
}

// checkSeries compares the labels that have series, in alphabetical order.
func (r *recorder) checkSeries(t *testing.T, want string) {
	t.Helper()
	var labels []string
	for _, p := range r.snapshot().Paths {
		labels = append(labels, p.Label)
	}
	slices.Sort(labels)
	if got := strings.Join(labels, " "); got != want {
		t.Errorf("there are series of %.99q, want %.99q", got, want)
	}
}

// rules returns a package p with these rules.
func rules(names ...string) string {
	return "package p\n" + strings.Join(names, " := input.x\n") + " := input.x\n"
}

// A new configuration loses no decision, and counts none twice. One that comes
// before Start takes effect at Start.
func TestReconfigure(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	p := newPlugin(t, `{"paths": {"allow": ["a", "b"]}}`, registry)
	n := 0.0
	ask := func() {
		t.Helper()
		p.log(t, logs.EventV1{Path: "a", Metrics: requestMetrics()})
		p.log(t, logs.EventV1{Path: "b", Metrics: requestMetrics()})
		n++
	}
	ask()
	for _, config := range []string{
		`{"paths": {"allow": ["a", "b"]}, "max_paths": 60, "max_series": 4000}`,
		`{"paths": {"allow": ["a", "b"]}, "stages": [{"name": "x", "parent": "rego_query_eval"}]}`,
		`{"paths": {"allow": ["a", "b"]}, "classic_buckets": []}`,
		`{"paths": {"allow": ["a", "b"]}, "classic_buckets": [0.001], "path_stages": []}`,
		`{"paths": {"allow": ["a", "b"]}}`,
	} {
		p.mustReconfigure(t, config)
		ask()
		checkDecisions(t, registry, "opa", "a", n)
		checkDecisions(t, registry, "opa", "b", n)
		checkSum(t, registry, "opa_decision_stage_duration_seconds", map[string]string{"stage": "rego_query_eval"}, 2*n)
	}
	granted := any(map[string]any{"granted": true})
	p.mustReconfigure(t, `{"paths": {"allow": ["a", "b"]}, "outcomes": {"c": "result.granted"}}`)
	p.log(t, logs.EventV1{Path: "c", Result: &granted})
	checkSum(t, registry, "opa_decisions_total", map[string]string{"outcome": "allowed"}, 1)
	p.mustReconfigure(t, `{"namespace": "policy", "paths": {"allow": ["a"]}}`)
	ask()
	checkDecisions(t, registry, "opa", "a", -1)
	checkDecisions(t, registry, "policy", "a", n)
	checkDecisions(t, registry, "policy", "b", n-1)
	checkDecisions(t, registry, "policy", rollup.Other, 2)
	p.Stop(t.Context())
	checkDecisions(t, registry, "policy", "a", -1)
	p.mustReconfigure(t, `{"max_paths": 1, "paths": {"allow": ["b"]}}`)
	checkDecisions(t, registry, "opa", "a", -1)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkDecisions(t, registry, "opa", "a", 0) // there is no room for it
	p.log(t, logs.EventV1{Path: "b"})
	checkDecisions(t, registry, "opa", "b", n)
	checkDecisions(t, registry, "opa", rollup.Other, 2)
}

// The plugin logs once for each policy and configuration that paths share a
// label.
func TestSharedLabelsAreLogged(t *testing.T) {
	t.Parallel()
	p := newPlugin(t, `{"max_paths": 2}`, prometheus.NewRegistry())
	for _, step := range []struct {
		policy string
		want   int
	}{{rules("a", "b"), 0}, {rules("a", "b", "c"), 1}, {"# again\n" + rules("a", "b", "c"), 1}, {rules("a", "b", "d"), 2}, {rules("a"), 2}, {rules("a", "b", "d"), 3}} {
		p.setPolicy(t, step.policy)
		if got := p.logged(logging.Info); strings.Count(got, "The policy has 3 paths, but only 1 have a label of their own. 2 share the label of a package") != step.want {
			t.Errorf("%s: the plugin logs %q, want %d messages", step.policy, got, step.want)
		}
	}
	p.mustReconfigure(t, `{"max_paths": 1}`)
	if got := p.logged(logging.Info); strings.Count(got, "but only 0 have a label of their own. 3 share the label of a package") != 1 {
		t.Errorf("with another configuration the plugin logs %q, want another message", got)
	}
}

// While OPAs on one registry start, stop and get policies and configurations,
// no decision is lost, none gets a label that its policy does not give, and no
// count goes down.
func TestUnderLoad(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	steady := newPlugin(t, `{}`, registry)
	steady.setPolicy(t, rules("a"))
	steady.log(t, logs.EventV1{Path: "p/a", Metrics: requestMetrics()})
	const each = 1500
	var load sync.WaitGroup
	var all atomic.Int64
	all.Add(1)
	record := func(p *Plugin, path string) {
		_ = p.Log(t.Context(), logs.EventV1{Path: path, Metrics: requestMetrics()})
		all.Add(1)
	}
	for range 2 {
		load.Go(func() {
			for range each {
				record(steady, "p/a")
			}
		})
	}
	for i := range 2 {
		p := newPlugin(t, `{"max_paths": 3}`, registry)
		var recorded atomic.Bool
		load.Go(func() {
			for n := range each {
				record(p, []string{"q/x0", "q/x1", "q/x2", "p/a", "", "nothing"}[n%6])
			}
			recorded.Store(true)
		})
		load.Go(func() {
			for n := 0; !recorded.Load(); n++ {
				p.setPolicy(t, fmt.Sprintf("package q\nx%d := %d", n%3, n))
				p.mustReconfigure(t, fmt.Sprintf(`{"max_paths": %d}`, 3+i+n%3))
				p.Stop(t.Context())
				if err := p.Start(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var done atomic.Bool
	go func() {
		load.Wait()
		done.Store(true)
	}()
	for last, finished := 0.0, false; !finished; {
		finished = done.Load()
		got := sumOf(t, registry, "opa_decisions_total", map[string]string{"path": "p/a"})
		if got < last {
			t.Errorf("%v decisions of p/a, but %v before", got, last)
		}
		last = got
	}
	checkDecisions(t, registry, "opa", "p/a", 2*each+1)
	checkSum(t, registry, "opa_decision_stage_duration_seconds", map[string]string{"stage": "rego_query_eval"}, float64(all.Load()))
	checkSum(t, registry, "opa_decision_received_total", nil, float64(all.Load()))
	if n := len(steady.active.Load().recorder.snapshot().Paths); n > 1+5+unnamed {
		t.Errorf("there are series of %d labels, want %d or fewer", n, 1+5+unnamed)
	}
}

// A path with decisions that loses its label is counted, and named in a
// warning.
func TestLostLabels(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newPlugin(t, `{"max_paths": 3, "paths": {"allow": ["x"]}}`, registry)
	for _, step := range []struct{ policy, asked, lost string }{
		{rules("a", "b"), "p/a p/b x nowhere", ""},
		{"package p\na := input.x\nz := input.x", "p/z", "p/b"},
		{"package p\nz := input.x", "p/y", "p/a"},
		{rules("r", "s", "t"), "p/t", "p/z"}, // each counts as p
		{rules("r", "s"), "", ""},            // the label p was no rule
	} {
		before := p.logged(logging.Warn)
		p.setPolicy(t, step.policy)
		for path := range strings.FieldsSeq(step.asked) {
			p.log(t, logs.EventV1{Path: path})
		}
		want := ""
		if step.lost != "" {
			want = "A new policy takes the labels of 1 paths with decisions: " + step.lost + ". To keep the label of a path, name the path in paths.allow.\n"
		}
		if got := strings.TrimPrefix(p.logged(logging.Warn), before); !strings.HasSuffix(got, want) || want == "" && strings.Contains(got, "takes") {
			t.Errorf("%q: the plugin warns %q, want %q", step.policy, got, want)
		}
	}
	checkSum(t, registry, "opa_decision_labels_lost_total", nil, 3)
}

// Each of two OPAs on one registry labels by its own policy and configuration.
// They share the counts. All else is that of the OPA that was configured last.
func TestTwoOPAs(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	first, second := newPlugin(t, `{}`, registry), newPlugin(t, `{}`, registry)
	want, namespace := map[string]float64{}, "opa"
	first.setPolicy(t, rules("a", "b"))
	for i, step := range []struct {
		change        func()
		first, second map[string]string // paths, and the labels that each OPA gives them
		own           float64           // paths of the policy with their own label
	}{
		{
			func() { second.setPolicy(t, "package p\na := input.x\nonly.second := input.x\nthird := input.x") },
			map[string]string{"p/a": "p/a", "p/b": "p/b", "p/only/second": rollup.Other},
			map[string]string{"p/a": "p/a", "p/b": rollup.Other, "p/only/second": "p/only/second"}, 3,
		},
		{
			func() {
				namespace = "policy"
				second.setPolicy(t, "package q\nx := input.x")
				second.mustReconfigure(t, `{"namespace": "policy", "paths": {"prefixes": ["pre"]}}`)
			},
			map[string]string{"pre/fix": rollup.Other, "p/b": "p/b"}, map[string]string{"pre/fix": "pre", "q/x": "q/x"}, 1,
		},
		{ // a stopped plugin may still get policies and decisions
			func() { second.Stop(t.Context()); second.setPolicy(t, "package q\ny := input.x") },
			map[string]string{"p/b": "p/b", "q/x": rollup.Other}, map[string]string{"q/x": "q/x", "pre/fix": "pre"}, 2,
		},
		{
			func() {
				if err := second.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			map[string]string{"p/b": "p/b"}, map[string]string{"q/y": "q/y"}, 1,
		},
		{func() { first.Stop(t.Context()) }, nil, map[string]string{"q/y": "q/y"}, 1},
	} {
		step.change()
		for _, ask := range []struct {
			plugin *Plugin
			labels map[string]string
		}{{first, step.first}, {second, step.second}} {
			for path, label := range ask.labels {
				ask.plugin.log(t, logs.EventV1{Path: path})
				want[label]++
				t.Logf("step %d: %s", i, path)
				checkDecisions(t, registry, namespace, label, want[label])
			}
		}
		checkSum(t, registry, namespace+"_decision_policy_paths", map[string]string{"label": "own"}, step.own)
	}
	second.Stop(t.Context())
	checkDecisions(t, registry, namespace, "q/y", -1)
	if n := len(first.counted().started); n != 0 {
		t.Errorf("%d stopped plugins are remembered, want none", n)
	}
}

// Two OPAs may have more labels than there is room for: there are no more
// series than for one of them, and no decision is lost. Former labels make room
// for both.
func TestTwoOPAsShareRoom(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	allow := func(names ...string) *settings {
		c := withMaxPaths(2)
		c.Paths.Allow = names
		return c
	}
	first, second := newRecorder(t, registry, allow("former"), nil), newRecorder(t, registry, allow("b"), nil)
	first.ask("former")
	first.ask("/")
	first.askQuery()
	if err := first.configure(allow("a")); err != nil {
		t.Fatal(err)
	}
	second.ask("b")
	first.ask("a")
	first.checkSeries(t, "(data) (query) a b")
	if err := second.configure(allow("b", "c")); err != nil {
		t.Fatal(err)
	}
	second.ask("c")
	first.checkSeries(t, "(data) (query) a b other")
	checkDecisions(t, registry, "opa", rollup.Other, 1)
	checkSum(t, registry, "opa_decision_label_overflow_total", map[string]string{"kind": "path"}, 1)
	first.stop()
	second.stop()
	first.ask("a")
	checkDecisions(t, registry, "opa", "a", -1)
}

// Rules that come without notice, as OPA's external sources bring them, are
// known after the first decision of one of them.
func TestRulesWithoutNotice(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newPlugin(t, `{}`, registry)
	p.setPolicy(t, rules("a"))
	r := p.active.Load().recorder
	r.activate(nil)
	r.rules = p.manager.GetCompiler
	for _, want := range []float64{0, 1} {
		p.log(t, logs.EventV1{Path: "p/a"})
		checkDecisions(t, registry, "opa", "p/a", want)
	}
	checkDecisions(t, registry, "opa", rollup.Other, 1)
}

// The plugin does not replace somebody else's metrics. If a configuration
// fails, the plugin keeps the one before.
func TestStartClash(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "policy_decisions_total", Help: "Theirs."}))
	p := newPlugin(t, `{"paths": {"allow": ["a"]}}`, registry)
	c, err := parseConfig([]byte(`{"namespace": "policy", "paths": {"allow": ["b"]}, "classic_buckets": []}`))
	if err != nil {
		t.Fatal(err)
	}
	requireClash := func() {
		t.Helper()
		if s := p.manager.PluginStatus()[Name]; s.State != plugins.StateErr || !strings.Contains(s.Message, "registering the metrics: ") {
			t.Errorf("the status is %v, want an error", s)
		}
	}
	p.Reconfigure(t.Context(), c)
	requireClash()
	before := p.counted().rollup
	p.log(t, logs.EventV1{Path: "a"})
	checkDecisions(t, registry, "opa", "a", 1)
	p.mustReconfigure(t, `{"paths": {"allow": ["a"]}, "classic_buckets": []}`)
	if p.counted().rollup == before {
		t.Error("the buckets are not those of the new configuration")
	}
	p.Reconfigure(t.Context(), c)
	p.Stop(t.Context())
	if err := p.Start(t.Context()); err != nil {
		t.Errorf("the plugin does not start with the configuration that it kept: %v", err)
	}

	second := Factory{Registerer: registry}.New(p.manager, c)
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "plugin regometer: registering the metrics: ") {
		t.Errorf("error %v, want that the metrics are registered already", err)
	}
	requireClash()
	p.Stop(t.Context()) // the second plugin, which did not start, does not keep the metrics registered
	checkDecisions(t, registry, "opa", "a", -1)
}

// Random policies, limits and decisions follow the rule: as few series as
// possible end, those that came first, so that all labels have room. No
// decision is lost over all paths.
func TestRetentionModel(t *testing.T) {
	t.Parallel()
	names := strings.Split("abcdefgh", "")
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		config := withMaxPaths(3)
		r := newRecorder(t, nil, config, compile(t, rules("a")))
		counted, order := map[string]uint64{}, []string(nil)
		others, all := uint64(0), uint64(0)
		makeRoom := func() {
			given := maps.Clone(r.labels.Load().given)
			for _, label := range order {
				given[label] = true
			}
			for missing := len(given) - config.MaxPaths - unnamed; missing > 0; missing-- {
				at := slices.IndexFunc(order, func(label string) bool { return !r.labels.Load().given[label] })
				delete(counted, order[at])
				order = slices.Delete(order, at, at+1)
			}
		}
		for step := range 150 {
			switch random.IntN(12) {
			case 0: // another policy
				var defined []string
				for _, i := range random.Perm(len(names))[:1+random.IntN(3)] {
					defined = append(defined, names[i])
				}
				r.activate(compile(t, rules(defined...)))
				makeRoom()
			case 1: // another configuration
				config = withMaxPaths(3 + random.IntN(4))
				if err := r.configure(config); err != nil {
					t.Fatal(err)
				}
				makeRoom()
			default:
				d := decision{}
				switch random.IntN(8) {
				case 0:
					d.query = "x = 1"
				case 1:
					d.Path = "p"
				case 2:
				default:
					d.Path = "p/" + names[random.IntN(len(names))]
				}
				d.Numbers = []rollup.Number{{Key: "timer_rego_query_eval_ns", Value: 1}}
				l, _ := r.labels.Load().of(d.Path, d.query)
				r.record(&d)
				all++
				if l.name == rollup.Other {
					others++
					break
				}
				if counted[l.name]++; counted[l.name] == 1 {
					order = append(order, l.name)
				}
			}
			snapshot, got := r.snapshot(), map[string]uint64{}
			for _, p := range snapshot.Paths {
				for _, n := range p.Outcomes() {
					got[p.Label] += n
				}
			}
			if got[rollup.Other] != others {
				t.Fatalf("seed %d, step %d: %d decisions have the label other, want %d", seed, step, got[rollup.Other], others)
			}
			delete(got, rollup.Other)
			if !maps.Equal(got, counted) {
				t.Fatalf("seed %d, step %d: the decisions are %v, want %v", seed, step, got, counted)
			}
			if n := r.state.received[fromServer].Load(); all > 0 && snapshot.Stages[0].Histogram.Count() != all || n != all {
				t.Fatalf("seed %d, step %d: %+v, %d received, want %d", seed, step, snapshot.Stages, n, all)
			}
		}
	}
}

// Decisions of paths that share a label because there is no room are overflow,
// and no others.
func TestOverflow(t *testing.T) {
	t.Parallel()
	config := withMaxPaths(2)
	config.Paths.Prefixes = []string{"q"}
	r := newRecorder(t, nil, config, compile(t, rules("a", "b", "c"), "package q\nx := input.x"))
	for path, want := range map[string]uint64{"p/a": 1, "p/c/x": 1, "p": 0, "q/x": 0, "q": 0, "nothing": 0, "p/nothing": 0, "": 0} {
		before := r.snapshot().Overflow.Paths
		r.ask(path)
		if got := r.snapshot().Overflow.Paths - before; got != want {
			t.Errorf("%q: the overflow is %d, want %d", path, got, want)
		}
	}
}
