// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/regometer/regometer/e2e/harness"
)

// applications returns policies, each in a package of its own with one rule,
// and the paths of the rules.
func applications(name string, n int) (modules, paths []string) {
	for i := range n {
		modules = append(modules, fmt.Sprintf("package more.%s%02d\nallow := true", name, i))
		paths = append(paths, fmt.Sprintf("more/%s%02d/allow", name, i))
	}
	return modules, paths
}

// TestLabelsAreThoseOfThePolicy asks two servers with one policy, which has
// more paths than there are labels by default, in opposite orders. Each path
// must have the same label on both, so that a fleet's sums are right. When the
// policy loses paths, their counts stay until others need the room.
func TestLabelsAreThoseOfThePolicy(t *testing.T) {
	harness.EndToEnd(t)
	control := startControl(t)
	modules, paths := applications("app", 60)
	fresh, freshPaths := applications("new", 30)
	control.activate(t, "sixty", modules...)
	up, down := startOPA(t, "upwards", control.config(nil)), startOPA(t, "downwards", control.config(nil))
	m := startMonitor(t, map[string]string{up.name: up.address, down.name: down.address}, monitorOptions{})
	awaitScrapes(t, m)
	activate := func(revision string, modules ...string) {
		control.activate(t, revision, modules...)
		up.awaitRevision(t, revision)
		down.awaitRevision(t, revision)
	}
	askAll := func(paths []string) {
		up.decide(t, "{}", paths...)
		paths = slices.Clone(paths)
		slices.Reverse(paths)
		down.decide(t, "{}", paths...)
	}
	var at time.Time
	byPath := func(selector string) map[string]int {
		got := map[string]int{}
		for key, n := range m.byLabels(t, "sum by (path) (opa_decisions_total{"+selector+"}) > 0", at, [2]string{"path"}) {
			got[key[0]] = n
		}
		return got
	}
	checkResets := func() { assert.Zero(t, m.number(t, `max(resets(opa_decisions_total[1h]))`, at), "resets") }

	up.awaitRevision(t, "sixty")
	down.awaitRevision(t, "sixty")
	askAll(paths)
	askAll(paths)
	at = awaitScrapes(t, m)
	assert.Equal(t, byPath(`instance="upwards"`), byPath(`instance="downwards"`))
	own, total, before := 0, 0, byPath("")
	for path, n := range before {
		total += n
		if slices.Contains(paths, path) {
			own++
			assert.Equal(t, 4, n, path)
		}
	}
	assert.Equal(t, 4*60, total)
	assert.GreaterOrEqual(t, own, 40, "paths with their own labels")

	// Half of the paths are gone. Their decisions are other at once, and their
	// series stay: no reset.
	activate("thirty", modules[:30]...)
	at = awaitScrapes(t, m)
	before = byPath("")
	gone := paths[40]
	require.NotZero(t, before[gone], "%s has no label", gone)
	up.decide(t, "{}", gone, gone, gone)
	at = awaitScrapes(t, m)
	before["other"] += 3
	assert.Equal(t, before, byPath(""))
	checkResets()

	// As many new paths need the room: the series of the lost paths end, and no
	// other counter goes back.
	activate("new", append(slices.Clone(modules[:10]), fresh...)...)
	askAll(freshPaths)
	at = awaitScrapes(t, m)
	now := byPath("")
	assert.Zero(t, now[gone], gone)
	for _, path := range freshPaths {
		assert.Equal(t, 2, now[path], path)
	}
	checkResets()
	// Over all paths, not one decision is missing.
	for _, query := range []string{
		"sum(opa_decision_received_total)", `histogram_count(sum(opa_decision_stage_duration_seconds{stage="server_handler"}))`,
	} {
		assert.EqualValues(t, 4*60+3+60, m.number(t, query, at), query)
	}
}

// TestDecisionLogIsTheUsers: a binary of `regometer build` counts each decision
// once, whether users log, upload, drop or mask it.
func TestDecisionLogIsTheUsers(t *testing.T) {
	harness.EndToEnd(t)
	const policy = `package system.log
drop if input.input.user == "dropped"
mask contains "/result" if input.input.user == "masked"
mask contains 5 if input.input.user == "broken"`
	for name, decisionLogs := range map[string]map[string]any{
		"none":    nil,
		"console": {"console": true},
		"service": {"service": "control", "resource": "logs"},
		"plugin":  {"plugin": "regometer"},
		"both":    {"plugin": "regometer", "console": true, "service": "control", "resource": "logs"},
		"other":   {"plugin": "file_logger"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := startControl(t).config(nil)
			delete(config, "decision_logs")
			if decisionLogs != nil {
				config["decision_logs"] = decisionLogs
			}
			if name == "other" {
				config["plugins"].(map[string]any)["file_logger"] = map[string]any{"path": t.TempDir() + "/decisions.log"}
			}
			s := startOPA(t, name, config)
			status, body, err := harness.Ask(t.Context(), http.MethodPut, s.url("/v1/policies/log"), policy, "")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, body)
			for _, user := range []string{"alice", "dropped", "masked", "broken"} {
				s.decide(t, fmt.Sprintf(`{"user": %q, "action": "write"}`, user), "authz/allow")
			}
			s.decide(t, "{}", "nowhere")
			got := map[string]float64{}
			for _, family := range []string{"opa_decisions_total", "opa_decision_received_total"} {
				maps.Copy(got, counters(s.families(t)[family]))
			}
			assert.Equal(t, map[string]float64{
				`outcome="allowed" path="authz/allow"`: 1, `outcome="denied" path="authz/allow"`: 3,
				`outcome="undefined" path="other"`: 1, `source="server"`: 5,
			}, got)
		})
	}
}
