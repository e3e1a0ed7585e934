// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// applications returns a policy of so many packages with a rule each.
func applications(n int) (modules, paths []string) {
	for i := range n {
		modules = append(modules, fmt.Sprintf("package more.app%02d\nallow := true", i))
		paths = append(paths, fmt.Sprintf("more/app%02d/allow", i))
	}
	return modules, paths
}

// decide asks for a decision by path, which allows, or is undefined.
func (s *opa) decide(t *testing.T, path string) {
	t.Helper()
	status, body, err := s.ask(t.Context(), question{method: http.MethodPost, path: "/v1/data/" + path, body: `{"input": {}}`})
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s: HTTP status %d, %v: %s", path, status, err, body)
	}
}

// byPath returns how many decisions Prometheus has by path, without what is 0.
func (m *monitor) byPath(t *testing.T, selector string, at time.Time) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, s := range m.vector(t, "sum by (path) (opa_decisions_total{"+selector+"}) > 0", at) {
		got[s.Metric.Get("path")] = s.F
	}
	return got
}

// revision waits until a server has activated a revision of the bundle.
func (s *opa) revision(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if strings.Contains(string(s.get(t, "/metrics")), `active_revision="`+want+`"`) {
			return
		}
	}
	t.Fatalf("%s has not activated revision %s after 30 s", s.name, want)
}

// TestLabelsAreThoseOfThePolicy: two servers with one policy, more paths than
// there are labels by default, are asked in opposite orders. Each path has one
// label on both, so that a fleet's sums are right. When the policy loses paths,
// what was counted of them stays as it is until there is need of its room.
func TestLabelsAreThoseOfThePolicy(t *testing.T) {
	endToEnd(t)
	control := startControl(t)
	modules, paths := applications(60)
	control.activate(t, "sixty", modules...)
	config := control.config(nil)
	// The other rules of the bundle do not take part: 50 labels for 60 paths.
	config["plugins"] = map[string]any{"regometer": map[string]any{}}
	servers := []*opa{startOPA(t, "upwards", config), startOPA(t, "downwards", config)}
	targets := map[string]string{}
	for _, s := range servers {
		targets[s.name] = s.address
		s.revision(t, "sixty")
	}
	m := startMonitor(t, targets, monitorOptions{})
	m.awaitScrapes(t)
	askAll := func(paths []string) {
		for _, path := range paths {
			servers[0].decide(t, path)
		}
		for _, path := range slices.Backward(paths) {
			servers[1].decide(t, path)
		}
	}
	for range 2 {
		askAll(paths)
	}
	at := m.awaitScrapes(t)
	one, two := m.byPath(t, `instance="upwards"`, at), m.byPath(t, `instance="downwards"`, at)
	if !maps.Equal(one, two) {
		t.Errorf("decisions by path:\n%v and\n%v", one, two)
	}
	all := m.byPath(t, "", at)
	own, total := 0, 0.0
	for path, n := range all {
		total += n
		if slices.Contains(paths, path) {
			own++
			if n != 4 {
				t.Errorf("%s: %v decisions, want 4", path, n)
			}
		}
	}
	if total != 4*60 || own < 40 {
		t.Errorf("%v decisions, of %d paths with their own labels: %v", total, own, all)
	}

	// Half of the paths are gone. Their decisions are other at once, and their
	// series stay: no reset.
	control.activate(t, "thirty", modules[:30]...)
	for _, s := range servers {
		s.revision(t, "thirty")
	}
	before := m.byPath(t, "", m.awaitScrapes(t))
	gone := paths[40]
	if before[gone] == 0 {
		t.Fatalf("%s has no label: %v", gone, before)
	}
	for range 3 {
		servers[0].decide(t, gone)
	}
	at = m.awaitScrapes(t)
	after := m.byPath(t, "", at)
	if after[gone] != before[gone] || after["other"] != before["other"]+3 {
		t.Errorf("%s: %v decisions after %v, other %v after %v", gone, after[gone], before[gone], after["other"], before["other"])
	}
	if n := m.number(t, `max(resets(opa_decisions_total[1h]))`, at); n != 0 {
		t.Errorf("%v resets", n)
	}

	// As many new paths need the room: the series of those that are gone end,
	// and no other counter goes back.
	var fresh, freshPaths []string
	for i := range 30 {
		fresh = append(fresh, fmt.Sprintf("package more.new%02d\nallow := true", i))
		freshPaths = append(freshPaths, fmt.Sprintf("more/new%02d/allow", i))
	}
	control.activate(t, "new", append(slices.Clone(modules[:10]), fresh...)...)
	for _, s := range servers {
		s.revision(t, "new")
	}
	askAll(freshPaths)
	at = m.awaitScrapes(t)
	now := m.byPath(t, "", at)
	if now[gone] != 0 {
		t.Errorf("%s: still %v decisions", gone, now[gone])
	}
	for _, path := range freshPaths {
		if now[path] != 2 {
			t.Errorf("%s: %v decisions, want 2", path, now[path])
		}
	}
	if n := m.number(t, `max(resets(opa_decisions_total[1h]))`, at); n != 0 {
		t.Errorf("%v resets", n)
	}
	// Over all paths, not one decision is missing.
	want := 4*60 + 3 + 60.0
	if n := m.number(t, `sum(opa_decision_received_total)`, at); n != want {
		t.Errorf("%v decisions received, want %v", n, want)
	}
	if n := m.number(t, `histogram_count(sum(opa_decision_stage_duration_seconds{stage="server_handler"}))`, at); n != want {
		t.Errorf("%v durations of the handler, want %v", n, want)
	}
}

// TestDecisionLogIsTheUsers: whatever is logged, uploaded, dropped or masked,
// in a binary of `regometer build` each decision is counted once.
func TestDecisionLogIsTheUsers(t *testing.T) {
	endToEnd(t)
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
			control := startControl(t)
			config := control.config(nil)
			delete(config, "decision_logs")
			if decisionLogs != nil {
				config["decision_logs"] = decisionLogs
			}
			if name == "other" {
				config["plugins"].(map[string]any)["file_logger"] = map[string]any{"path": t.TempDir() + "/decisions.log"}
			}
			s := startOPA(t, name, config)
			status, body, err := s.ask(t.Context(), question{method: http.MethodPut, path: "/v1/policies/log", body: policy})
			if err != nil || status != http.StatusOK {
				t.Fatal(status, string(body), err)
			}
			for _, user := range []string{"alice", "dropped", "masked", "broken"} {
				q := question{method: http.MethodPost, path: "/v1/data/authz/allow", body: fmt.Sprintf(`{"input": {"user": %q, "action": "write"}}`, user)}
				if status, body, err := s.ask(t.Context(), q); err != nil || status != http.StatusOK {
					t.Fatal(status, string(body), err)
				}
			}
			s.decide(t, "nowhere")
			got := map[string]float64{}
			families := s.families(t)
			for _, name := range []string{"opa_decisions_total", "opa_decision_received_total"} {
				for _, m := range families[name].GetMetric() {
					if n := m.GetCounter().GetValue(); n > 0 {
						got[strings.TrimSpace(labelsOf(m.GetLabel()))] = n
					}
				}
			}
			want := map[string]float64{
				`outcome="allowed" path="authz/allow"`: 1, `outcome="denied" path="authz/allow"`: 3,
				`outcome="undefined" path="other"`: 1, `source="server"`: 5,
			}
			if !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}
