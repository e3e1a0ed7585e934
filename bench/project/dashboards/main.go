// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Dashboards writes the files in the folder dashboards that follow from others:
// the dashboard and the recording rules over classic histograms, from those over
// native ones, and all rules as an object of the Prometheus operator. It runs in
// the repository's root.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/regometer/regometer/bench/internal/measure"
)

func main() {
	measure.Main("dashboards", func(context.Context) error { return write("dashboards") })
}

func write(dir string) (err error) {
	read := func(name string) string {
		text, readErr := os.ReadFile(filepath.Join(dir, name))
		err = errors.Join(err, readErr)
		return string(text)
	}
	groups := func(name string) string {
		_, groups, found := strings.Cut(read(name), "\ngroups:\n")
		if !found {
			err = errors.Join(err, fmt.Errorf("%s has no groups", name))
		}
		return groups
	}
	rules, alerts := groups("recording-rules.yaml"), groups("alerting-rules.yaml")
	dashboard := strings.NewReplacer(
		`"title": "OPA decisions"`, `"title": "OPA decisions (classic histograms)"`,
		`"uid": "opa-decisions"`, `"uid": "opa-decisions-classic"`,
		"Native histograms: Prometheus scrapes them with scrape_native_histograms: true.", "Classic histograms: for a Prometheus that does not store native ones.",
	).Replace(classic(read("opa-decisions.json")))
	files := map[string]string{
		"opa-decisions-classic.json":   dashboard,
		"recording-rules-classic.yaml": written("recording-rules.yaml") + "groups:\n" + classic(rules),
		"prometheusrule.yaml":          written("recording-rules.yaml and alerting-rules.yaml") + operatorRules(rules+alerts),
	}
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
		}
	}
	return err
}

// written returns a comment for the first line of a file.
func written(from string) string {
	return fmt.Sprintf("# make dashboards writes this file. Change %s instead.\n", from)
}

// A rate is a query for the increase per second of native histograms.
const rate = `sum( by \([^)]*\))? (\(rate\(\S*?_duration_seconds)([{[][^\]]*\]\)\))`

var (
	rates    = regexp.MustCompile(rate)
	counts   = regexp.MustCompile(`histogram_count\(` + rate + `\)`)
	averages = regexp.MustCompile(`histogram_avg\(` + rate + `\)`)
)

// classic returns queries of native histograms as queries of classic ones.
func classic(text string) string {
	text = averages.ReplaceAllString(text, "(sum$1 ${2}_sum$3 / sum$1 ${2}_count$3)")
	text = counts.ReplaceAllString(text, "sum$1 ${2}_count$3")
	text = rates.ReplaceAllString(text, "sum$1 by (le) ${2}_bucket$3")
	return strings.ReplaceAll(text, ") by (le)", ", le)")
}

// operatorRules returns groups of rules as an object of the Prometheus operator.
func operatorRules(groups string) string {
	text := "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: opa-decisions\nspec:\n  groups:\n"
	for line := range strings.Lines(groups) {
		if line != "\n" {
			text += "  "
		}
		text += line
	}
	return text
}
