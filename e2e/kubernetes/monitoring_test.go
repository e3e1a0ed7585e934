// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestPrometheusRule: the rules that the Prometheus operator gets are those of
// the folder dashboards, all of them.
func TestPrometheusRule(t *testing.T) {
	var want []monitoring.RuleGroup
	for _, name := range []string{"recording-rules.yaml", "alerting-rules.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "dashboards", name))
		if err != nil {
			t.Fatal(err)
		}
		var file monitoring.PrometheusRuleSpec
		if err := yaml.UnmarshalStrict(text, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want = append(want, file.Groups...)
	}
	rules := of[*monitoring.PrometheusRule](mustRender(t, examples))
	if len(rules) != 1 {
		t.Fatalf("%d objects with rules, want 1", len(rules))
	}
	if got := rules[0].Spec.Groups; len(got) < 4 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d groups, want these %d:\n%v", len(got), len(want), want)
	}
}

// TestDashboard: Grafana gets the dashboard as it is in the folder dashboards.
func TestDashboard(t *testing.T) {
	const file = "opa-decisions.json"
	want, err := os.ReadFile(filepath.Join(root, "dashboards", file))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range of[*core.ConfigMap](mustRender(t, examples)) {
		if c.Labels["grafana_dashboard"] != "1" {
			continue
		}
		found++
		if c.Data[file] != string(want) || len(c.Data) != 1 {
			t.Errorf("%s holds something else than %s", c.Name, file)
		}
	}
	if found != 1 {
		t.Errorf("%d dashboards, want 1", found)
	}
}

// TestPodMonitorSelectsSidecars: one PodMonitor is for servers and for sidecars
// in other namespaces.
func TestPodMonitorSelectsSidecars(t *testing.T) {
	dir := workspace(t)
	write(t, dir, "app/kustomization.yaml", "namespace: app\nresources: [../examples/kubernetes/sidecar]\n")
	write(t, dir, "all/kustomization.yaml", "resources: [../examples/kubernetes, ../app]\n")
	objects, err := render(filepath.Join(dir, "all"))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems(objects) {
		t.Error(problem)
	}
	m := of[*monitoring.PodMonitor](objects)[0]
	if pods := podsOf(of[*apps.Deployment](objects), anyNamespace, &m.Spec.Selector); !m.Spec.NamespaceSelector.Any || len(pods) != 2 {
		t.Errorf("it selects the pods of %d deployments, want 2", len(pods))
	}
}
