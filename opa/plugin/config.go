// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// settings are the plugin's configuration. They are valid and have the defaults
// filled in.
type settings struct {
	// Namespace begins the names of all metrics.
	Namespace string
	// Paths says which decision paths get a label.
	Paths paths
	// MaxPaths limits the values of the label path, except the values that
	// always exist.
	MaxPaths int
	// PathStages are the stages whose durations are kept by path.
	PathStages []string
	// MaxSeries limits the series of a scrape by text.
	MaxSeries int
	// ClassicBuckets has the upper bounds of the classic buckets, in
	// nanoseconds.
	ClassicBuckets []int64
	// Stages extends the known stages. A Stage replaces a known one with the
	// same name.
	Stages []rollup.Stage
	// Counters extends the known counters.
	Counters []string
	// Outcomes finds the outcomes of results. nil stands for the usual ones.
	Outcomes *verdicts.Set
	// Next names the logger plugin that gets each event after this one, or is
	// "".
	Next string
}

// paths says which decision paths get a label of their own. The others have
// the label "other".
type paths struct {
	// Enabled turns path labels on. If it is false, every decision has the
	// path "all".
	Enabled bool
	// FromPolicy gives a label to each path for which the policy has rules.
	FromPolicy bool
	// Allow lists paths that get a label.
	Allow []string
	// Prefixes lists patterns. A path that begins with a pattern gets the
	// pattern as its label. A segment "*" stands for any one segment.
	Prefixes []string
}

// A key is one entry of the configuration.
type key[T any] struct {
	name  string
	want  string // the allowed values
	value string // the default, as YAML
	help  string
	set   func(*T, value) error
}

// configKeys are the keys of plugins.regometer. TestKeysDocumented makes the
// table in docs/operating.md from them.
var configKeys = []key[settings]{
	{
		"namespace", "letters, digits and `_`, no digit first", "opa",
		"begins the names of all metrics",
		func(c *settings, v value) error {
			return scalar(v, &c.Namespace, "a string that matches "+namespace.String(), namespace.MatchString)
		},
	},
	{
		"paths", "`true`, `false`, or an object with the keys below", "true",
		"whether metrics have the path of the decision as a label; if not, each decision has the path `all`",
		func(c *settings, v value) error {
			if _, ok := v.v.(bool); ok {
				return v.boolean(&c.Paths.Enabled)
			}
			return object(v, &c.Paths, pathKeys, "true, false or an object")
		},
	},
	{
		"path_stages", "a list of [stages](#all-stages); `[]` for none", "[server_handler, rego_query_eval]",
		"the stages with durations by path; other stages have only durations over all paths",
		func(c *settings, v value) error {
			return v.names(&c.PathStages, "a stage's name, such as rego_query_eval")
		},
	},
	{
		"max_paths", "a whole number from 1 to 10000", "50",
		"the largest number of paths with a label; if the policy has more, they are merged into their packages",
		func(c *settings, v value) error { return v.integer(&c.MaxPaths, 10_000) },
	},
	{
		"max_series", "a whole number from 1 to 1000000", "3500",
		"the largest number of series in a scrape by text; a configuration that could have more is refused",
		func(c *settings, v value) error { return v.integer(&c.MaxSeries, 1_000_000) },
	},
	{
		"classic_buckets", "a list of increasing seconds; `[]` for none", "17, from 50 µs to 10 s",
		"upper bounds of the classic histogram buckets, which scrapes by text see; native histograms need none",
		func(c *settings, v value) error { return v.bounds(&c.ClassicBuckets) },
	},
	{
		"stages", "a list of objects with `name`, `parent` and `help`", "[]",
		"timers of your own: the stage, the stage that contains it, and what it measures; unknown timers are `other`",
		func(c *settings, v value) error {
			return list(v, &c.Stages, func(v value, s *rollup.Stage) error {
				err := object(v, s, stageKeys, "an object")
				if err == nil && s.Name == "" {
					err = v.refuse(`an object with a "name"`)
				}
				return err
			})
		},
	},
	{
		"counters", "a list of names", "[]",
		"counters of your own, or of another OPA, that get a label; unknown counters are `other`",
		func(c *settings, v value) error { return v.names(&c.Counters, "a counter's name") },
	},
	{
		"outcomes", "rules by path, such as `app/main: result.granted`", "{}",
		"how to tell allowed from denied where a result has [another form](#outcomes)",
		func(c *settings, v value) error { return v.verdicts(&c.Outcomes) },
	},
	{
		"next", "a plugin's name", "none",
		"the logger plugin, under `plugins` too, that gets each event of the decision log after this one",
		func(c *settings, v value) error { return v.text(&c.Next) },
	},
}

var pathKeys = []key[paths]{
	{
		"enabled", "`true` or `false`", "true",
		"the same as `paths: true` and `paths: false`",
		func(p *paths, v value) error { return v.boolean(&p.Enabled) },
	},
	{
		"from_policy", "`true` or `false`", "true",
		"whether each path for which the policy has rules gets a label, cut to the rule",
		func(p *paths, v value) error { return v.boolean(&p.FromPolicy) },
	},
	{
		"allow", "a list of paths, such as `rbac/allow`", "[]",
		"these paths get a label whatever the policy says",
		func(p *paths, v value) error { return v.paths(&p.Allow, false) },
	},
	{
		"prefixes", "a list of patterns, such as `tenants/*/authz`", "[]",
		"paths that begin with a pattern have the pattern as their label; `*` stands for one segment",
		func(p *paths, v value) error { return v.paths(&p.Prefixes, true) },
	},
}

var stageKeys = []key[rollup.Stage]{
	{"name", "", "", "", func(s *rollup.Stage, v value) error { return v.name(&s.Name, "a stage's name") }},
	{"parent", "", "", "", func(s *rollup.Stage, v value) error { return v.name(&s.Parent, "a stage's name") }},
	{"help", "", "", "", func(s *rollup.Stage, v value) error { return v.text(&s.Help) }},
}

// namespace matches valid namespaces.
var namespace = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// defaultConfig returns the configuration of `regometer: {}`.
func defaultConfig() *settings {
	return &settings{
		Namespace: "opa",
		Paths:     paths{Enabled: true, FromPolicy: true},
		MaxPaths:  50, MaxSeries: 3500,
		PathStages: []string{"server_handler", "rego_query_eval"}, ClassicBuckets: prom.DefaultBounds(),
	}
}

// parseConfig reads the configuration, which is JSON or empty. It fails if a
// key or value is invalid. The error names every such key.
func parseConfig(text []byte) (*settings, error) {
	c := defaultConfig()
	var v any
	if len(bytes.TrimSpace(text)) > 0 {
		if err := util.UnmarshalJSON(text, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", configPath, err)
		}
	}
	if v == nil {
		return c, nil
	}
	if err := object(value{configPath, v}, c, configKeys, "an object"); err != nil {
		return nil, err
	}
	if c.Next == Name {
		return nil, value{configPath + ".next", Name}.refuse("the name of another plugin")
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", configPath, err)
	}
	return c, nil
}

const configPath = "plugins." + Name

// A value is a part of the configuration.
type value struct {
	at string // the place of the value, such as plugins.regometer.max_paths
	v  any    // as encoding/json returns it, with numbers as json.Number
}

// refuse returns an error that says what the value must be.
func (v value) refuse(want string) error {
	const longest = 60          // limits the bytes of a value that an error shows
	got, _ := json.Marshal(v.v) // never fails, because v.v comes from JSON
	if len(got) > longest {
		got = append(got[:longest:longest], "…"...)
	}
	return fmt.Errorf("%s must be %s, not %s", v.at, want, got)
}

// object sets the fields of into from an object. It returns an error for each
// invalid field and unknown key.
func object[T any](v value, into *T, keys []key[T], want string) error {
	fields, ok := v.v.(map[string]any)
	if !ok {
		return v.refuse(want)
	}
	var errs []error
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
		if field, ok := fields[k.name]; ok {
			errs = append(errs, k.set(into, value{v.at + "." + k.name, field}))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("%s: unknown key %q%s; the keys are %s", v.at, name, hint(name, names), strings.Join(names, ", ")))
		}
	}
	return errors.Join(errs...)
}

// hint suggests the known name that is most similar to an unknown one. It
// returns "" if no name is similar enough.
func hint(unknown string, known []string) string {
	distance := func(name string) int { return levenshtein.ComputeDistance(unknown, name) }
	nearest := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	if distance(nearest) > 1+len(nearest)/3 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", nearest)
}

// list sets into to the elements of a list. set converts an element.
func list[T any](v value, into *[]T, set func(value, *T) error) error {
	elements, ok := v.v.([]any)
	if !ok {
		return v.refuse("a list")
	}
	*into = make([]T, len(elements))
	var errs []error
	for i, element := range elements {
		errs = append(errs, set(value{fmt.Sprintf("%s[%d]", v.at, i), element}, &(*into)[i]))
	}
	return errors.Join(errs...)
}

// scalar sets into to a value. It returns an error if the value is not a T or
// not valid.
func scalar[T any](v value, into *T, want string, valid func(T) bool) error {
	t, ok := v.v.(T)
	if !ok || !valid(t) {
		return v.refuse(want)
	}
	*into = t
	return nil
}

func (v value) boolean(to *bool) error {
	return scalar(v, to, "true or false", func(bool) bool { return true })
}

func (v value) text(to *string) error {
	return scalar(v, to, "a string that is not empty", func(s string) bool { return s != "" })
}

// number returns NaN if the value is not a number.
func (v value) number() float64 {
	n, _ := v.v.(json.Number)
	f, err := n.Float64()
	if err != nil {
		return math.NaN()
	}
	return f
}

func (v value) integer(to *int, highest int) error {
	f := v.number()
	if f != math.Trunc(f) || f < 1 || f > float64(highest) {
		return v.refuse(fmt.Sprintf("a whole number from 1 to %d", highest))
	}
	*to = int(f)
	return nil
}

func (v value) bounds(to *[]int64) error {
	last, seconds := 0.0, []float64(nil)
	err := list(v, &seconds, func(v value, bound *float64) error {
		*bound = v.number()
		if !(*bound > last) { // NaN too
			return v.refuse("a number of seconds above 0 and above the one before it")
		}
		last = *bound
		return nil
	})
	if err != nil {
		return err
	}
	if *to, err = prom.Bounds(seconds...); err != nil {
		return fmt.Errorf("%s: %w", v.at, err)
	}
	return nil
}

func (v value) names(to *[]string, want string) error {
	return list(v, to, func(v value, name *string) error { return v.name(name, want) })
}

// name sets the name of a stage or counter. It refuses keys, such as
// timer_rego_query_eval_ns, because they would never match.
func (v value) name(to *string, want string) error {
	s, ok := v.v.(string)
	if !ok || s == "" {
		return v.refuse(want)
	}
	name := strings.TrimPrefix(s, "counter_")
	if strings.HasPrefix(s, "timer_") && strings.HasSuffix(s, "_ns") {
		name = strings.TrimSuffix(strings.TrimPrefix(s, "timer_"), "_ns")
	}
	if name != s {
		return v.refuse(fmt.Sprintf("%s: write %q", want, name))
	}
	*to = s
	return nil
}

// paths sets paths, or patterns. It refuses paths that can never match.
func (v value) paths(to *[]string, patterns bool) error {
	return list(v, to, func(v value, path *string) error {
		s, _ := v.v.(string)
		meant := belowData(s)
		if first, _ := cutSegment(meant); first == "" {
			return v.refuse("a path below data, such as rbac/allow")
		}
		if label := canonical(s); len(label) > longestLabel || !utf8.ValidString(label) {
			return v.refuse(fmt.Sprintf("a path of at most %d bytes, in UTF-8", longestLabel))
		}
		if meant != s {
			return v.refuse(fmt.Sprintf("a path below data: write %q", meant))
		}
		for segment := range strings.SplitSeq(s, "/") {
			switch {
			case !strings.Contains(segment, "*"):
			case !patterns:
				return v.refuse("a path without *: patterns belong to paths.prefixes")
			case segment != "*":
				return v.refuse("a pattern in which * stands for one whole segment, such as tenants/*/authz; a pattern always includes the paths below it")
			}
		}
		*path = s
		return nil
	})
}

// verdicts sets the verdicts from an object with rules by path.
func (v value) verdicts(to **verdicts.Set) error {
	fields, ok := v.v.(map[string]any)
	if !ok {
		return v.refuse("an object with rules by path")
	}
	rules := map[string]string{}
	for path, rule := range fields {
		if rules[path], ok = rule.(string); !ok {
			return value{v.at + "." + path, rule}.refuse("a rule such as result.granted")
		}
	}
	var err error
	if *to, err = verdicts.New(rules); err != nil {
		return fmt.Errorf("%s: %w", v.at, err)
	}
	return nil
}

// belowData returns the path below data that somebody means who writes a path
// as in a request or as in Rego. It returns "" for all of data. It returns
// other paths unchanged.
func belowData(path string) string {
	if scheme, rest, ok := strings.Cut(path, "://"); ok && (scheme == "http" || scheme == "https") {
		_, path, _ = strings.Cut(rest, "/")
	}
	p := strings.TrimPrefix(path, "/")
	for _, root := range [...]string{"v1/data", "v0/data", "v1/compile", "data"} {
		if rest, ok := strings.CutPrefix(p, root); ok && (rest == "" || rest[0] == '/') {
			return strings.TrimPrefix(rest, "/")
		}
	}
	if ref, err := ast.ParseRef(p); err == nil && ref.HasPrefix(ast.DefaultRootRef) {
		return pathOf(ref)
	}
	if rest, ok := strings.CutPrefix(p, "data."); ok && !strings.Contains(rest, "/") {
		return strings.ReplaceAll(rest, ".", "/") // a pattern with *, which is not a valid reference
	}
	return path
}

// rollupOptions returns the options of the rollup.
func (c *settings) rollupOptions() rollup.Options {
	paths := 1
	if c.Paths.Enabled {
		paths = c.MaxPaths + unnamed
	}
	return rollup.Options{Paths: paths, Stages: c.Stages, Counters: c.Counters, PathStages: c.PathStages, Bounds: c.ClassicBuckets}
}

// check returns an error if the configuration names too many labels, if its
// rollup is invalid, or if there could be more than MaxSeries series.
func (c *settings) check() error {
	if n := len(c.Paths.labels()); n > c.MaxPaths {
		return fmt.Errorf("paths.allow and paths.prefixes name %d labels, but max_paths is %d: raise max_paths to %d, or name fewer",
			n, c.MaxPaths, n)
	}
	series, err := prom.MaxSeries(c.rollupOptions())
	if err != nil {
		return err
	}
	if series += ownSeries + maxRevisions; series > c.MaxSeries {
		return fmt.Errorf("max_series is %d, but with max_paths %d, %d path_stages and %d classic_buckets there can be %d series: "+
			"raise max_series by %d or more, or lower the others",
			c.MaxSeries, c.MaxPaths, len(c.PathStages), len(c.ClassicBuckets), series, series-c.MaxSeries)
	}
	return nil
}
