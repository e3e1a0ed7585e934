// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/regometer/regometer/bench/internal/measure"
)

var implPart = regexp.MustCompile(`/impl=([a-z_]+)$`)

// parseKey reads a benchmark's name. In the part stages, one without an
// implementation is Regometer's.
func parseKey(part, name string) (measure.Key, error) {
	benchmark := name
	if part != "stages" {
		_, name, _ = strings.Cut(name, "/")
	}
	if m := implPart.FindStringSubmatchIndex(name); m != nil {
		return measure.Key{Name: name[:m[0]], Impl: name[m[2]:m[3]]}, nil
	}
	if part != "stages" {
		return measure.Key{}, fmt.Errorf("benchmark without impl=: %q", benchmark)
	}
	return measure.Key{Name: name, Impl: "regometer"}, nil
}

// parseResults reads the output of a part's benchmarks.
func parseResults(part string, text []byte) (measure.Results, error) {
	r, err := measure.Parse(text, func(benchmark string) (measure.Key, error) { return parseKey(part, benchmark) })
	if err == nil && part == "server" && len(r.Samples) > 0 {
		err = checkServers(r)
	}
	return r, err
}

// checkServers returns an error unless there are figures of all servers, and of
// no others, of equally many runs: what is compared is what was measured in
// turns.
func checkServers(r measure.Results) error {
	expected := make(map[measure.Key]bool)
	runs := -1
	for _, mode := range measure.Modes {
		for _, s := range serverSetups {
			k := measure.Key{Name: "case=" + mode.Name, Impl: s.impl}
			expected[k] = true
			n := len(r.Samples[k])
			if n == 0 {
				return fmt.Errorf("no figures of %s/impl=%s: measure this part anew", k.Name, k.Impl)
			}
			if runs < 0 {
				runs = n
			}
			if n != runs {
				return fmt.Errorf("%d runs of %s/impl=%s, not %d: measure this part anew", n, k.Name, k.Impl, runs)
			}
		}
	}
	for k := range r.Samples {
		if !expected[k] {
			return fmt.Errorf("unknown benchmark %s/impl=%s: measure this part anew", k.Name, k.Impl)
		}
	}
	return nil
}
