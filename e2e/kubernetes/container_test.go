// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/regometer/regometer/e2e/harness"
)

// A container is a process that runs the command line of a pod's container opa.
type container map[string]string // the addresses and folders here, by those in the pod

// start runs the container, until the end of the test, and returns once the pod
// would be ready. The addresses are those that the container listens on.
func start(t *testing.T, binary string, objects []runtime.Object, addresses ...string) container {
	pod := of[*apps.Deployment](objects)[0].Spec.Template.Spec
	all := slices.Concat(pod.InitContainers, pod.Containers)
	i := slices.IndexFunc(all, func(c core.Container) bool { return c.Name == "opa" })
	require.GreaterOrEqual(t, i, 0, "the pod has no container opa")
	here := container{}
	var quoted []string // as in a configuration
	for _, address := range addresses {
		here[address] = harness.FreeAddress(t)
		quoted = append(quoted, `"`+address+`"`, `"`+here[address]+`"`)
	}
	for _, m := range all[i].VolumeMounts {
		here[m.MountPath] = t.TempDir()
		for _, v := range pod.Volumes {
			if v.Name != m.Name || v.ConfigMap == nil {
				continue
			}
			maps := of[*core.ConfigMap](objects)
			found := slices.IndexFunc(maps, func(c *core.ConfigMap) bool { return c.Name == v.ConfigMap.Name })
			require.GreaterOrEqual(t, found, 0, "there is no ConfigMap %s", v.ConfigMap.Name)
			for name, text := range maps[found].Data { // the kubelet makes links to a hidden folder
				write(t, here[m.MountPath], "..data/"+name, strings.NewReplacer(quoted...).Replace(text))
				require.NoError(t, os.Symlink("..data/"+name, filepath.Join(here[m.MountPath], name)))
			}
		}
	}
	var args []string
	for _, arg := range all[i].Args {
		value := arg[strings.Index(arg, "=")+1:]
		for there, local := range here {
			if rest, ok := strings.CutPrefix(value, there); ok && (rest == "" || rest[0] == '/') {
				arg = strings.TrimSuffix(arg, value) + local + rest
			}
		}
		args = append(args, arg)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = t.TempDir(), []string{"TMPDIR=" + here["/tmp"]}
	process := harness.Start(t, cmd)
	harness.Await(t, "the pod is ready", func() bool {
		require.False(t, process.Ended(), "the container has ended")
		status, _, _ := harness.Ask(t.Context(), http.MethodGet, "http://"+here[":8282"]+all[i].ReadinessProbe.HTTPGet.Path, "", "")
		return status == http.StatusOK
	})
	return here
}

// ask makes a request to an address of the pod.
func (c container) ask(t *testing.T, method, address, path, body string) (status int, answer string) {
	status, answer, err := harness.Ask(t.Context(), method, "http://"+c[address]+path, body, "")
	require.NoError(t, err)
	return status, strings.TrimSpace(answer)
}

// TestServer runs the server of the example, of the chart, and of the overlay
// in docs/kubernetes.md, whose request gets its answer. Clients may ask for the
// decisions that system.rego names, and nothing else.
func TestServer(t *testing.T) {
	harness.EndToEnd(t)
	dir, _ := documented(t)
	request := regexp.MustCompile(`curl -s localhost:8181/v1/data/authz/allow -d '(.*)'`).FindStringSubmatch(harness.Read(t, "docs/kubernetes.md"))
	require.NotNil(t, request)
	for _, server := range []struct {
		name    string
		objects []runtime.Object
		allowed string
	}{
		{"example", render(t, dir, examples), `{"input": {"user": "alice"}}`},
		{"chart", chartObjects(t, packaged(t), ""), `{"input": {"user": "alice"}}`},
		{"document", render(t, dir, "deploy"), request[1]},
	} {
		c := start(t, harness.OPA(t), server.objects, ":8181", ":8282")
		for body, want := range map[string]string{server.allowed: `{"result":true}`, `{"input": {"user": "mallory"}}`: `{"result":false}`} {
			_, answer := c.ask(t, http.MethodPost, ":8181", "/v1/data/authz/allow", body)
			assert.Equal(t, want, answer, server.name)
		}
		for _, refused := range []string{
			"PUT /v1/policies/authz", "GET /v1/policies", "DELETE /v1/policies/authz.rego", "PATCH /v1/data/users", "GET /v1/config",
			"GET /v1/query?q=data", "POST /v1/query", "POST /v1/compile", "POST /", "POST /v0/data/authz/allow",
			"GET /v1/data", "GET /v1/data/authz/allow", "POST /v1/data", "POST /v1/data/", "POST /v1/data/authz",
			"POST /v1/data/authz/allow/x", "POST /v1/data/authz%2Fallow", "POST /v1/data/system/authz/decisions",
		} {
			method, path, _ := strings.Cut(refused, " ")
			status, body := c.ask(t, method, ":8181", path, "{}")
			assert.Equal(t, http.StatusUnauthorized, status, "%s: %s: %s", server.name, refused, body)
		}
		_, metrics := c.ask(t, http.MethodGet, ":8282", "/metrics", "")
		assert.Contains(t, metrics, `opa_decisions_total{outcome="allowed",path="authz/allow"} 1`+"\n", server.name)
		assert.Contains(t, metrics, `opa_decision_received_total{source="server"} 2`+"\n", server.name)
	}
}

// TestSidecar runs OPA as Envoy's sidecar. If there is an Envoy, it asks OPA,
// with the example's configuration.
func TestSidecar(t *testing.T) {
	harness.Need(t)
	binary := harness.EnvoyPlugin(t)
	if binary == "" {
		binary = harness.ExtAuthz(t)
	}
	t.Parallel()
	const authorization = "127.0.0.1:9191"
	c := start(t, binary, render(t, harness.Root, sidecar), "127.0.0.1:8181", ":8282", authorization)
	envoy := harness.Envoy()
	if envoy == "" {
		t.Skip("there is no envoy on PATH: make test-envoy fetches one")
	}
	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(app.Close)
	c["0.0.0.0:8000"], c["127.0.0.1:8080"] = harness.FreeAddress(t), app.Listener.Addr().String()
	config := harness.Read(t, sidecar+"/envoy.yaml")
	for _, there := range []string{"0.0.0.0:8000", "127.0.0.1:8080", authorization} {
		form := func(address string) string {
			return "{address: " + strings.Replace(address, ":", ", port_value: ", 1) + "}"
		}
		require.Contains(t, config, form(there))
		config = strings.ReplaceAll(config, form(there), form(c[there]))
	}
	harness.Start(t, exec.Command(envoy, "--config-yaml", config, "--use-dynamic-base-id", "--log-level", "warn"))
	harness.Await(t, "Envoy answers", func() bool {
		_, _, err := harness.Ask(t.Context(), http.MethodGet, "http://"+c["0.0.0.0:8000"], "", "")
		return err == nil
	})
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusForbidden} {
		status, _ := c.ask(t, method, "0.0.0.0:8000", "/", "")
		assert.Equal(t, want, status, method)
	}
	_, metrics := c.ask(t, http.MethodGet, ":8282", "/metrics", "")
	for _, outcome := range []string{"allowed", "denied"} {
		assert.Contains(t, metrics, fmt.Sprintf(`opa_decisions_total{outcome=%q,path="envoy/authz/allow"} `, outcome))
	}
}
