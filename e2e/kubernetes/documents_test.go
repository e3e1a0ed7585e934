// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"

	"github.com/regometer/regometer/e2e/harness"
)

const document = "kubernetes.md"

// documented returns a workspace with the files in the document, which are the
// blocks that begin with a name, and the folders of their kustomizations.
func documented(t *testing.T) (dir string, folders []string) {
	dir = workspace(t)
	for _, b := range harness.Blocks(t, document) {
		name := regexp.MustCompile(`^# (\S+/\S+)\n`).FindStringSubmatch(b.Text)
		if name == nil {
			continue
		}
		write(t, dir, name[1], b.Text)
		if folder, ok := strings.CutSuffix(name[1], "/kustomization.yaml"); ok {
			folders = append(folders, folder)
		}
	}
	return dir, folders
}

// TestDocumentedKustomizations: each overlay is rendered without problems, and
// its images have a registry and a tag. In the main overlay, the operator's
// objects have the label that Prometheus selects by, and the policy is beside
// that of the example.
func TestDocumentedKustomizations(t *testing.T) {
	dir, folders := documented(t)
	assert.GreaterOrEqual(t, len(folders), 3)
	for _, folder := range folders {
		objects := mustRender(t, dir, folder)
		assert.Empty(t, problems(objects), folder)
		for _, d := range of[*apps.Deployment](objects) {
			for _, c := range containers(&d.Spec.Template.Spec) {
				assert.Regexp(t, `/.*:`, c.Image, folder)
			}
		}
	}

	objects := mustRender(t, dir, "deploy")
	const release = "kube-prometheus-stack"
	assert.Equal(t, release, of[*monitoring.PodMonitor](objects)[0].Labels["release"])
	assert.Equal(t, release, of[*monitoring.PrometheusRule](objects)[0].Labels["release"])
	policies := 0
	for _, c := range of[*core.ConfigMap](objects) {
		if strings.HasPrefix(c.Name, "opa-policy-") && strings.Contains(c.Data["authz.rego"], "reader") && c.Data["system.rego"] != "" {
			policies++
		}
	}
	assert.Equal(t, 1, policies, "ConfigMaps with both policies")
}

// TestDocumentedServer runs the overlay's server and the document's requests.
func TestDocumentedServer(t *testing.T) {
	harness.EndToEnd(t)
	dir, _ := documented(t)
	c := startServer(t, dir, "deploy", asItIs)
	c.await(t, c.spec.ReadinessProbe, http.StatusOK)
	asked := 0
	for _, b := range harness.Blocks(t, document) {
		for _, match := range regexp.MustCompile(`curl -s localhost:8181(\S+) -d '(.*)'`).FindAllStringSubmatch(b.Text, -1) {
			asked++
			_, body := c.request(t, http.MethodPost, "http", match[1], match[2])
			assert.Equal(t, `{"result":true}`, body, match[0])
		}
	}
	assert.Equal(t, 1, asked, "documented requests")
	c.checkMetrics(t, "http", "opa_decisions_total{")
}

// TestDocumentedCommands runs the commands that need neither a cluster nor a
// registry. Of the other commands, bash checks the syntax.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "kubectl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("install %s to run the document's commands", program)
		}
	}
	dir, _ := documented(t)
	ran := 0
	for _, b := range harness.Blocks(t, document) {
		if b.Language != "sh" {
			continue
		}
		options := "-euo"
		if b.Needs == "" {
			ran++
		} else {
			require.Contains(t, []string{"cluster", "registry"}, b.Needs)
			options = "-neuo"
		}
		harness.Run(t, dir, nil, "bash", options, "pipefail", "-c", b.Text)
	}
	assert.GreaterOrEqual(t, ran, 2)
}
