// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v2"
)

// A ruleTest is a file for promtool test rules, as far as ours go. The tests
// evaluate it as promtool does, which takes minutes to build: without -short
// promtool itself does it too.
type ruleTest struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	GroupEvalOrder     []string       `yaml:"group_eval_order"`
	Tests              []struct {
		Name        string         `yaml:"name"`
		Interval    model.Duration `yaml:"interval"`
		InputSeries []struct {
			Series string `yaml:"series"`
			Values string `yaml:"values"`
		} `yaml:"input_series"`
		Alerts []struct {
			Name     string         `yaml:"alertname"`
			EvalTime model.Duration `yaml:"eval_time"`
			Expected []struct {
				Labels      map[string]string `yaml:"exp_labels"`
				Annotations map[string]string `yaml:"exp_annotations"`
			} `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

// ruleTests are the files in dashboards/tests.
func ruleTests(t *testing.T) map[string]ruleTest {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "dashboards", "tests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of rules found: %v", err)
	}
	tests := map[string]ruleTest{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var test ruleTest
		if err := yaml.UnmarshalStrict(text, &test); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, name := range test.RuleFiles {
			test.RuleFiles[i] = filepath.Join(filepath.Dir(file), name)
		}
		tests[filepath.Base(file)] = test
	}
	return tests
}

// inClassicForm returns the same test of the rules over classic histograms.
func (r ruleTest) inClassicForm() ruleTest {
	r.RuleFiles = slices.Clone(r.RuleFiles)
	for i, file := range r.RuleFiles {
		if filepath.Base(file) == filepath.Base(nativeRules) {
			r.RuleFiles[i] = classicRules
		}
	}
	return r
}

// TestAlerts: each alert fires on its fault, with the text that is expected,
// and on nothing that is beside it.
func TestAlerts(t *testing.T) {
	t.Parallel()
	positive, negative := map[string]bool{}, map[string]bool{}
	for file, test := range ruleTests(t) {
		for _, group := range test.Tests {
			for _, alert := range group.Alerts {
				positive[alert.Name] = positive[alert.Name] || len(alert.Expected) > 0
				negative[alert.Name] = true // what is not expected must not be there
			}
		}
		for form, test := range map[string]ruleTest{"native": test, "classic": test.inClassicForm()} {
			t.Run(file+"/"+form, func(t *testing.T) {
				t.Parallel()
				test.run(t)
			})
		}
	}
	for _, name := range alertNames(t) {
		if !positive[name] || !negative[name] {
			t.Errorf("dashboards/tests has no test that %s fires", name)
		}
	}
}

// run evaluates the rules from the beginning to the last moment that is tested.
func (r ruleTest) run(t *testing.T) {
	for _, group := range r.Tests {
		var input strings.Builder
		fmt.Fprintf(&input, "load %v\n", group.Interval)
		for _, s := range group.InputSeries {
			fmt.Fprintf(&input, "  %s %s\n", s.Series, s.Values)
		}
		end := time.Duration(0)
		for _, alert := range group.Alerts {
			end = max(end, time.Duration(alert.EvalTime))
		}
		r.evaluate(t, input.String(), end, func(now time.Duration, all []rules.Rule, _ query) {
			for _, alert := range group.Alerts {
				if time.Duration(alert.EvalTime).Truncate(time.Duration(r.EvaluationInterval)) != now {
					continue
				}
				var got, want []string
				for _, a := range firing(all) {
					if a.Labels.Get(labels.AlertName) == alert.Name {
						got = append(got, fmt.Sprint(a.Labels, a.Annotations))
					}
				}
				for _, e := range alert.Expected {
					e.Labels[labels.AlertName] = alert.Name
					want = append(want, fmt.Sprint(labels.FromMap(e.Labels), labels.FromMap(e.Annotations)))
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s after %v: %s\nwant %s", group.Name, alert.Name, now, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// A query asks at one moment.
type query func(expr string) promql.Vector

// evaluate evaluates the rules as time goes by, and tells of each moment.
func (r ruleTest) evaluate(t *testing.T, input string, end time.Duration, at func(now time.Duration, all []rules.Rule, ask query)) {
	t.Helper()
	suite, err := promqltest.NewLazyLoader(input, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Close()
	suite.SubqueryInterval = time.Duration(r.EvaluationInterval)
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), Appendable: suite.Storage(),
		Context: t.Context(), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger: promslog.NewNopLogger(), Parser: parser.NewParser(parser.Options{}),
	})
	byName, errs := m.LoadGroups(time.Duration(r.EvaluationInterval), labels.EmptyLabels(), "", nil, false, r.RuleFiles...)
	if errs != nil {
		t.Fatal(errs)
	}
	var groups []*rules.Group
	var all []rules.Rule
	for _, name := range r.GroupEvalOrder {
		for _, g := range byName {
			if g.Name() == name {
				groups, all = append(groups, g), append(all, g.Rules()...)
			}
		}
	}
	if len(groups) != len(byName) {
		t.Fatalf("group_eval_order has not the %d groups of the rules", len(byName))
	}
	for now := time.Duration(0); now <= end; now += time.Duration(r.EvaluationInterval) {
		moment := time.Unix(0, 0).UTC().Add(now)
		suite.WithSamplesTill(moment, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				g.Eval(suite.Context(), moment)
			}
		})
		for _, rule := range all {
			if err := rule.LastError(); err != nil {
				t.Fatalf("rule %s after %v: %v", rule.Name(), now, err)
			}
		}
		at(now, all, func(expr string) promql.Vector {
			v, err := rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage())(suite.Context(), expr, moment)
			if err != nil {
				t.Fatalf("%s: %v", expr, err)
			}
			return v
		})
	}
}

// firing returns the alerts that are firing.
func firing(all []rules.Rule) (alerts []*rules.Alert) {
	for _, rule := range all {
		if rule, ok := rule.(*rules.AlertingRule); ok {
			for _, a := range rule.ActiveAlerts() {
				if a.State == rules.StateFiring {
					alerts = append(alerts, a)
				}
			}
		}
	}
	return alerts
}
