// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// Name is the plugin's name in OPA's configuration.
const Name = "regometer"

const configPath = "plugins." + Name

// settings are the plugin's configuration. They are valid and have the defaults
// filled in.
type settings struct {
	// Namespace begins the names of all metrics.
	Namespace string `json:"namespace"`
	// Paths says which decision paths get a label.
	Paths paths `json:"paths"`
	// PathStages are the stages whose durations are kept by path. nil means the
	// rollup's default.
	PathStages []string `json:"path_stages"`
	// MaxPaths limits the values of the label path, except the values that
	// always exist.
	MaxPaths int `json:"max_paths"`
	// MaxSeries limits the series of a scrape by text.
	MaxSeries int `json:"max_series"`
	// ClassicBuckets has the upper bounds of the classic buckets, in seconds.
	// nil means the default.
	ClassicBuckets []float64 `json:"classic_buckets"`
	// Stages extends the known stages. A Stage replaces a known one with the
	// same name.
	Stages []rollup.Stage `json:"stages"`
	// Counters extends the known counters.
	Counters []string `json:"counters"`
	// Outcomes has rules for results of other forms, by path.
	Outcomes map[string]string `json:"outcomes"`
	// Next names the logger plugin that gets each event after this one, or is
	// "".
	Next string `json:"next"`

	bounds   []int64       // ClassicBuckets in nanoseconds
	verdicts *verdicts.Set // of Outcomes; nil stands for the usual rules
}

// defaultConfig returns the configuration of `regometer: {}`.
func defaultConfig() *settings {
	return &settings{
		Namespace: "opa",
		Paths:     paths{Enabled: true, FromPolicy: true},
		MaxPaths:  50, MaxSeries: 3500,
		bounds: prom.DefaultBounds(),
	}
}

// parseConfig reads the configuration, which is JSON or empty. It fails if a
// key or value is invalid. The error names the key.
func parseConfig(text []byte) (*settings, error) {
	c := defaultConfig()
	if len(bytes.TrimSpace(text)) > 0 {
		if err := decode(text, c); err != nil {
			return nil, fmt.Errorf("%s: %w", configPath, err)
		}
	}
	return c, c.check()
}

// decode reads one JSON value, and refuses unknown keys.
func decode(text []byte, into any) error {
	if !json.Valid(text) {
		return errors.New("it is not valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		is, number, _ := strings.Cut(wrong.Value, " ")
		return fmt.Errorf("%sthe value must be %s, not %s", strings.TrimPrefix(wrong.Field+": ", ": "), jsonTypes[wrong.Type.Kind().String()], cmp.Or(number, jsonTypes[is]))
	}
	return errors.New(strings.Replace(err.Error(), "json: unknown field", "unknown key", 1))
}

// jsonTypes are the types of JSON, by the names of those of Go and of package json.
var jsonTypes = map[string]string{
	"bool": "true or false", "string": "a string", "number": "a number", "array": "a list", "object": "an object",
	"int": "a whole number", "float64": "a number", "slice": "a list", "map": "an object", "struct": "an object",
}

// UnmarshalJSON implements json.Unmarshaler. The text may also be true or false,
// which stands for Enabled alone.
func (p *paths) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &p.Enabled) == nil {
		return nil
	}
	type fields paths // without this method
	if err := decode(text, (*fields)(p)); err != nil {
		return errors.New("paths: " + strings.Replace(err.Error(), "must be an object", "must be true, false or an object", 1))
	}
	return nil
}

var (
	// namespace matches valid namespaces.
	namespace = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	// request matches paths as in a request or as in Rego. As paths below data
	// they would never match.
	request = regexp.MustCompile(`^/*((v[01]/)?data|v1/compile)([/.[]|$)|://`)
)

// check sets the fields that follow from others. It returns an error for each
// invalid value, for too many labels, or for more than MaxSeries series.
func (c *settings) check() error {
	var errs []error
	must := func(ok bool, key string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s.%s must be %s, not %#v", configPath, key, want, value))
		}
	}
	must(namespace.MatchString(c.Namespace), "namespace", c.Namespace, "a string that matches "+namespace.String())
	must(c.MaxPaths >= 1 && c.MaxPaths <= 10_000, "max_paths", c.MaxPaths, "a whole number from 1 to 10000")
	must(c.MaxSeries >= 1 && c.MaxSeries <= 1_000_000, "max_series", c.MaxSeries, "a whole number from 1 to 1000000")
	must(c.Next != Name, "next", c.Next, "the name of another plugin")
	for _, s := range c.Stages {
		must(!strings.HasPrefix(s.Name, "timer_") || !strings.HasSuffix(s.Name, "_ns"), "stages", s.Name, `the timer's name without "timer_" and "_ns"`)
	}
	for _, name := range c.Counters {
		must(!strings.HasPrefix(name, "counter_"), "counters", name, `the counter's name without "counter_"`)
	}
	for _, path := range c.Paths.Allow {
		must(isPath(path) && !strings.Contains(path, "*"), "paths.allow", path, "a path below data, such as rbac/allow, without *")
	}
	for _, path := range c.Paths.Prefixes {
		must(isPath(path) && isPattern(path), "paths.prefixes", path,
			"a path below data, in which * may stand for one whole segment, such as tenants/*/authz")
	}
	var err error
	if c.ClassicBuckets != nil {
		if c.bounds, err = prom.Bounds(c.ClassicBuckets...); err != nil {
			errs = append(errs, fmt.Errorf("%s.classic_buckets: %w", configPath, err))
		}
	}
	if len(c.Outcomes) > 0 {
		if c.verdicts, err = verdicts.New(c.Outcomes); err != nil {
			errs = append(errs, fmt.Errorf("%s.outcomes: %w", configPath, err))
		}
	}
	if len(errs) == 0 {
		errs = append(errs, c.checkSize())
	}
	return errors.Join(errs...)
}

// isPath reports whether a path can be below data, and can be a label.
func isPath(path string) bool {
	label := canonical(path)
	return label != "" && len(label) <= longestLabel && utf8.ValidString(label) && !request.MatchString(path)
}

// isPattern reports whether each * is a whole segment.
func isPattern(path string) bool {
	return !slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return strings.Contains(s, "*") && s != "*" })
}

// unnamed is the number of labels beyond max_paths. These are rootPath and
// outcome.Query. rollup.Other does not count.
const unnamed = 2

// rollupOptions returns the options of the rollup.
func (c *settings) rollupOptions() rollup.Options {
	paths := 1
	if c.Paths.Enabled {
		paths = c.MaxPaths + unnamed
	}
	return rollup.Options{Paths: paths, Stages: c.Stages, Counters: c.Counters, PathStages: c.PathStages, Bounds: c.bounds}
}

// checkSize returns an error if the configuration names too many labels, if its
// rollup is invalid, or if there could be more than MaxSeries series.
func (c *settings) checkSize() error {
	if n := len(c.Paths.labels()); n > c.MaxPaths {
		return fmt.Errorf("%s: paths.allow and paths.prefixes name %d labels, but max_paths is %d: raise max_paths to %[2]d, or name fewer",
			configPath, n, c.MaxPaths)
	}
	series, err := prom.MaxSeries(c.rollupOptions())
	if err != nil {
		option, why, _ := strings.Cut(strings.TrimPrefix(err.Error(), "rollup: "), ":")
		option = strings.NewReplacer("PathStages", "path_stages", "Stages", "stages", "Counters", "counters").Replace(option)
		return fmt.Errorf("%s.%s:%s", configPath, option, why)
	}
	if series += ownSeries + maxRevisions; series > c.MaxSeries {
		return fmt.Errorf("%s: max_series is %d, but with max_paths %d, these path_stages and %d classic_buckets there can be %d series: "+
			"raise max_series by %d or more, or lower the others",
			configPath, c.MaxSeries, c.MaxPaths, len(c.bounds), series, series-c.MaxSeries)
	}
	return nil
}
