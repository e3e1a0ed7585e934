// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	testlog "github.com/open-policy-agent/opa/v1/logging/test"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/sdk"
	sdktest "github.com/open-policy-agent/opa/v1/sdk/test"

	"github.com/regometer/regometer/opa/plugin"
)

// The plugin works in programs that embed OPA by its SDK, which has no
// registry.
func TestSDK(t *testing.T) {
	t.Parallel()
	bundles := sdktest.MustNewServer(sdktest.MockBundle("/bundles/b.tar.gz", map[string]string{"policy.rego": policy}))
	defer bundles.Stop()
	config := `{"services": {"s": {"url": "` + bundles.URL() + `"}}, "bundles": {"b": {"resource": "/bundles/b.tar.gz"}},
		"decision_logs": {"plugin": "regometer", "service": ""}, "plugins": {"regometer": {}}}`
	registry := prometheus.NewRegistry()
	logger := testlog.New()
	o, err := sdk.New(t.Context(), sdk.Options{
		ID: "test", Config: strings.NewReader(config), Logger: logger,
		Plugins: map[string]plugins.Factory{plugin.Name: plugin.Factory{Registerer: registry}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct {
		path, user string
		undefined  bool
	}{
		{"/rbac/allow", "alice", false},
		{"rbac/allow", "bob", false},
		{"/rbac/nothing", "bob", true},
		{"", "alice", true}, // the default decision, which this policy lacks
	} {
		_, err := o.Decision(t.Context(), sdk.DecisionOptions{Path: d.path, Input: map[string]any{"user": d.user}})
		if d.undefined != sdk.IsUndefinedErr(err) || !d.undefined && err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	const want = "rbac/allow denied 1, rbac/allow allowed 1, other undefined 2"
	check := func() {
		t.Helper()
		if got := counts(t, registry); got != want {
			t.Errorf("counts %s, want %s", got, want)
		}
	}
	check()
	if n, err := testutil.GatherAndCount(registry, "opa_decision_stage_duration_seconds"); err != nil || n == 0 {
		t.Errorf("%d histograms, %v", n, err)
	}
	// A new configuration makes a new manager and a new plugin.
	err = o.Configure(t.Context(), sdk.ConfigOptions{Config: strings.NewReader(strings.Replace(config, `{}`, `{"max_paths": 20}`, 1))})
	if err != nil {
		t.Fatal(err)
	}
	check()
	o.Stop(t.Context())
	eventually(t, "unregistered", func() bool { return counts(t, registry) == "" })
}

// counts returns what opa_decisions_total says, without what is 0.
func counts(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var counts []string
	for _, f := range families {
		if f.GetName() != "opa_decisions_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if n := m.GetCounter().GetValue(); n > 0 {
				counts = append(counts, fmt.Sprintf("%s %s %v", labels["path"], labels["outcome"], n))
			}
		}
	}
	slices.SortFunc(counts, func(a, b string) int { return strings.Compare(b, a) })
	return strings.Join(counts, ", ")
}

// Without a registry the plugin says so, and decisions are made as ever.
func TestSDKWithoutRegistry(t *testing.T) {
	t.Parallel()
	logger := testlog.New()
	o, err := sdk.New(t.Context(), sdk.Options{
		ID: "test", Config: strings.NewReader(enabled), Logger: logger,
		Plugins: map[string]plugins.Factory{plugin.Name: plugin.Factory{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Stop(t.Context())
	if _, err := o.Decision(t.Context(), sdk.DecisionOptions{Path: "x"}); !sdk.IsUndefinedErr(err) {
		t.Error(err)
	}
	for _, e := range logger.Entries() {
		if strings.Contains(e.Message, "Nothing is exported: this OPA has no Prometheus registry.") {
			return
		}
	}
	t.Errorf("logged %v", logger.Entries())
}
