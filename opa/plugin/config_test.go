// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"flag"
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
	bounds, err := prom.Bounds(0.001, 1)
	if err != nil {
		t.Fatal(err)
	}
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
		ClassicBuckets: bounds, Next: "file_logger",
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
	if c, err := parseConfig([]byte(`{"paths": false, "classic_buckets": [], "path_stages": []}`)); err != nil || c.Paths.Enabled || c.PathStages == nil || len(c.PathStages) != 0 || len(c.ClassicBuckets) != 0 {
		t.Errorf("the configuration is %+v, %v, want no paths, buckets or stages", c, err)
	}
}

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                                "plugins.regometer: unexpected EOF",
		`{} {}`:                            "after top-level value",
		`[]`:                               "plugins.regometer must be an object, not []",
		`{"max_path": 5}`:                  `plugins.regometer: unknown key "max_path" (did you mean "max_paths"?); the keys are namespace, paths, path_stages, max_paths,`,
		`{"zzz": 5}`:                       `unknown key "zzz"; the keys are`,
		`{"paths": {"alow": []}}`:          `plugins.regometer.paths: unknown key "alow" (did you mean "allow"?); the keys are enabled, from_policy, allow, prefixes`,
		`{"max_paths": "fifty"}`:           `plugins.regometer.max_paths must be a whole number from 1 to 10000, not "fifty"`,
		`{"max_paths": 0}`:                 "from 1 to 10000, not 0",
		`{"max_paths": null}`:              "not null",
		`{"max_paths": 10001}`:             "not 10001",
		`{"max_series": 1000001}`:          "plugins.regometer.max_series must be a whole number from 1 to 1000000, not 1000001",
		`{"max_paths": 1.5}`:               "not 1.5",
		`{"namespace": "my-opa"}`:          `plugins.regometer.namespace must be a string that matches ^[a-zA-Z_][a-zA-Z0-9_]*$, not "my-opa"`,
		`{"namespace": ""}`:                `not ""`,
		`{"paths": "yes"}`:                 `plugins.regometer.paths must be true, false or an object, not "yes"`,
		`{"paths": {"enabled": 1}}`:        "plugins.regometer.paths.enabled must be true or false, not 1",
		`{"paths": {"allow": "a"}}`:        `plugins.regometer.paths.allow must be a list, not "a"`,
		`{"paths": {"allow": ["a", "/"]}}`: `plugins.regometer.paths.allow[1] must be a path below data, such as rbac/allow, not "/"`,
		`{"classic_buckets": [1, 1]}`:      "plugins.regometer.classic_buckets[1] must be a number of seconds above 0 and above the one before it, not 1",
		`{"classic_buckets": [0]}`:         "plugins.regometer.classic_buckets[0] must be",
		`{"classic_buckets": ["1"]}`:       `plugins.regometer.classic_buckets[0] must be a number of seconds above 0 and above the one before it, not "1"`,
		`{"stages": [{"parent": "x"}]}`:    `plugins.regometer.stages[0] must be an object with a "name"`,
		`{"stages": [{"nam": "x"}]}`:       `unknown key "nam" (did you mean "name"?)`,
		`{"next": "regometer"}`:            `plugins.regometer.next must be the name of another plugin, not "regometer"`,
		`{"next": 1}`:                      "plugins.regometer.next must be a string that is not empty, not 1",
		`{"path_stages": [1]}`:             `plugins.regometer.path_stages[0] must be a stage's name, such as rego_query_eval, not 1`,
		`{"path_stages": ["eval"]}`:        `PathStages[0]: "eval" is not in the table of stages`,
		`{"counters": [""]}`:               `plugins.regometer.counters[0] must be a counter's name, not ""`,
		`{"classic_buckets": [1e-10]}`:     "classic_buckets: prom: bound 0 is 1e-10: a bound must be a whole number of nanoseconds",
		`{"max_paths": 2, "paths": {"allow": ["a", "b"], "prefixes": ["c", "/a"]}}`: "paths.allow and paths.prefixes name 3 labels, but max_paths is 2: raise max_paths to 3",
		`{"paths": {"allow": ["/v1/data/rbac/allow"]}}`:                             `paths.allow[0] must be a path below data: write "rbac/allow", not "/v1/data/rbac/allow"`,
		`{"paths": {"allow": ["v0/data/rbac"]}}`:                                    `write "rbac"`,
		`{"paths": {"allow": ["data/rbac/allow"]}}`:                                 `write "rbac/allow"`,
		`{"paths": {"prefixes": ["data.rbac.allow"]}}`:                              `write "rbac/allow"`,
		`{"paths": {"allow": ["/v1/compile/rbac/allow"]}}`:                          `write "rbac/allow"`,
		`{"paths": {"allow": ["http://localhost:8181/v1/data/rbac/allow"]}}`:        `write "rbac/allow"`,
		`{"paths": {"allow": ["data.rbac[\"a/b\"]"]}}`:                              `write "rbac/a%2Fb"`,
		`{"paths": {"prefixes": ["data.tenants.*.authz"]}}`:                         `write "tenants/*/authz"`,
		`{"paths": {"allow": ["/v1/data/"]}}`:                                       `must be a path below data, such as rbac/allow, not "/v1/data/"`,
		`{"paths": {"allow": ["data"]}}`:                                            `must be a path below data, such as rbac/allow, not "data"`,
		`{"path_stages": ["timer_rego_query_eval_ns"]}`:                             `path_stages[0] must be a stage's name, such as rego_query_eval: write "rego_query_eval"`,
		`{"stages": [{"name": "timer_lookup_ns"}]}`:                                 `stages[0].name must be a stage's name: write "lookup"`,
		`{"stages": [{"name": "lookup", "parent": "timer_rego_query_eval_ns"}]}`:    `parent must be a stage's name: write "rego_query_eval"`,
		`{"counters": ["counter_hits"]}`:                                            `counters[0] must be a counter's name: write "hits"`,
		`{"paths": {"prefixes": ["rb*"]}}`:                                          `paths.prefixes[0] must be a pattern in which * stands for one whole segment`,
		`{"paths": {"allow": ["tenants/*"]}}`:                                       "paths.allow[0] must be a path without *: patterns belong to paths.prefixes",
		`{"paths": {"allow": ["a%ff"]}}`:                                            "paths.allow[0] must be a path of at most 1024 bytes, in UTF-8",
		`{"paths": {"prefixes": ["` + strings.Repeat("x", 1025) + `"]}}`:            "paths.prefixes[0] must be a path of at most 1024 bytes, in UTF-8",
		`{"namespace": "` + long + `-"}`:                                            "…",
		`{"max_paths": 0, "max_series": 0}`:                                         "max_series must be a whole number",
	} {
		if c, err := parseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, error %v, want %q", text, c, err, want)
		}
	}
}

var long = strings.Repeat("long", 50)

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
		for n := range 2 * maxRevisions {
			all = append(all, revision{fmt.Sprint("bundle", n/2), "1"})
		}
		return append(all, revision{"one more", "1"})
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
	r.ask("p/a", rollup.Number{Key: handlerKey, Value: 1})
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("the metrics have the problems %v, %v", problems, err)
	}
}

var update = flag.Bool("update", false, "rewrite testdata/keys.md")

// The documentation has the table of keys that the code makes, and the package
// comment shows every key.
func TestKeysDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| key | values | default | meaning |\n|---|---|---|---|\n")
	write := func(prefix, indent, name, want, value, help string) {
		fmt.Fprintf(&b, "| `%s%s` | %s | `%s` | %s |\n", prefix, name, want, value, help)
		if !strings.Contains(string(doc), "\n//\t"+indent+name+":") {
			t.Errorf("doc.go does not show the key %s", name)
		}
	}
	for _, k := range configKeys {
		write("", "    ", k.name, k.want, k.value, k.help)
	}
	for _, k := range pathKeys {
		write("paths.", "      ", k.name, k.want, k.value, k.help)
	}
	const file = "testdata/keys.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{file, "../../docs/operating.md"} {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) && strings.HasSuffix(file, "operating.md") {
			continue
		}
		if err != nil || !strings.Contains(string(text), b.String()) {
			t.Errorf("%s lacks this table (go test -update writes testdata/keys.md), %v:\n%s", file, err, b.String())
		}
	}
}
