// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Package metrics finds some names without hashing. They are the names that the
// newest supported OPA records by constants.
func TestKnownNames(t *testing.T) {
	opa, err := download(t.Context(), "OPA", opaModule, NewestVersion)
	if err != nil {
		t.Skip(err)
	}
	ours := map[string]string{}
	for name, text := range loadDropIn() {
		ours["metrics/"+name] = string(text)
	}
	known := map[string]string{} // the list by "timer x"
	value := constants(ours)
	for _, list := range nameList.FindAllStringSubmatch(ours["metrics/name.go"], -1) {
		for e := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(list[2]), ","), ",") {
			name, ok := value("metrics", e)
			if !ok {
				t.Errorf("%s has %s, which is not constant", list[1], e)
			}
			for _, kind := range metricKinds[list[1]] {
				known[kind+" "+name] = list[1]
			}
		}
	}
	recorded := recordedNames(t, os.DirFS(opa.Dir))

	// Recorded by constants, but not by requests.
	seldom := map[string]string{
		"timer disk_commit":                          "by transactions that write",
		"timer disk_write":                           "by transactions that write",
		"counter decision_logs_chunks_uploaded":      "in a collection of the decision logger, by upload",
		"counter decision_logs_chunks_upload_failed": "in a collection of the decision logger, by upload",
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if known[name] == "" && seldom[name] == "" {
			t.Errorf("OPA records %s (%s), which is not known in metrics/name.go", name, recorded[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if recorded[name] == "" {
			t.Errorf("OPA does not record %s any more, of %s in metrics/name.go", name, known[name])
		}
	}
}

var (
	nameList       = regexp.MustCompile(`(?s)\t(known\w+) = \[\.\.\.\]string\{(.*?)\n\t\}`)
	constant       = regexp.MustCompile(`(?m)^(?:const|var)?\s+(\w+)\s*=\s*([\w."+ ]+)$`)
	recordingCalls = regexp.MustCompile(`\.(Timer|Counter|Histogram|timer|startTimer|stopTimer|counterIncr)\(([^()\n]+)`)
)

// metricKinds has the kinds of the metrics that a method records, or that are
// in a list.
var metricKinds = map[string][]string{
	"knownTimers": {"timer"}, "knownCounters": {"counter"}, "knownOperations": {"timer", "histogram"},
	"Timer": {"timer"}, "Counter": {"counter"}, "Histogram": {"histogram"},
	"timer": {"timer"}, "startTimer": {"timer"}, "stopTimer": {"timer", "histogram"}, "counterIncr": {"counter"},
}

// recordedNames returns the metrics that OPA's packages record by constants, as
// "timer x", with a file of each. The names of other metrics are variables.
func recordedNames(t *testing.T, opa fs.FS) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(opa, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if slices.Contains([]string{"testdata", "vendor", "docs", "wasm"}, name) {
				return fs.SkipDir
			}
			return err
		}
		if strings.HasSuffix(name, ".go") && !isTest(name) {
			text, err := fs.ReadFile(opa, name)
			files[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	value, recorded := constants(files), map[string]string{}
	for file, text := range files {
		if path.Dir(file) == metricsDir {
			continue
		}
		for _, call := range recordingCalls.FindAllStringSubmatch(text, -1) {
			if name, ok := value(path.Base(path.Dir(file)), call[2]); ok {
				for _, kind := range metricKinds[call[1]] {
					recorded[kind+" "+name] = file
				}
			}
		}
	}
	return recorded
}

// constants reads the constants of Go files. It returns a function that returns
// the text of an expression in a package, if the expression is constant.
func constants(files map[string]string) (value func(pkg, expression string) (string, bool)) {
	known := map[string]string{} // by "package.Name"
	value = func(pkg, expression string) (text string, ok bool) {
		for term := range strings.SplitSeq(expression, "+") {
			term = strings.TrimSpace(term)
			part, err := strconv.Unquote(term)
			if err != nil {
				if !strings.Contains(term, ".") {
					term = pkg + "." + term
				}
				if part, ok = known[term]; !ok {
					return "", false
				}
			}
			text += part
		}
		return text, true
	}
	for range 3 { // constants of constants
		for file, text := range files {
			pkg := path.Base(path.Dir(file))
			for _, c := range constant.FindAllStringSubmatch(text, -1) {
				if text, ok := value(pkg, c[2]); ok {
					known[pkg+"."+c[1]] = text
				}
			}
		}
	}
	return value
}
