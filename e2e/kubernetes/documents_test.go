// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/prometheus/promql/parser"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

// A block is a fenced block of docs/kubernetes.md. What it needs is said by a
// comment before it, such as <!-- run: cluster -->: a cluster or a registry,
// which there are none of here. Those without one are run.
type block struct{ needs, language, text string }

func blocks(t *testing.T) (found []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile("(?ms)^(?:<!-- run: ([a-z]+) -->\n)?```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		found = append(found, block{match[1], match[2], match[3]})
	}
	if fences := strings.Count(string(text), "\n```"); fences != 2*len(found) || fences < 20 {
		t.Errorf("%d fences, but %d blocks with a language were found", fences, len(found))
	}
	return found
}

// documented returns a workspace with the files that the document shows: the
// blocks that begin with a name. Their kustomizations are returned too.
func documented(t *testing.T) (dir string, folders []string) {
	t.Helper()
	dir = workspace(t)
	for _, b := range blocks(t) {
		name := regexp.MustCompile(`^# (\S+/\S+)\n`).FindStringSubmatch(b.text)
		if name == nil {
			continue
		}
		write(t, dir, name[1], b.text)
		if folder, ok := strings.CutSuffix(name[1], "/kustomization.yaml"); ok {
			folders = append(folders, folder)
		}
	}
	return dir, folders
}

// TestDocumentedKustomizations: each overlay is rendered, and nothing is wrong
// with it; all of its images are named.
func TestDocumentedKustomizations(t *testing.T) {
	t.Parallel()
	dir, folders := documented(t)
	if len(folders) < 3 {
		t.Errorf("only %v found", folders)
	}
	for _, folder := range folders {
		objects, err := render(filepath.Join(dir, folder))
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		for _, problem := range problems(objects) {
			t.Errorf("%s: %s", folder, problem)
		}
		for _, d := range of[*apps.Deployment](objects) {
			for _, c := range containers(&d.Spec.Template.Spec) {
				if !strings.Contains(c.Image, "/") || !strings.Contains(c.Image, ":") {
					t.Errorf("%s: the image %s has no registry or no tag", folder, c.Image)
				}
			}
		}
	}
}

// TestDocumentedLabels: the operator's objects have the label that Prometheus
// asks for, and the overlay's policy is beside that of the example.
func TestDocumentedLabels(t *testing.T) {
	t.Parallel()
	dir, _ := documented(t)
	objects, err := render(filepath.Join(dir, "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "kube-prometheus-stack"
	if of[*monitoring.PodMonitor](objects)[0].Labels["release"] != name || of[*monitoring.PrometheusRule](objects)[0].Labels["release"] != name {
		t.Error("the label release is missing")
	}
	policies := 0
	for _, c := range of[*core.ConfigMap](objects) {
		if strings.HasPrefix(c.Name, "opa-policy-") && strings.Contains(c.Data["authz.rego"], "reader") && c.Data["system.rego"] != "" {
			policies++
		}
	}
	if policies != 1 {
		t.Errorf("%d ConfigMaps with both policies, want 1", policies)
	}
}

// TestDocumentedQueries: Prometheus reads the queries.
func TestDocumentedQueries(t *testing.T) {
	t.Parallel()
	parsed := 0
	for _, b := range blocks(t) {
		if b.language == "promql" {
			parsed++
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(b.text); err != nil {
				t.Errorf("%v\n%s", err, b.text)
			}
		}
	}
	if parsed == 0 {
		t.Error("no queries found")
	}
}

// TestDocumentedServer runs the server of the overlay, and asks it as the
// document does.
func TestDocumentedServer(t *testing.T) {
	endToEnd(t)
	dir, _ := documented(t)
	c, _ := startServer(t, filepath.Join(dir, "deploy"), asItIs)
	c.await(t, c.spec.ReadinessProbe, http.StatusOK)
	asked := 0
	for _, b := range blocks(t) {
		for _, match := range regexp.MustCompile(`curl -s localhost:8181(\S+) -d '(.*)'`).FindAllStringSubmatch(b.text, -1) {
			asked++
			if _, body := request(t.Context(), t, http.MethodPost, c.url(t, "http")+match[1], match[2]); body != `{"result":true}` {
				t.Errorf("%s: %s", match[0], body)
			}
		}
	}
	if asked != 1 {
		t.Errorf("%d decisions are asked for, want 1", asked)
	}
	if _, metrics := request(t.Context(), t, http.MethodGet, c.url(t, "http")+"/metrics", ""); !strings.Contains(metrics, "\nopa_decisions_total{") {
		t.Error("/metrics does not have the decision")
	}
}

// TestDocumentedCommands runs the commands that need no cluster and no
// registry, in a workspace; the others have to be what bash can read.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "kubectl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: the document's commands are not run", program)
		}
	}
	dir, _ := documented(t)
	ran := 0
	for _, b := range blocks(t) {
		if b.language != "sh" {
			continue
		}
		options := []string{"-euo", "pipefail"}
		switch b.needs {
		case "":
			ran++
		case "cluster", "registry":
			options = append(options, "-n") // read only
		default:
			t.Errorf("there is no way %q to run a block", b.needs)
		}
		cmd := exec.CommandContext(t.Context(), "bash", append(options, "-c", b.text)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", b.text, err, out)
		}
	}
	if ran < 2 {
		t.Errorf("only %d blocks were run", ran)
	}
}
