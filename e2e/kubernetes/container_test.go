// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/regometer/regometer/e2e/harness"
)

// environment returns the variables of a container: those with a value, and
// those from its resources.
func environment(c *core.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, v := range c.Env {
		switch {
		case v.ValueFrom == nil:
			value := v.Value
			for name, known := range env {
				value = strings.ReplaceAll(value, "$("+name+")", known)
			}
			env[v.Name] = value
		case v.ValueFrom.ResourceFieldRef != nil && v.ValueFrom.ResourceFieldRef.Resource == "limits.memory":
			divisor := v.ValueFrom.ResourceFieldRef.Divisor.Value()
			env[v.Name] = strconv.FormatInt((c.Resources.Limits.Memory().Value()+divisor-1)/divisor, 10)
		default:
			return nil, fmt.Errorf("the variable %s comes from a source that the test does not know", v.Name)
		}
	}
	return env, nil
}

// A container is a process that runs the command line of a pod's container opa.
type container struct {
	*harness.Process
	spec  core.Container
	grace time.Duration     // from SIGTERM to SIGKILL
	local map[string]string // the addresses and folders here, by those in the pod
}

// start runs the container opa of the deployment among objects. It translates
// these addresses, which the container listens on, and the mounted folders in
// the arguments and the ConfigMaps, and nothing else. edit changes the
// ConfigMaps' files.
func start(t *testing.T, binary string, objects []runtime.Object, addresses []string, edit func(string) string) *container {
	d := of[*apps.Deployment](objects)[0]
	pod := d.Spec.Template.Spec
	i := slices.IndexFunc(containers(&pod), func(c core.Container) bool { return c.Name == "opa" })
	require.GreaterOrEqual(t, i, 0, "the pod has no container opa")
	c := &container{spec: containers(&pod)[i], grace: time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second, local: map[string]string{}}
	require.Empty(t, c.spec.Command, "the container replaces the image's command")

	for _, address := range addresses {
		c.local[address] = harness.FreeAddress(t)
	}
	translate := func(text string) string {
		for _, address := range addresses {
			text = strings.ReplaceAll(text, `"`+address+`"`, `"`+c.local[address]+`"`)
		}
		return text
	}
	known := configMaps(objects, d.Namespace)
	for _, m := range c.spec.VolumeMounts {
		c.local[m.MountPath] = t.TempDir()
		for _, v := range pod.Volumes {
			if v.Name == m.Name && v.ConfigMap != nil {
				mount(t, known[v.ConfigMap.Name], c.local[m.MountPath], func(text string) string { return translate(edit(text)) })
			}
		}
	}
	var args []string
	for _, arg := range c.spec.Args {
		value := arg[strings.Index(arg, "=")+1:]
		local := c.here(value)
		require.False(t, local == value && regexp.MustCompile(`^[^/]*:\d+$`).MatchString(value), "%s is not one of the addresses %v", arg, addresses)
		args = append(args, strings.TrimSuffix(arg, value)+local)
	}
	env, err := environment(&c.spec)
	require.NoError(t, err)
	env["TMPDIR"] = c.local["/tmp"]
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = t.TempDir(), []string{}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	c.Process = harness.Start(t, cmd)
	return c
}

// here translates an address, or a path in a mounted folder.
func (c *container) here(value string) string {
	for there, local := range c.local {
		if rest, ok := strings.CutPrefix(value, there); ok && (rest == "" || rest[0] == '/') {
			return local + rest
		}
	}
	return value
}

// mount writes a ConfigMap to a folder as the kubelet does: the files are links
// into a hidden folder, which another hidden link names.
func mount(t *testing.T, c *core.ConfigMap, dir string, edit func(string) string) {
	const version = "..2026_01_02_03_04_05.0123456789"
	require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o777))
	require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data")))
	for name, text := range c.Data {
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, name), []byte(edit(text)), 0o666))
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
}

// url returns the URL of a port, on which the container must listen at all
// addresses.
func (c *container) url(t *testing.T, port string) string {
	i := slices.IndexFunc(c.spec.Ports, func(p core.ContainerPort) bool { return p.Name == port })
	require.GreaterOrEqual(t, i, 0, "no port %s", port)
	address := c.local[fmt.Sprint(":", c.spec.Ports[i].ContainerPort)]
	require.NotEmpty(t, address, "the container does not listen on its port %s", port)
	return "http://" + address
}

// request makes a request to a port, and returns the HTTP status and the body
// of the answer.
func (c *container) request(t *testing.T, method, port, path, body string) (status int, answer string) {
	status, answer, err := harness.Ask(t.Context(), method, c.url(t, port)+path, body, "")
	require.NoError(t, err)
	return status, strings.TrimSpace(answer)
}

// checkDecision asks whether a user is allowed.
func (c *container) checkDecision(t *testing.T, user, want string) {
	status, body := c.request(t, http.MethodPost, "http", "/v1/data/authz/allow", fmt.Sprintf(`{"input": {"user": %q}}`, user))
	assert.Equal(t, http.StatusOK, status, user)
	assert.Equal(t, `{"result":`+want+`}`, body, user)
}

// checkMetrics: a scrape has these beginnings of lines.
func (c *container) checkMetrics(t *testing.T, port string, want ...string) {
	_, metrics := c.request(t, http.MethodGet, port, "/metrics", "")
	for _, line := range want {
		assert.Contains(t, metrics, "\n"+line)
	}
}

// probe makes the request of a probe, and returns the HTTP status of the
// answer, or 0 without an answer.
func (c *container) probe(t *testing.T, p *core.Probe) int {
	status, _, _ := harness.Ask(t.Context(), http.MethodGet, c.url(t, p.HTTPGet.Port.StrVal)+p.HTTPGet.Path, "", "")
	return status
}

// await repeats the request of a probe until the answer has an HTTP status.
func (c *container) await(t *testing.T, p *core.Probe, status int) {
	harness.Await(t, fmt.Sprintf("HTTP status %d from %s", status, p.HTTPGet.Path), func() bool {
		require.False(t, c.Ended(), "the container has ended")
		return c.probe(t, p) == status
	})
}

// awaitReady returns once all probes succeed.
func (c *container) awaitReady(t *testing.T) {
	for _, p := range []*core.Probe{c.spec.StartupProbe, c.spec.ReadinessProbe, c.spec.LivenessProbe} {
		c.await(t, p, http.StatusOK)
	}
}

// stop ends the container as the kubelet does. The kubelet would kill a
// container that does not end in time.
func (c *container) stop(t *testing.T) {
	require.NoError(t, c.Cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-c.Exited:
		assert.Zero(t, c.Cmd.ProcessState.ExitCode(), c.Cmd.ProcessState)
	case <-time.After(c.grace):
		assert.Fail(t, "the container has not ended", "after %v", c.grace)
	}
}
