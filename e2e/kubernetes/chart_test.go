// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/regometer/regometer/e2e/harness"
)

const chartFolder = "charts/opa"

// packaged returns the chart as a release packages it.
func packaged(t *testing.T) *chart.Chart {
	c, err := loader.LoadDir(filepath.Join(harness.Root, chartFolder))
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

// renderFiles returns the files of a release in a namespace of the same name,
// as Helm does. values are YAML. versions are API versions of the cluster.
func renderFiles(c *chart.Chart, release, values string, versions ...string) (map[string]string, error) {
	var parsed map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &parsed); err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(c, parsed); err != nil {
		return nil, err
	}
	cluster := common.DefaultCapabilities.Copy()
	cluster.APIVersions = slices.Concat(cluster.APIVersions, versions)
	all, err := util.ToRenderValues(c, parsed, common.ReleaseOptions{Name: release, Namespace: release, IsInstall: true}, cluster)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// renderChart returns the objects of a release, and its notes.
func renderChart(c *chart.Chart, release, values string, versions ...string) (objects []runtime.Object, notes string, err error) {
	files, err := renderFiles(c, release, values, versions...)
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Base(name) == "NOTES.txt" {
			notes += files[name]
			continue
		}
		for reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(files[name]))); ; {
			text, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", name, err)
			}
			if len(bytes.TrimSpace(text)) == 0 {
				continue // a part that the values switch off
			}
			object, _, err := decoder.Decode(text, nil, nil)
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", name, err)
			}
			access, err := meta.Accessor(object)
			if err != nil {
				return nil, "", err
			}
			access.SetNamespace(release)
			objects = append(objects, object)
		}
	}
	return objects, notes, nil
}

func mustRenderChart(t *testing.T, release, values string) []runtime.Object {
	objects, _, err := renderChart(packaged(t), release, values, operator)
	require.NoError(t, err, values)
	return objects
}

// kinds returns the kinds and names of objects, sorted.
func kinds(t *testing.T, objects []runtime.Object) (names []string) {
	for _, object := range objects {
		access, err := meta.Accessor(object)
		require.NoError(t, err)
		names = append(names, object.GetObjectKind().GroupVersionKind().Kind+" "+access.GetName())
	}
	slices.Sort(names)
	return names
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

// TestChart: each set of values gives these objects, without problems. Some of
// them only a cluster with the Prometheus operator gets.
func TestChart(t *testing.T) {
	server := []string{"Deployment opa", "NetworkPolicy opa", "PodDisruptionBudget opa", "Service opa"}
	collector := []string{"Deployment opa-collector", "NetworkPolicy opa-collector", "PodDisruptionBudget opa-collector", "Service opa-collector"}
	own := []string{"ConfigMap opa-config", "ConfigMap opa-policy"}
	monitor, rules, dashboard := "PodMonitor opa", "PrometheusRule opa-decisions", "ConfigMap opa-decisions-dashboard"
	dir, _ := documented(t)
	values, err := os.ReadFile(filepath.Join(dir, "deploy/values.yaml"))
	require.NoError(t, err)
	for _, c := range []struct {
		name, values string
		want         []string
		operated     []string // with the operator
	}{
		{"documented", string(values), slices.Concat(server, own, []string{dashboard}), []string{monitor, rules}},
		{"defaults", "", slices.Concat(server, own), []string{monitor}},
		{"only the collector", "server: {enabled: false}\ncollector: {enabled: true}", collector, []string{monitor + "-collector"}},
		{"everything", everything, slices.Concat(server, own, collector, []string{
			monitor, monitor + "-collector", rules, dashboard, "ConfigMap opa-sidecar-config", "ConfigMap opa-sidecar-envoy", "ConfigMap opa-sidecar-policy",
		}), nil},
		{"existing ConfigMaps", "server: {existingConfig: mine, existingPolicies: policies}", server, []string{monitor}},
		{"no PodMonitor, no NetworkPolicy", "{monitoring: {podMonitor: false}, networkPolicy: {enabled: false}}", slices.Concat(
			[]string{"Deployment opa", "PodDisruptionBudget opa", "Service opa"}, own), nil},
	} {
		for _, versions := range [][]string{nil, {operator}} {
			t.Run(fmt.Sprint(c.name, versions), func(t *testing.T) {
				objects, notes, err := renderChart(packaged(t), "opa", c.values, versions...)
				require.NoError(t, err)
				want := slices.Clone(c.want)
				if versions != nil {
					want = append(want, c.operated...)
				}
				slices.Sort(want)
				assert.Equal(t, want, kinds(t, objects))
				assert.Equal(t, slices.Contains(want, "Service opa"), strings.Contains(notes, "http://opa.opa:8181"), "the notes: %s", notes)
				assert.Equal(t, len(want) == len(c.want) && c.operated != nil, strings.Contains(notes, "no PodMonitor"), "the notes: %s", notes)
				for _, name := range []string{"mine", "policies"} { // which the values name
					m := &core.ConfigMap{}
					m.Name, m.Namespace = name, "opa"
					objects = append(objects, m)
				}
				assert.Empty(t, problems(objects))
			})
		}
	}
}

// TestChartValues: the values of everything reach the objects.
func TestChartValues(t *testing.T) {
	text, err := json.Marshal(mustRenderChart(t, "opa", everything))
	require.NoError(t, err)
	for want, times := range map[string]int{
		`"image":"ghcr.io/regometer/regometer/opa@sha256:0123`:                                    1,
		`"image":"registry.example.com/regometer:v1.2.3"`:                                         1,
		`"release":"kube-prometheus-stack"`:                                                       17,
		`"nodeSelector":{"disk":"fast"}`:                                                          2,
		`"imagePullSecrets":[{"name":"registry"}]`:                                                2,
		`"envFrom":[{"secretRef":{"name":"bundle-server"}}]`:                                      2,
		`"--policy=/policy","--config=/config/config.yaml","--forward=https://logs.example.com"]`: 1,
		`"configMap":{"name":"mine"}`:                                                             1,
		`"configMap":{"name":"policies"}`:                                                         1,
		`"namespaceSelector":{"any":true}`:                                                        1,
	} {
		assert.Equal(t, times, strings.Count(string(text), want), want)
	}
	text, err = json.Marshal(mustRenderChart(t, "opa", "collector: {enabled: true}"))
	require.NoError(t, err)
	workflow := harness.Read(t, ".github/workflows/release.yml")
	for _, image := range []string{"opa", "regometer"} {
		assert.Contains(t, string(text), `"image":"ghcr.io/regometer/regometer/`+image+`:v1.2.3"`)
		assert.Contains(t, workflow, "\n          image "+image)
	}
	assert.Contains(t, string(text), `"namespaceSelector":{},"sampleLimit":5000`, "two releases must not scrape the same pods")
	assert.Contains(t, workflow, "for name in opa regometer; do\n            image=\"ghcr.io/${GITHUB_REPOSITORY,,}/$name\"\n")
	assert.Contains(t, workflow, `helm package charts/opa --version "${GITHUB_REF_NAME#v}" --app-version "$GITHUB_REF_NAME" `)
}

// TestChartRollout: a changed configuration, policy or list of decisions makes
// new pods. Another change does not.
func TestChartRollout(t *testing.T) {
	template := func(values string) core.PodTemplateSpec {
		return of[*apps.Deployment](mustRenderChart(t, "opa", values))[0].Spec.Template
	}
	before := template("")
	assert.Equal(t, before, template("labels: {a: b}"))
	for _, values := range []string{"config: {status: null}", "policies: {other.rego: package other}", "decisions: [other]"} {
		assert.NotEqual(t, before, template("server: {"+values+"}"), values)
	}
}

// TestChartRefuses: the schema refuses values that make no sense, and names
// them.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"server: {replica: 3}":                                "replica",
		"server: {replicas: -1}":                              "/server/replicas",
		"server: {replicas: two}":                             "/server/replicas",
		"server: {image: {digest: v1}}":                       "/server/image/digest",
		"server: {image: {pullPolicy: Sometimes}}":            "/server/image/pullPolicy",
		"server: {image: {repository: ''}}":                   "/server/image/repository",
		"server: {decisions: []}":                             "/server/decisions",
		`server: {decisions: ['a"}, true) #']}`:               "/server/decisions/0",
		"server: {policies: {.hidden.rego: package a}}":       ".hidden.rego",
		"server: {config: text}":                              "/server/config",
		"server: {resources: {limits: {memory: null}}}":       "/server/resources/limits",
		"server: {clients: []}":                               "/server/clients",
		"collector: {enabled: true, image: {repository: ''}}": "/collector/image/repository",
		"collector: {args: [forward]}":                        "/collector/args/0",
		"collector: {tokenSecret: ''}":                        "/collector/tokenSecret",
		"sidecar: {enabled: true}":                            "/sidecar/image/repository",
		"monitoring: {podMonitor: 'true'}":                    "/monitoring/podMonitor",
		"monitoring: {sampleLimit: 0}":                        "/monitoring/sampleLimit",
		"networkPolicy: {prometheus: [{namespace: default}]}": "namespace",
		"pod: {hostNetwork: true}":                            "hostNetwork",
		"labels: {release: 1}":                                "/labels/release",
	} {
		_, _, err := renderChart(packaged(t), "opa", values)
		assert.ErrorContains(t, err, want, values)
	}
}

// TestChartLint: helm lint has nothing to say except that the chart has no
// icon.
func TestChartLint(t *testing.T) {
	for _, values := range []string{"", everything, "server: {enabled: false}"} {
		var parsed map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(values), &parsed))
		var messages []string
		for _, m := range lint.RunAll(filepath.Join(harness.Root, chartFolder), parsed, "opa").Messages {
			messages = append(messages, m.Error())
		}
		assert.Equal(t, []string{"[INFO] Chart.yaml: icon is recommended"}, messages, values)
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

// withSidecar returns the chart of the application.
func withSidecar(t *testing.T) *chart.Chart {
	c := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "app", Version: "1.0.0", Dependencies: []*chart.Dependency{{Name: "opa", Version: "1.2.3"}}},
		Templates: []*common.File{{Name: "templates/deployment.yaml", Data: []byte(application)}},
	}
	c.AddDependency(packaged(t))
	return c
}

// TestChartIsExample: the chart gives the objects of examples/kubernetes,
// except for names with a hash, Helm's own labels, checksums, and comments.
func TestChartIsExample(t *testing.T) {
	app, _, err := renderChart(withSidecar(t), "app", `
opa: {server: {enabled: false}, sidecar: {enabled: true, image: {repository: opa-envoy}}, monitoring: {podMonitor: false}}`)
	require.NoError(t, err)
	assert.Empty(t, problems(app))
	for folder, objects := range map[string][]runtime.Object{
		examples: mustRenderChart(t, "opa", `
server: {image: {repository: opa}}
monitoring: {rules: true, dashboard: true, allNamespaces: true}`),
		examples + "/collector": mustRenderChart(t, "opa", `
server: {enabled: false}
collector: {enabled: true, image: {repository: regometer}}`),
		sidecar: app,
	} {
		want := essence(t, mustRender(t, harness.Root, folder))
		delete(want, "Namespace opa") // --create-namespace
		delete(want, "Namespace opa-collector")
		delete(want, "Service app") // the application's own
		assert.Equal(t, want, essence(t, objects), folder)
	}
}

// essence returns what must be equal in objects of the chart and the example,
// by kind and name.
func essence(t *testing.T, objects []runtime.Object) map[string]any {
	found := map[string]any{}
	for _, object := range objects {
		access, err := meta.Accessor(object)
		require.NoError(t, err)
		access.SetNamespace("")
		labels := access.GetLabels()
		for _, name := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "helm.sh/chart"} {
			delete(labels, name)
		}
		access.SetLabels(labels)
		switch o := object.(type) {
		case *apps.Deployment:
			o.Spec.Template.Annotations = nil
		case *core.ConfigMap:
			if text, ok := o.Data["config.yaml"]; ok {
				asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
				require.NoError(t, err)
				o.Data["config.yaml"] = string(asJSON)
			}
		}
		text, err := json.Marshal(object)
		require.NoError(t, err)
		text = regexp.MustCompile(`"((opa|envoy)-(config|policy))-[a-z0-9]{10}"`).ReplaceAll(text, []byte(`"$1"`))
		text = []byte(strings.NewReplacer(":v1.2.3", "", "app-sidecar-envoy", "envoy-config", "app-sidecar", "opa").Replace(string(text)))
		var content map[string]any
		require.NoError(t, json.Unmarshal(text, &content))
		found[fmt.Sprint(content["kind"], " ", content["metadata"].(map[string]any)["name"])] = content
	}
	return found
}

// TestChartServer runs the chart's server with policies of its values, which
// gives the named decisions and no others.
func TestChartServer(t *testing.T) {
	harness.EndToEnd(t)
	c := start(t, harness.OPA(t), mustRenderChart(t, "opa", `
server:
  decisions: [authz/allow, shop/orders/allow]
  policies:
    shop.rego: |
      package shop.orders
      allow := true
      deny := false
`), []string{":8181", ":8282"}, asItIs)
	c.awaitReady(t)
	c.checkDecision(t, "alice", "true")
	for path, want := range map[string]int{"/v1/data/shop/orders/allow": http.StatusOK, "/v1/data/shop/orders/deny": http.StatusUnauthorized, "/v1/data/shop": http.StatusUnauthorized} {
		status, body := c.request(t, http.MethodPost, "http", path, "{}")
		assert.Equal(t, want, status, "%s: %s", path, body)
	}
	c.checkMetrics(t, "diagnostics", `opa_decisions_total{outcome="allowed",path="shop/orders/allow"} 1`)
	c.stop(t)
}
