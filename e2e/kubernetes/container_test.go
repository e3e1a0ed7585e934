// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// patience is how long a container may take to be ready.
const patience = time.Minute

var client = &http.Client{Timeout: 10 * time.Second}

// environment returns what the container's variables are: those that are given,
// and those from its resources.
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
			return nil, fmt.Errorf("the test does not know where the variable %s is from", v.Name)
		}
	}
	return env, nil
}

// A container is a process that runs a container's command line.
type container struct {
	spec      core.Container
	addresses map[string]string // by the address in the container, such as ":8181"
	log       string            // a file
	cmd       *exec.Cmd
	exited    chan struct{} // closed when the process has ended
}

// here says what differs from the cluster: folders and addresses. All of these
// that a container's arguments and its ConfigMaps name are translated, and
// nothing else is.
type here struct{ folders, addresses map[string]string }

// value translates an argument's value, if it is one of those.
func (h here) value(v string) string {
	if address, ok := h.addresses[v]; ok {
		return address
	}
	for folder, local := range h.folders {
		if rest, ok := strings.CutPrefix(v, folder); ok && (rest == "" || rest[0] == '/') {
			return local + rest
		}
	}
	return v
}

// text translates the addresses in a file of a ConfigMap.
func (h here) text(text string) string {
	for address, local := range h.addresses {
		text = strings.ReplaceAll(text, `"`+address+`"`, `"`+local+`"`)
	}
	return text
}

// start runs a container of a pod, with what its ConfigMaps say after edit. The
// addresses are those that it listens on.
func start(t *testing.T, binary string, objects []runtime.Object, namespace string, pod *core.PodTemplateSpec, name string,
	addresses []string, edit func(string) string,
) *container {
	t.Helper()
	i := slices.IndexFunc(containers(&pod.Spec), func(c core.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no container %s", name)
	}
	c := &container{spec: containers(&pod.Spec)[i], exited: make(chan struct{}), log: filepath.Join(t.TempDir(), "log")}

	h := here{folders: map[string]string{}, addresses: map[string]string{}}
	for _, address := range addresses {
		h.addresses[address] = freeAddress(t)
	}
	c.addresses = h.addresses
	known := configMaps(objects, namespace)
	for _, m := range c.spec.VolumeMounts {
		h.folders[m.MountPath] = t.TempDir()
		for _, v := range pod.Spec.Volumes {
			if v.Name == m.Name && v.ConfigMap != nil {
				mount(t, known[v.ConfigMap.Name], h.folders[m.MountPath], func(text string) string { return h.text(edit(text)) })
			}
		}
	}
	if len(c.spec.Command) > 0 {
		t.Fatalf("%s replaces the image's command", name)
	}
	var args []string
	for _, arg := range c.spec.Args {
		flag, value, ok := strings.Cut(arg, "=")
		if !ok {
			flag, value = "", arg
		} else {
			flag += "="
		}
		args = append(args, flag+h.value(value))
		if h.addresses[value] == "" && regexp.MustCompile(`^[^/]*:\d+$`).MatchString(value) {
			t.Fatalf("%s: %s is none of the addresses %v", name, arg, addresses)
		}
	}
	env, err := environment(&c.spec)
	if err != nil {
		t.Fatal(err)
	}
	env["TMPDIR"] = h.folders["/tmp"]

	output, err := os.Create(c.log)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close() // the process has its own handle
	c.cmd = exec.Command(binary, args...)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr, c.cmd.Env = t.TempDir(), output, output, []string{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.cmd.Env = append(c.cmd.Env, name+"="+env[name])
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // however it ended
		close(c.exited)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		<-c.exited
		if t.Failed() {
			t.Logf("%s wrote:\n%s", name, c.words())
		}
	})
	return c
}

// mount writes a ConfigMap to a folder as the kubelet does: the files are links
// into a hidden folder, which another hidden link names.
func mount(t *testing.T, c *core.ConfigMap, dir string, edit func(string) string) {
	t.Helper()
	const version = "..2026_01_02_03_04_05.0123456789"
	errs := []error{os.Mkdir(filepath.Join(dir, version), 0o777), os.Symlink(version, filepath.Join(dir, "..data"))}
	for name, text := range c.Data {
		errs = append(errs, os.WriteFile(filepath.Join(dir, version, name), []byte(edit(text)), 0o666),
			os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (c *container) words() string {
	text, err := os.ReadFile(c.log)
	return fmt.Sprint(string(text), errors.Join(err))
}

// url returns that of a port of the container, which it may not listen on at
// 127.0.0.1 only.
func (c *container) url(t *testing.T, port string) string {
	t.Helper()
	for _, p := range c.spec.Ports {
		if p.Name == port {
			if address, ok := c.addresses[fmt.Sprint(":", p.ContainerPort)]; ok {
				return "http://" + address
			}
		}
	}
	t.Fatalf("%s does not listen on its port %s", c.spec.Name, port)
	return ""
}

// probe makes the request of a probe, and returns the answer's status, 0 if
// there is none.
func (c *container) probe(t *testing.T, p *core.Probe) int {
	t.Helper()
	response, err := client.Get(c.url(t, p.HTTPGet.Port.StrVal) + p.HTTPGet.Path)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// await makes the request of a probe until it is answered as wanted.
func (c *container) await(t *testing.T, p *core.Probe, status int) {
	t.Helper()
	var got int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-c.exited:
			t.Fatalf("%s has ended: %v", c.spec.Name, c.cmd.ProcessState)
		default:
		}
		if got = c.probe(t, p); got == status {
			return
		}
	}
	t.Fatalf("%s: the answer to %s is %d, want %d", c.spec.Name, p.HTTPGet.Path, got, status)
}

// request returns the answer's status and body.
func request(ctx context.Context, t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

// stop ends the container as the kubelet does, which kills it if it has not
// ended by then.
func (c *container) stop(t *testing.T, grace time.Duration) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.exited:
		if code := c.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%s ends with %v", c.spec.Name, c.cmd.ProcessState)
		}
	case <-time.After(grace):
		t.Errorf("%s has not ended after %v", c.spec.Name, grace)
	}
}

// opaBinary is the path of an opa built by `regometer build`, or the one that
// REGOMETER_E2E names.
var opaBinary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("REGOMETER_E2E"); path != "1" {
		return path, nil
	}
	var stdout bytes.Buffer
	cmd := exec.Command("go", "run", "./cmd/regometer", "build")
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=", "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("regometer build: %w", err)
	}
	return strings.TrimSpace(stdout.String()), nil
})
