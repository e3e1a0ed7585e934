// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	yamlv2 "go.yaml.in/yaml/v2"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"

	"github.com/regometer/regometer/e2e/harness"
)

// TestPodMonitorSelectsSidecars: one PodMonitor selects servers, and sidecars
// in other namespaces.
func TestPodMonitorSelectsSidecars(t *testing.T) {
	dir := workspace(t)
	write(t, dir, "app/kustomization.yaml", "namespace: app\nresources: [../examples/kubernetes/sidecar]\n")
	write(t, dir, "all/kustomization.yaml", "resources: [../examples/kubernetes, ../app]\n")
	objects := mustRender(t, dir, "all")
	assert.Empty(t, problems(objects))
	m := of[*monitoring.PodMonitor](objects)[0]
	assert.True(t, m.Spec.NamespaceSelector.Any)
	assert.Len(t, podsOf(of[*apps.Deployment](objects), anyNamespace, &m.Spec.Selector), 2)
}

// TestAnnotations: Prometheus scrapes one port of each pod, the one in the
// annotations. Prometheus knows all keys of the configuration.
func TestAnnotations(t *testing.T) {
	const folder = examples + "/annotations"
	var config struct {
		Global struct {
			Interval model.Duration `yaml:"scrape_interval"`
		} `yaml:"global"`
		Rules   []string `yaml:"rule_files"`
		Scrapes []struct {
			Job        string              `yaml:"job_name"`
			Native     bool                `yaml:"scrape_native_histograms"`
			Kubernetes []map[string]string `yaml:"kubernetes_sd_configs"`
			Relabel    []*relabel.Config   `yaml:"relabel_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yamlv2.UnmarshalStrict([]byte(harness.Read(t, folder+"/prometheus.yaml")), &config))
	require.Len(t, config.Scrapes, 1)
	require.True(t, config.Scrapes[0].Native, "scrape_native_histograms")
	for _, name := range config.Rules {
		assert.FileExists(t, filepath.Join(harness.Root, "dashboards", name))
	}
	for _, r := range config.Scrapes[0].Relabel {
		assert.NoError(t, r.Validate(model.UTF8Validation))
	}
	server := of[*apps.Deployment](mustRender(t, harness.Root, folder))[0].Spec.Template
	other := server
	other.Annotations = nil
	for _, c := range []struct {
		name  string
		pod   core.PodTemplateSpec
		phase core.PodPhase
		want  []string
	}{
		{"a server", server, core.PodRunning, []string{"opa at 10.0.0.1:8282"}},
		{"a pod without annotations", other, core.PodRunning, nil},
		{"a pod that has ended", server, core.PodSucceeded, nil},
	} {
		var scraped []string
		for _, target := range targets(c.pod, c.phase) {
			if relabel.ProcessBuilder(target, config.Scrapes[0].Relabel...) {
				scraped = append(scraped, target.Get(model.JobLabel)+" at "+target.Get(model.AddressLabel))
			}
		}
		assert.Equal(t, c.want, scraped, c.name)
	}
}

// targets returns the targets that Prometheus' discovery makes of a pod: one
// for each port.
func targets(pod core.PodTemplateSpec, phase core.PodPhase) (found []*labels.Builder) {
	name := func(label string) string { return regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(label, "_") }
	for _, c := range containers(&pod.Spec) {
		for _, p := range c.Ports {
			set := map[string]string{
				model.AddressLabel:                            fmt.Sprint("10.0.0.1:", p.ContainerPort),
				model.JobLabel:                                "pods",
				"__meta_kubernetes_namespace":                 "opa",
				"__meta_kubernetes_pod_name":                  "opa-0",
				"__meta_kubernetes_pod_phase":                 string(phase),
				"__meta_kubernetes_pod_container_port_number": fmt.Sprint(p.ContainerPort),
			}
			for label, value := range pod.Labels {
				set["__meta_kubernetes_pod_label_"+name(label)] = value
			}
			for annotation, value := range pod.Annotations {
				set["__meta_kubernetes_pod_annotation_"+name(annotation)] = value
			}
			found = append(found, labels.NewBuilder(labels.FromMap(set)))
		}
	}
	return found
}

// TestCollector: the collector's flags are valid, and the Secret of its token
// is the one that the PodMonitor uses.
func TestCollector(t *testing.T) {
	objects := mustRender(t, harness.Root, examples+"/collector")
	pod := of[*apps.Deployment](objects)[0].Spec.Template.Spec
	secret := pod.Volumes[0].Secret.SecretName
	assert.Equal(t, secret, of[*monitoring.PodMonitor](objects)[0].Spec.PodMetricsEndpoints[0].Authorization.Credentials.Name)
	assert.Contains(t, harness.Read(t, "docs/collecting.md"), "secret generic "+secret+" --from-file=token")
	help := harness.Read(t, "cmd/regometer/testdata/help-collect.txt")
	for _, arg := range pod.Containers[0].Args[1:] {
		flag, _, _ := strings.Cut(arg, "=")
		assert.Contains(t, help, "\n      "+flag+" ")
	}
}
