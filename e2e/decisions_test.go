// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// decisions are the exact numbers of decision logs.
type decisions struct {
	durations  map[stage][]int64 // nanoseconds, not 0
	unfinished map[[2]string]int // by stage and cause
	counters   map[string]uint64
	errors     int
}

// A stage is a stage of one path.
type stage struct{ path, name string }

// policyPaths are the paths with rules that clients ask for.
var policyPaths = []string{
	"authz/allow", "authz/decision", "catalog/matches", "directory/on_call", "directory/office_open", "directory/converted",
	"envoy/authz/allow", "envoy/authz/decision", "envoy/authz/usual",
}

// readDecisions reads the logs of servers.
func readDecisions(t *testing.T, servers ...*opa) *decisions {
	d := &decisions{durations: map[stage][]int64{}, unfinished: map[[2]string]int{}, counters: map[string]uint64{}}
	for _, s := range servers {
		text, err := os.ReadFile(s.Log)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, `"msg":"Decision Log"`) && strings.HasSuffix(line, "\n") {
				d.add(t, line)
			}
		}
	}
	require.NotEmpty(t, d.durations, "the decision logs are empty")
	return d
}

func (d *decisions) add(t *testing.T, line string) {
	var event struct {
		Path    string                     `json:"path"`
		Query   string                     `json:"query"`
		Error   json.RawMessage            `json:"error"`
		Metrics map[string]json.RawMessage `json:"metrics"`
	}
	require.NoError(t, json.Unmarshal([]byte(line), &event), line)
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
		kind, name, _ := strings.Cut(strings.TrimSuffix(key, "_ns"), "_")
		if kind != "counter" && kind != "timer" {
			continue
		}
		n, err := strconv.ParseInt(string(value), 10, 64)
		require.NoError(t, err, key)
		switch {
		case kind == "counter":
			d.counters[name] += uint64(n)
		case n == 0 && path == "(query)" && name == "server_handler":
			d.unfinished[[2]string{name, "query"}]++
		case n == 0 && failed:
			d.unfinished[[2]string{name, "failed"}]++
		case n == 0:
			d.unfinished[[2]string{name, "unknown"}]++
		default:
			d.durations[stage{path, name}] = append(d.durations[stage{path, name}], n)
		}
	}
}

// seconds returns the sum of durations.
func seconds(durations []int64) float64 {
	var sum int64
	for _, ns := range durations {
		sum += ns
	}
	return float64(sum) / 1e9
}
