// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v2"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

// TestAnnotations: of all ports of all pods, Prometheus scrapes the one that is
// for it. The configuration has keys that Prometheus knows, and no others.
func TestAnnotations(t *testing.T) {
	const folder = examples + "/annotations"
	text, err := os.ReadFile(filepath.Join(root, folder, "prometheus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Scrapes) != 1 || !config.Scrapes[0].Native {
		t.Fatalf("native histograms are not scraped: %+v", config)
	}
	for _, name := range config.Rules {
		if _, err := os.Stat(filepath.Join(root, "dashboards", name)); err != nil {
			t.Error(err)
		}
	}
	for _, r := range config.Scrapes[0].Relabel {
		if err := r.Validate(model.UTF8Validation); err != nil {
			t.Error(err)
		}
	}
	template := &of[*apps.Deployment](mustRender(t, folder))[0].Spec.Template
	other := template.DeepCopy()
	other.Annotations = nil
	ended := template.DeepCopy()
	for _, c := range []struct {
		name  string
		pod   *core.PodTemplateSpec
		phase core.PodPhase
		want  string
	}{
		{"a server", template, core.PodRunning, "10.0.0.1:8282"},
		{"a pod without annotations", other, core.PodRunning, ""},
		{"a pod that has ended", ended, core.PodSucceeded, ""},
	} {
		var scraped string
		for _, target := range targets(c.pod, c.phase) {
			if relabel.ProcessBuilder(target, config.Scrapes[0].Relabel...) {
				scraped += target.Get(model.AddressLabel)
				if job := target.Get(model.JobLabel); job != "opa" {
					t.Errorf("%s: the job is %q", c.name, job)
				}
			}
		}
		if scraped != c.want {
			t.Errorf("%s: %q is scraped, want %q", c.name, scraped, c.want)
		}
	}
}

// targets returns what Prometheus' discovery finds of a pod: a target for each
// port, by the names of its documentation.
func targets(pod *core.PodTemplateSpec, phase core.PodPhase) (found []*labels.Builder) {
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
