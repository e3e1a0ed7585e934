// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// Config is the plugin's configuration, checked and with the defaults filled
// in. [Factory.Validate] makes it.
type Config struct {
	// Namespace begins the names of all metrics.
	Namespace string
	// Paths says which decision paths get a label.
	Paths Paths
	// MaxPaths bounds the values of the label path, beside those that are
	// always there.
	MaxPaths int
	// PathStages are the stages whose durations are told apart by path.
	PathStages []string
	// MaxSeries bounds the series of a scrape by text.
	MaxSeries int
	// ClassicBuckets are upper bounds in seconds, increasing. nil is the
	// default; an empty list is none.
	ClassicBuckets []float64
	// Stages are added to the stages that are known, or replace them.
	Stages []rollup.Stage
	// Counters are added to the counters that are known.
	Counters []string
	// Next names the logger plugin that gets each event after this one.
	// "" is none.
	Next string
}

// Paths says which decision paths get a label of their own. The others are
// "other".
type Paths struct {
	// Enabled turns path labels on. If it is false every decision has the path
	// "all".
	Enabled bool
	// FromPolicy gives a label to paths that the compiled policy has rules for.
	FromPolicy bool
	// Allow lists paths that get a label, each as it is.
	Allow []string
	// Prefixes lists patterns: a path that begins with one gets the pattern as
	// its label. A segment "*" stands for any one segment.
	Prefixes []string
}

// A key is one entry of the configuration.
type key[T any] struct {
	name  string
	want  string // what values it takes
	value string // by default, as YAML
	help  string
	set   func(*T, value) error
}

// configKeys are the keys of plugins.regometer. The tables in the
// documentation are made of them.
var configKeys = []key[Config]{
	{
		"namespace", "letters, digits and `_`, no digit first", "opa",
		"begins the names of all metrics",
		func(c *Config, v value) error { return v.pattern(&c.Namespace, namespace) },
	},
	{
		"paths", "`true`, `false`, or an object with the keys below", "true",
		"whether decisions are told apart by path; if not, each has the path `all`",
		func(c *Config, v value) error {
			if _, ok := v.v.(bool); ok {
				return v.boolean(&c.Paths.Enabled)
			}
			return object(v, &c.Paths, pathKeys, "true, false or an object")
		},
	},
	{
		"path_stages", "a list of [stages](#all-stages); `[]` for none", "[server_handler, rego_query_eval]",
		"the stages whose durations are told apart by path; the others are told apart over all paths only",
		func(c *Config, v value) error {
			return v.names(&c.PathStages, "a stage's name, such as rego_query_eval")
		},
	},
	{
		"max_paths", "a whole number from 1 to 10000", "50",
		"how many paths get a label; if the policy has more, they are merged into their packages",
		func(c *Config, v value) error { return v.integer(&c.MaxPaths, 10_000) },
	},
	{
		"max_series", "a whole number from 1 to 1000000", "2500",
		"how many series a scrape by text has at most; a configuration that could have more is refused",
		func(c *Config, v value) error { return v.integer(&c.MaxSeries, 1_000_000) },
	},
	{
		"classic_buckets", "a list of increasing seconds; `[]` for none", "eleven, from 10 µs to 10 s",
		"upper bounds of the classic histogram buckets, which scrapes by text see; native histograms need none",
		func(c *Config, v value) error { return v.bounds(&c.ClassicBuckets) },
	},
	{
		"stages", "a list of objects with `name`, `parent` and `help`", "[]",
		"timers of your own: the stage, the stage that contains it, and what it measures; unknown ones are `other`",
		func(c *Config, v value) error {
			return v.each(func(v value) error {
				var s rollup.Stage
				if err := object(v, &s, stageKeys, "an object"); err != nil {
					return err
				}
				if s.Name == "" {
					return v.refuse(`an object with a "name"`)
				}
				c.Stages = append(c.Stages, s)
				return nil
			})
		},
	},
	{
		"counters", "a list of names", "[]",
		"counters of your own, or of another OPA, that get a label; unknown ones are `other`",
		func(c *Config, v value) error { return v.names(&c.Counters, "a counter's name") },
	},
	{
		"next", "a plugin's name", "none",
		"the logger plugin, under `plugins` too, that gets each event of the decision log after this one",
		func(c *Config, v value) error { return v.text(&c.Next) },
	},
}

var pathKeys = []key[Paths]{
	{
		"enabled", "`true` or `false`", "true",
		"as `paths: true` and `paths: false`",
		func(p *Paths, v value) error { return v.boolean(&p.Enabled) },
	},
	{
		"from_policy", "`true` or `false`", "true",
		"a path that the policy has rules for gets a label, cut to the rule",
		func(p *Paths, v value) error { return v.boolean(&p.FromPolicy) },
	},
	{
		"allow", "a list of paths, such as `rbac/allow`", "[]",
		"these get a label whatever the policy says",
		func(p *Paths, v value) error { return v.paths(&p.Allow, false) },
	},
	{
		"prefixes", "a list of patterns, such as `tenants/*/authz`", "[]",
		"paths that begin so share the pattern as their label; `*` stands for one segment",
		func(p *Paths, v value) error { return v.paths(&p.Prefixes, true) },
	},
}

var stageKeys = []key[rollup.Stage]{
	{"name", "", "", "", func(s *rollup.Stage, v value) error { return v.name(&s.Name, "a stage's name") }},
	{"parent", "", "", "", func(s *rollup.Stage, v value) error { return v.name(&s.Parent, "a stage's name") }},
	{"help", "", "", "", func(s *rollup.Stage, v value) error { return v.text(&s.Help) }},
}

// namespace is what a metric's name may begin with.
var namespace = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// defaultConfig returns the configuration of `regometer: {}`.
func defaultConfig() *Config {
	return &Config{
		Namespace: "opa",
		Paths:     Paths{Enabled: true, FromPolicy: true},
		MaxPaths:  50, MaxSeries: 2500,
		PathStages: rollup.DefaultPathStages(),
	}
}

// parseConfig reads the configuration, which is JSON, or nothing. The error
// names every key that is wrong.
func parseConfig(text []byte) (*Config, error) {
	c := defaultConfig()
	if len(bytes.TrimSpace(text)) == 0 {
		return c, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s: %w", configPath, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one JSON value", configPath)
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
	at string // where, such as plugins.regometer.max_paths
	v  any    // as encoding/json has it, numbers as json.Number
}

func (v value) refuse(want string) error {
	got, err := json.Marshal(v.v)
	if err != nil {
		got = fmt.Appendf(nil, "%v", v.v)
	}
	const longest = 60
	if len(got) > longest {
		got = append(got[:longest:longest], "…"...)
	}
	return fmt.Errorf("%s must be %s, not %s", v.at, want, got)
}

// object sets the fields of an object.
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
		errs = append(errs, checkKey(v.at, name, names))
	}
	return errors.Join(errs...)
}

// checkKey returns an error unless name is one of names.
func checkKey(at, name string, names []string) error {
	nearest, distance := "", len(name)
	for _, n := range names {
		if n == name {
			return nil
		}
		if d := editDistance(n, name); d < distance {
			nearest, distance = n, d
		}
	}
	hint := ""
	if nearest != "" && distance <= 1+len(nearest)/3 {
		hint = fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return fmt.Errorf("%s: unknown key %q%s; the keys are %s", at, name, hint, strings.Join(names, ", "))
}

// editDistance counts the bytes to insert, delete or replace to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

func (v value) boolean(to *bool) error {
	b, ok := v.v.(bool)
	if !ok {
		return v.refuse("true or false")
	}
	*to = b
	return nil
}

func (v value) text(to *string) error {
	s, ok := v.v.(string)
	if !ok || s == "" {
		return v.refuse("a string that is not empty")
	}
	*to = s
	return nil
}

func (v value) pattern(to *string, p *regexp.Regexp) error {
	s, ok := v.v.(string)
	if !ok || !p.MatchString(s) {
		return v.refuse("a string that matches " + p.String())
	}
	*to = s
	return nil
}

func (v value) number() (float64, bool) {
	n, ok := v.v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func (v value) integer(to *int, highest int) error {
	f, ok := v.number()
	if !ok || f != math.Trunc(f) || f < 1 || f > float64(highest) {
		return v.refuse(fmt.Sprintf("a whole number from 1 to %d", highest))
	}
	*to = int(f)
	return nil
}

// each calls f for each element of a list.
func (v value) each(f func(value) error) error {
	list, ok := v.v.([]any)
	if !ok {
		return v.refuse("a list")
	}
	var errs []error
	for i, element := range list {
		errs = append(errs, f(value{fmt.Sprintf("%s[%d]", v.at, i), element}))
	}
	return errors.Join(errs...)
}

func (v value) bounds(to *[]float64) error {
	bounds := []float64{}
	err := v.each(func(v value) error {
		f, ok := v.number()
		if !ok || f <= 0 || len(bounds) > 0 && f <= bounds[len(bounds)-1] {
			return v.refuse("a number of seconds above 0 and above the one before it")
		}
		bounds = append(bounds, f)
		return nil
	})
	*to = bounds
	return err
}

func (v value) names(to *[]string, want string) error {
	names := []string{}
	err := v.each(func(v value) error {
		var name string
		err := v.name(&name, want)
		names = append(names, name)
		return err
	})
	*to = names
	return err
}

// name reads the name of a stage or counter. The key that it has in OPA's maps
// is refused, since it would never match.
func (v value) name(to *string, want string) error {
	s, ok := v.v.(string)
	if !ok || s == "" {
		return v.refuse(want)
	}
	if name, ok := strings.CutPrefix(s, "counter_"); ok {
		return v.refuse(fmt.Sprintf("%s: write %q", want, name))
	}
	if name, ok := strings.CutPrefix(s, "timer_"); ok && strings.HasSuffix(name, "_ns") {
		return v.refuse(fmt.Sprintf("%s: write %q", want, strings.TrimSuffix(name, "_ns")))
	}
	*to = s
	return nil
}

// paths reads paths, or patterns. What can never match is refused.
func (v value) paths(to *[]string, patterns bool) error {
	var paths []string
	err := v.each(func(v value) error {
		s, ok := v.v.(string)
		if segment, _ := cutSegment(s); !ok || segment == "" {
			return v.refuse("a path below data, such as rbac/allow")
		}
		if label := canonical(s); len(label) > longestLabel || !utf8.ValidString(label) {
			return v.refuse(fmt.Sprintf("a path of at most %d bytes, in UTF-8", longestLabel))
		}
		if instead := belowData(s); instead == "" {
			return v.refuse("a path below data, such as rbac/allow")
		} else if instead != s {
			return v.refuse(fmt.Sprintf("a path below data: write %q", instead))
		}
		for segment := range strings.SplitSeq(s, "/") {
			switch {
			case !strings.Contains(segment, "*"):
			case !patterns:
				return v.refuse("a path without *: patterns belong to paths.prefixes")
			case segment != "*":
				return v.refuse("a pattern in which * stands for one whole segment, such as tenants/*/authz; what follows the pattern is always taken in")
			}
		}
		paths = append(paths, s)
		return nil
	})
	*to = paths
	return err
}

// belowData returns what is meant by a path that is written as in a request or
// in Rego, "" for all of data.
func belowData(path string) string {
	p := path
	for _, scheme := range [...]string{"http://", "https://"} {
		if rest, ok := strings.CutPrefix(p, scheme); ok {
			_, p, _ = strings.Cut(rest, "/")
			path = p
		}
	}
	p = strings.TrimPrefix(p, "/")
	for _, root := range [...]string{"v1/data", "v0/data", "v1/compile", "data"} {
		if rest, ok := strings.CutPrefix(p, root); ok && (rest == "" || rest[0] == '/') {
			return strings.TrimPrefix(rest, "/")
		}
	}
	if ref, err := ast.ParseRef(p); err == nil && ref.HasPrefix(ast.DefaultRootRef) {
		return pathOf(ref)
	}
	if rest, ok := strings.CutPrefix(p, "data."); ok && !strings.Contains(rest, "/") {
		return strings.ReplaceAll(rest, ".", "/") // with *
	}
	return path
}

// promOptions returns the options of the collector.
func (c *Config) promOptions() prom.Options {
	return prom.Options{Namespace: c.Namespace, MoreSeries: func() int { return ownSeries }}
}

// rollupOptions returns the options of the rollup.
func (c *Config) rollupOptions() (rollup.Options, error) {
	o := rollup.Options{
		Limits:     rollup.Limits{Paths: c.MaxPaths + unnamed},
		Stages:     c.Stages,
		Counters:   c.Counters,
		PathStages: c.PathStages,
		Bounds:     prom.DefaultBounds(),
	}
	if !c.Paths.Enabled {
		o.Limits.Paths = 1
	}
	if c.ClassicBuckets == nil {
		return o, nil
	}
	var err error
	if o.Bounds, err = prom.Bounds(c.ClassicBuckets...); err != nil {
		return o, fmt.Errorf("classic_buckets: %w", err)
	}
	return o, nil
}

// check returns an error if no rollup or collector can be made, or if they
// could have more series than MaxSeries.
func (c *Config) check() error {
	if n := len(c.Paths.labels()); n > c.MaxPaths {
		return fmt.Errorf("paths.allow and paths.prefixes name %d labels, but max_paths is %d: raise max_paths to %d, or name fewer",
			n, c.MaxPaths, n)
	}
	options, err := c.rollupOptions()
	if err != nil {
		return err
	}
	r, err := rollup.New(options)
	if err != nil {
		return err
	}
	series, err := prom.MaxSeries(options)
	if err != nil {
		return err
	}
	if series += ownSeries; series > c.MaxSeries {
		return fmt.Errorf("max_series is %d, but with max_paths %d, %d path_stages and %d classic_buckets there can be %d series: "+
			"raise max_series by %d or more, or lower the others",
			c.MaxSeries, c.MaxPaths, len(c.PathStages), options.Bounds.Len(), series, series-c.MaxSeries)
	}
	_, err = prom.NewCollector(r, c.promOptions())
	return err
}
