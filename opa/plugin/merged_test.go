// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/regometer/regometer/rollup"
)

// checkWarnings compares the plugin's warnings, and forgets them.
func (p *Plugin) checkWarnings(t *testing.T, what string, want ...string) {
	t.Helper()
	got := strings.Split(strings.TrimSuffix(p.logged(logging.Warn), "\n"), "\n")
	got = slices.DeleteFunc(got, func(line string) bool { return !strings.Contains(line, "label") })
	if !slices.Equal(got, want) {
		t.Errorf("%s: the warnings are\n%q, want\n%q", what, got, want)
	}
}

const (
	asked  = "Clients ask for a path that has no label of its own for lack of room: "
	taken  = "A new policy takes the labels of paths with decisions: "
	remedy = ". To give each its own label, put this into plugins.regometer: "
)

// The plugin warns once of each merged path that clients ask for, and of each
// path with decisions that loses its label.
func TestWarningsAboutLabels(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newPlugin(t, `{"max_paths": 3, "paths": {"prefixes": ["t/*"]}}`, registry)
	ask := func(paths ...string) {
		for _, path := range paths {
			p.log(t, logs.EventV1{Path: path})
		}
	}
	lost := func(want float64) {
		t.Helper()
		checkSum(t, registry, "opa_decision_labels_lost_total", nil, want)
	}
	p.setPolicy(t, rules("a", "b", "c"))
	ask("p/a", "t/x", "nowhere", "")
	p.checkWarnings(t, "no merged path")
	ask("p/b", "p/b/x", "p/b")
	first := asked + "p/b counts as p" + remedy + `paths: {allow: ["p/b"], prefixes: ["t/*"]}`
	p.checkWarnings(t, "a merged path", first)
	ask("p/c")
	second := asked + "p/c counts as p" + remedy + `paths: {allow: ["p/b","p/c"], prefixes: ["t/*"]}`
	p.checkWarnings(t, "another one", first, second)
	lost(0)

	p.setPolicy(t, "package p\nz := input.z\nb := input.b")
	third := taken + "p/a counts as other" + remedy + `paths: {allow: ["p/c","p/a"], prefixes: ["t/*"]}`
	p.checkWarnings(t, "a path is gone", first, second, third)
	lost(1)
	p.setPolicy(t, rules("b", "c", "z")) // p/b has no decisions under its label
	ask("p/b", "p/z")
	fourth := asked + "p/z counts as p" + remedy + `paths: {allow: ["p/c","p/a","p/z"], prefixes: ["t/*"]} ` +
		"(paths.allow and paths.prefixes name 4 labels, but max_paths is 3: raise max_paths to 4, or name fewer)"
	p.checkWarnings(t, "too many", first, second, third, fourth)
	lost(1)

	// The line in the warning keeps its promise.
	_, line, _ := strings.Cut(second, remedy)
	var config any
	if err := util.Unmarshal([]byte(line), &config); err != nil {
		t.Fatal(err)
	}
	c, err := parseConfig(util.MustMarshalJSON(config))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"p/b", "p/c/x", "t/x"} {
		if l, _ := newLabels(c, compile(t, rules("a", "b", "c"))).of(path, ""); l.merged != nil || l.name == rollup.Other {
			t.Errorf("with %s, the label of %s is %q, want its own", line, path, l.name)
		}
	}
}

// A client that asks for every path of a policy does not fill the log.
func TestWarningsAboutLabelsAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlugin(t, `{"max_paths": 1}`, prometheus.NewRegistry())
	var names []string
	for i := range 3 * mostWarned {
		names = append(names, fmt.Sprint("r", i))
	}
	p.setPolicy(t, rules(names...))
	for _, name := range names {
		p.log(t, logs.EventV1{Path: "p/" + name})
	}
	warnings := p.logged(logging.Warn)
	if n := strings.Count(warnings, asked); n != mostWarned {
		t.Errorf("there are %d warnings, want %d", n, mostWarned)
	}
	if !strings.HasSuffix(warnings, " There are no more such warnings until the next start.\n") {
		t.Errorf("the last warning does not say so: %q", warnings)
	}
}

// The decisions of logs warn in the same way, once, and only if they count.
func TestLogCounterWarns(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c, err := NewLogCounter(prometheus.NewRegistry(), []byte(`{"max_paths": 2}`), "", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		if got := slices.Collect(strings.Lines(log.String())); !slices.EqualFunc(got, want, strings.Contains) {
			t.Fatalf("the log has %q, want %q", got, want)
		}
		log.Reset()
	}
	c.SetPolicy(compile(t, rules("a", "b", "c")))
	check(`level=INFO msg="The policy has 3 paths`)
	c.SetPolicy(compile(t, rules("c", "b", "a")))
	check()
	b := c.NewBatch()
	for i, end := range []func(){b.Reset, b.Count, b.Count} {
		for _, path := range []string{"p/a", "p/b", "p/b/x"} {
			b.Add(rollup.Decision{Path: path})
		}
		if end(); i == 0 {
			check()
		}
	}
	check(`level=WARN msg="` + asked + "p/b counts as p" + remedy)
	c.SetPolicy(compile(t, rules("z")))
	check(`level=WARN msg="` + taken + "p/a counts as other" + remedy)
}
