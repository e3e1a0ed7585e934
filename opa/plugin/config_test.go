// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "null", ` {"paths": true} `, `{"paths": {}}`} {
		if c, err := parseConfig([]byte(text)); err != nil || !reflect.DeepEqual(c, defaultConfig()) {
			t.Errorf("%q: the configuration is %+v, %v, want the default", text, c, err)
		}
	}
	got, err := parseConfig([]byte(`{
		"namespace": "policy", "max_paths": 10, "max_series": 2000, "path_stages": ["my_stage"], "counters": ["mine"],
		"paths": {"enabled": true, "from_policy": false, "allow": ["a/b"], "prefixes": ["c/*"]},
		"classic_buckets": [0.001, 1], "next": "file_logger",
		"stages": [{"name": "my_stage", "parent": "rego_query_eval", "help": "Mine."}]
	}`))
	want := &settings{
		Namespace: "policy", MaxPaths: 10, MaxSeries: 2000, PathStages: []string{"my_stage"}, Counters: []string{"mine"},
		Paths:          paths{Enabled: true, Allow: []string{"a/b"}, Prefixes: []string{"c/*"}},
		ClassicBuckets: []float64{0.001, 1}, bounds: []int64{1e6, 1e9}, Next: "file_logger",
		Stages: []rollup.Stage{{Name: "my_stage", Parent: "rego_query_eval", Help: "Mine."}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the configuration is %+v, %v, want %+v", got, err, want)
	}
	for _, text := range []string{
		`{"max_paths": 10000, "max_series": 1000000}`, `{"max_paths": 10000, "paths": false}`,
		`{"max_paths": 2, "paths": {"allow": ["a"], "prefixes": ["b", "/a"]}}`, // as many labels as max_paths
	} {
		if _, err := parseConfig([]byte(text)); err != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
	}
	if c, err := parseConfig([]byte(`{"paths": false, "classic_buckets": [], "path_stages": []}`)); err != nil || c.Paths.Enabled || c.PathStages == nil || len(c.PathStages) != 0 || len(c.bounds) != 0 {
		t.Errorf("the configuration is %+v, %v, want no paths, buckets or stages", c, err)
	}
}

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                                             "plugins.regometer: it is not valid JSON",
		`{} {}`:                                         "it is not valid JSON",
		`[]`:                                            "plugins.regometer: the value must be an object, not a list",
		`{"max_path": 5}`:                               `plugins.regometer: unknown key "max_path"`,
		`{"paths": {"alow": []}}`:                       `plugins.regometer: paths: unknown key "alow"`,
		`{"stages": [{"nam": "x"}]}`:                    `unknown key "nam"`,
		`{"max_paths": "fifty"}`:                        "plugins.regometer: max_paths: the value must be a whole number, not a string",
		`{"max_paths": 0}`:                              "plugins.regometer.max_paths must be a whole number from 1 to 10000, not 0",
		`{"max_paths": 10001}`:                          "not 10001",
		`{"max_paths": 1.5}`:                            "max_paths: the value must be a whole number, not 1.5",
		`{"max_series": 1000001}`:                       "plugins.regometer.max_series must be a whole number from 1 to 1000000, not 1000001",
		`{"max_paths": 0, "max_series": 0}`:             "max_series must be a whole number", // both
		`{"namespace": "my-opa"}`:                       `plugins.regometer.namespace must be a string that matches ^[a-zA-Z_][a-zA-Z0-9_]*$, not "my-opa"`,
		`{"namespace": ""}`:                             `not ""`,
		`{"paths": "yes"}`:                              "plugins.regometer: paths: the value must be true, false or an object, not a string",
		`{"paths": {"enabled": 1}}`:                     "plugins.regometer: paths: enabled: the value must be true or false, not a number",
		`{"paths": {"allow": "a"}}`:                     "allow: the value must be a list, not a string",
		`{"classic_buckets": [1, 1]}`:                   "plugins.regometer.classic_buckets: prom: bound 1 is 1, after 1: bounds must ascend",
		`{"classic_buckets": [0]}`:                      "bound 0 is 0: a bound must be a positive number",
		`{"classic_buckets": [1e-10]}`:                  "bound 0 is 1e-10: a bound must be a whole number of nanoseconds",
		`{"stages": [{"parent": "x"}]}`:                 `plugins.regometer.stages[0]: "" is not a valid name`,
		`{"stages": [{"name": "timer_lookup_ns"}]}`:     `plugins.regometer.stages must be the timer's name without "timer_" and "_ns", not "timer_lookup_ns"`,
		`{"path_stages": ["timer_rego_query_eval_ns"]}`: `plugins.regometer.path_stages[0]: "timer_rego_query_eval_ns" is not in the table of stages`,
		`{"counters": [""]}`:                            `plugins.regometer.counters[0]: "" is not a valid name`,
		`{"counters": ["counter_hits"]}`:                `plugins.regometer.counters must be the counter's name without "counter_", not "counter_hits"`,
		`{"outcomes": {"a": "granted"}}`:                "plugins.regometer.outcomes: a: ",
		`{"next": "regometer"}`:                         `plugins.regometer.next must be the name of another plugin, not "regometer"`,
		`{"max_paths": 2, "paths": {"allow": ["a", "b"], "prefixes": ["c", "/a"]}}`: "paths.allow and paths.prefixes name 3 labels, but max_paths is 2: raise max_paths to 3, or",
		`{"paths": {"prefixes": ["rb*"]}}`:                                          `plugins.regometer.paths.prefixes must be a path below data, in which * may stand for one whole segment`,
	} {
		if c, err := parseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, error %v, want %q", text, c, err, want)
		}
	}
	const want = "plugins.regometer.paths.allow must be a path below data, such as rbac/allow, without *, not "
	for _, path := range []string{
		"", "/", "tenants/*", "a%ff", strings.Repeat("x", 1025), "data", "/v1/data/", "data/rbac/allow", "data.rbac.allow",
		`data["rbac"].allow`, "/v1/data/rbac/allow", "v0/data/rbac", "/v1/compile/rbac/allow", "http://localhost:8181/v1/data/rbac/allow",
	} {
		if _, err := parseConfig(fmt.Appendf(nil, `{"paths": {"allow": ["ok", %q]}}`, path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the path %.99q is not refused: %v", path, err)
		}
	}
	if _, err := parseConfig([]byte(`{"paths": {"allow": ["database/x", "v1/x", "data_x", "x/data/y"]}}`)); err != nil {
		t.Errorf("paths that look like those of requests are refused: %v", err)
	}
}

// A refused configuration is accepted with the max_series that the error asks
// for, and with no less.
func TestMaxSeries(t *testing.T) {
	t.Parallel()
	series, err := prom.MaxSeries(withMaxPaths(500).rollupOptions())
	if err != nil {
		t.Fatal(err)
	}
	series += ownSeries + maxRevisions
	for _, missing := range []int{0, 1, 1000} {
		want := fmt.Sprintf("there can be %d series: raise max_series by %d or more", series, missing)
		_, err := parseConfig(fmt.Appendf(nil, `{"max_paths": 500, "max_series": %d}`, series-missing))
		if (err == nil) != (missing == 0) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %d series fewer than there can be: error %v, want %q", missing, err, want)
		}
	}
}

// The plugin's own series reach their bound exactly, and the metric of the
// number of series has them. Package prom tests the others.
func TestOwnSeries(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	r := newRecorder(t, registry, defaultConfig(), compile(t, rules("a")))
	r.revisions = func() (all []revision) {
		for n := range maxRevisions {
			all = append(all, revision{fmt.Sprint("bundle", n), "1"})
		}
		return all
	}
	r.ask("p/a")
	for n, want := range []int{ownSeries + maxRevisions - 1, ownSeries + maxRevisions} {
		r.state.logged.Store(uint64(n)) // no event of a decision log, and one
		if own, others := r.state.exporter.own(); len(own)+others != want {
			t.Errorf("there are %d series of the plugin's own, want %d", len(own)+others, want)
		}
		all, err := testutil.GatherAndCount(registry) // there are no histograms
		if err != nil {
			t.Fatal(err)
		}
		checkSum(t, registry, "opa_decision_metric_series", nil, float64(all))
	}
	r.ask("p/a", rollup.Number{Key: "timer_server_handler_ns", Value: 1})
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("the metrics have the problems %v, %v", problems, err)
	}
}

// docs/operating.md and the package comment show every key.
func TestKeysDocumented(t *testing.T) {
	t.Parallel()
	for file, form := range map[string]string{"doc.go": "\n//\t%[2]*[1]s%[3]s:", "../../docs/operating.md": "\n| `%[4]s` |"} {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // outside the repository
		}
		if err != nil {
			t.Fatal(err)
		}
		check := func(indent int, prefix string, keys reflect.Type) {
			for i := range keys.NumField() {
				name := keys.Field(i).Tag.Get("json")
				if name != "" && !strings.Contains(string(text), fmt.Sprintf(form, "", indent, name, prefix+name)) {
					t.Errorf("%s does not show the key %s", file, prefix+name)
				}
			}
		}
		check(4, "", reflect.TypeFor[settings]())
		check(6, "paths.", reflect.TypeFor[paths]())
	}
}
