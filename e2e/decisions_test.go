// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// decisions are the exact numbers of decision logs.
type decisions struct {
	durations  map[stage][]int64 // nanoseconds, not 0
	unfinished map[[2]string]int // by stage and cause
	counters   map[string]uint64
	errors     int
}

// A stage is one of one path.
type stage struct{ path, name string }

// policyPaths are those that a policy has rules for and that are asked for.
var policyPaths = []string{
	"authz/allow", "authz/decision", "catalog/matches", "directory/on_call", "directory/office_open", "directory/converted",
	"envoy/authz/allow", "envoy/authz/decision", "envoy/authz/usual",
}

// readDecisions reads what servers have logged.
func readDecisions(t *testing.T, servers ...*opa) *decisions {
	t.Helper()
	d := &decisions{durations: map[stage][]int64{}, unfinished: map[[2]string]int{}, counters: map[string]uint64{}}
	for _, s := range servers {
		file, err := os.Open(s.logFile)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for lines := bufio.NewReader(file); ; {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(line, []byte(`"msg":"Decision Log"`)) {
				d.add(t, line)
			}
		}
	}
	if len(d.durations) == 0 {
		t.Fatal("the decision logs are empty")
	}
	return d
}

func (d *decisions) add(t *testing.T, line []byte) {
	t.Helper()
	var event struct {
		Path    string                     `json:"path"`
		Query   string                     `json:"query"`
		Error   json.RawMessage            `json:"error"`
		Metrics map[string]json.RawMessage `json:"metrics"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		t.Fatalf("%v in %.300s", err, line)
	}
	path := event.Path
	switch {
	case path == "" && event.Query != "":
		path = "(query)"
	case !slices.Contains(policyPaths, path):
		path = "other"
	}
	failed := len(event.Error) > 0
	if failed {
		d.errors++
	}
	for key, value := range event.Metrics {
		if name, ok := strings.CutPrefix(key, "counter_"); ok {
			var n uint64
			if err := json.Unmarshal(value, &n); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			d.counters[name] += n
		}
		name, ok := strings.CutPrefix(key, "timer_")
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, "_ns")
		var ns int64
		if err := json.Unmarshal(value, &ns); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if ns == 0 {
			d.unfinished[[2]string{name, cause(path, name, failed)}]++
		} else {
			d.durations[stage{path, name}] = append(d.durations[stage{path, name}], ns)
		}
	}
}

// cause is why a timer is 0.
func cause(path, stage string, failed bool) string {
	switch {
	case path == "(query)" && stage == "server_handler":
		return "query"
	case failed:
		return "failed"
	default:
		return "unknown"
	}
}

// of returns the durations of the stages that match, sorted.
func (d *decisions) of(match func(stage) bool) []int64 {
	var all []int64
	for s, durations := range d.durations {
		if match(s) {
			all = append(all, durations...)
		}
	}
	slices.Sort(all)
	return all
}
