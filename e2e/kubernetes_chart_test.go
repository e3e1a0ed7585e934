// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const chartFolder = "charts/opa"

// packaged returns the chart as a release packages it.
func packaged(t *testing.T) *chart.Chart {
	c, err := loader.LoadDir(filepath.Join(root, chartFolder))
	require.NoError(t, err)
	c.Metadata.Version, c.Metadata.AppVersion = "1.2.3", "v1.2.3"
	file, err := chartutil.Save(c, t.TempDir())
	require.NoError(t, err)
	c, err = loader.LoadFile(file)
	require.NoError(t, err)
	return c
}

// The Prometheus operator's types: their group and version.
const (
	operatorGroup = "monitoring.coreos.com"
	operator      = operatorGroup + "/v1"
)

// renderChart returns the manifests of a release with the name opa in the
// namespace opa, by file, as Helm does. values are YAML. versions are API
// versions of the cluster.
func renderChart(c *chart.Chart, values string, versions ...string) (map[string]string, error) {
	var parsed map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &parsed); err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(c, parsed); err != nil {
		return nil, err
	}
	cluster := common.DefaultCapabilities.Copy()
	cluster.APIVersions = slices.Concat(cluster.APIVersions, versions)
	all, err := util.ToRenderValues(c, parsed, common.ReleaseOptions{Name: "opa", Namespace: "opa", IsInstall: true}, cluster)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	for name := range files {
		if filepath.Ext(name) != ".yaml" { // the notes
			delete(files, name)
		}
	}
	return files, err
}

// chartObjects returns the objects of a release.
func chartObjects(t *testing.T, c *chart.Chart, values string, versions ...string) (objects []runtime.Object) {
	files, err := renderChart(c, values, versions...)
	require.NoError(t, err, values)
	for name, text := range files {
		objects = append(objects, decode(t, name, text)...)
	}
	return objects
}

// chartValues returns values by a name for them.
func chartValues(t *testing.T) map[string]string {
	dir, _ := documented(t)
	text, err := os.ReadFile(filepath.Join(dir, "deploy/values.yaml"))
	require.NoError(t, err)
	return map[string]string{
		"defaults":   "",
		"documented": string(text),
		"collector":  "server: {enabled: false}\ncollector: {enabled: true}",
		"existing":   "{server: {existingConfig: mine, existingPolicies: policies}, monitoring: {podMonitor: false}, networkPolicy: {enabled: false}}",
		"everything": everything,
	}
}

// The values of all parts.
const everything = `
collector: {enabled: true, image: {repository: registry.example.com/regometer}, existingPolicies: policies, existingConfig: mine, envFrom: [{secretRef: {name: bundle-server}}], args: [--forward=https://logs.example.com]}
sidecar: {enabled: true, image: {repository: registry.example.com/opa-envoy, tag: "1.0"}}
monitoring: {podMonitor: true, rules: true, dashboard: true, allNamespaces: true}
labels: {release: kube-prometheus-stack}
pod: {nodeSelector: {disk: fast}, imagePullSecrets: [{name: registry}]}
server:
  envFrom: [{secretRef: {name: bundle-server}}]
  image: {digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
`

// TestChart: the APIs' types have all fields of the chart's objects, with and
// without the Prometheus operator in the cluster. helm lint has nothing to say
// except that the chart has no icon.
func TestChart(t *testing.T) {
	for name, values := range chartValues(t) {
		assert.NotEmpty(t, chartObjects(t, packaged(t), values), name)
		assert.NotEmpty(t, chartObjects(t, packaged(t), values, operator), name)
		var parsed map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(values), &parsed))
		var messages []string
		for _, m := range lint.RunAll(filepath.Join(root, chartFolder), parsed, "opa").Messages {
			messages = append(messages, m.Error())
		}
		assert.Equal(t, []string{"[INFO] Chart.yaml: icon is recommended"}, messages, name)
	}
	assert.NotEmpty(t, chartObjects(t, withSidecar(t), sidecarValues), "an application with the sidecar")
}

// TestChartRefuses: the schema refuses a value that would change the policy's
// code, and a misspelled one.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		`server: {decisions: ['a"}, true) #']}`: "/server/decisions/0",
		"server: {replica: 3}":                  "replica",
		"sidecar: {enabled: true}":              "/sidecar/image/repository",
	} {
		_, err := renderChart(packaged(t), values)
		assert.ErrorContains(t, err, want, values)
	}
}

// An application whose chart has ours as a dependency, as _sidecar.tpl says.
const application = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 2
  selector: {matchLabels: {app.kubernetes.io/name: app}}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: app
        opa-diagnostics: "true"
      annotations: {checksum/opa: {{ include "opa.sidecar.checksum" .Subcharts.opa }}}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30
      securityContext: {runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
      initContainers: {{- include "opa.sidecar.containers" .Subcharts.opa | nindent 8 }}
      volumes: {{- include "opa.sidecar.volumes" .Subcharts.opa | nindent 8 }}
      containers:
        - name: app
          image: app
          imagePullPolicy: IfNotPresent
          lifecycle: {preStop: {sleep: {seconds: 5}}}
          resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 256Mi}}
          {{- include "opa.securityContext" . | nindent 10 }}
`

const sidecarValues = "opa: {server: {enabled: false}, sidecar: {enabled: true, image: {repository: opa-envoy}}}"

// withSidecar returns the chart of the application.
func withSidecar(t *testing.T) *chart.Chart {
	c := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "app", Version: "1.0.0", Dependencies: []*chart.Dependency{{Name: "opa", Version: "1.2.3"}}},
		Templates: []*common.File{{Name: "templates/deployment.yaml", Data: []byte(application)}},
	}
	c.AddDependency(packaged(t))
	return c
}
