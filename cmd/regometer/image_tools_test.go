// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/regometer/regometer/internal/app/opabuild"
	"github.com/regometer/regometer/internal/app/opaserver"
)

// tool runs a program of others, or skips the test aloud if it is not here.
func tool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tryTool(t, args...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return out
}

func tryTool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	needTool(t, args[0])
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	return string(out), err
}

func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("NOT TESTED: %v (Debian has it: apt-get install skopeo umoci runc bubblewrap)", err)
	}
}

// mustRun runs the command and returns what it prints.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), args, nil, &stdout, &stderr); status != 0 {
		t.Fatalf("%q: status %d\n%s", args, status, &stderr)
	}
	return stdout.String()
}

// TestImageTools has other people's tools read an image of the real OPA, and
// run it.
func TestImageTools(t *testing.T) {
	if os.Getenv("REGOMETER_IMAGE_TESTS") == "" {
		t.Skip("builds OPA and needs skopeo, umoci, runc and bubblewrap: make test-image")
	}
	dir := t.TempDir()
	archive, folder, bundle := filepath.Join(dir, "opa.tar"), filepath.Join(dir, "copied"), filepath.Join(dir, "bundle")
	printed := mustRun(t, "build", "--image", archive) // with the user's cache
	digest, _, _ := strings.Cut(printed, " ")
	if again := mustRun(t, "build", "--image", filepath.Join(t.TempDir(), "opa.tar")); !strings.HasPrefix(again, digest+" ") {
		t.Errorf("first %sthen %s", printed, again)
	}

	t.Run("skopeo", func(t *testing.T) {
		var image struct {
			Digest string
			Labels map[string]string
			Layers []string
		}
		if err := json.Unmarshal([]byte(tool(t, "skopeo", "inspect", "oci-archive:"+archive)), &image); err != nil {
			t.Fatal(err)
		}
		if image.Digest != digest || len(image.Layers) != 2 || image.Labels["org.opencontainers.image.title"] != "opa" {
			t.Errorf("%s is printed, skopeo sees %+v", digest, image)
		}
		tool(t, "skopeo", "inspect", "docker-archive:"+archive)
		tool(t, "skopeo", "copy", "oci-archive:"+archive, "oci:"+folder+":opa")
	})
	t.Run("platforms", func(t *testing.T) { testToolPlatforms(t, dir) })
	t.Run("program", func(t *testing.T) { testToolProgram(t, dir) })
	t.Run("umoci", func(t *testing.T) {
		needTool(t, "skopeo") // which copied it
		args := []string{"umoci", "unpack", "--image", folder + ":opa", bundle}
		if os.Geteuid() != 0 {
			args = slices.Insert(args, 2, "--rootless")
		}
		tool(t, args...)
		info, err := os.Stat(filepath.Join(bundle, "rootfs", "tmp"))
		if err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
			t.Errorf("/tmp is %v, %v", info, err)
		}
		if _, err := os.Stat(filepath.Join(bundle, "rootfs", "bin")); err == nil {
			t.Error("there is a folder /bin")
		}
	})
	t.Run("bubblewrap", func(t *testing.T) {
		needUnpacked(t, bundle)
		testBubblewrap(t, filepath.Join(bundle, "rootfs"))
	})
	t.Run("runc", func(t *testing.T) {
		needUnpacked(t, bundle)
		testRunc(t, bundle)
	})
}

func needUnpacked(t *testing.T, bundle string) {
	t.Helper()
	if _, err := os.Stat(bundle); err != nil {
		t.Skip("NOT TESTED: skopeo or umoci did not unpack the image")
	}
}

// testToolPlatforms pushes an image for two platforms to a registry.
func testToolPlatforms(t *testing.T, dir string) {
	archive := filepath.Join(dir, "two.tar")
	printed := mustRun(t, "build", "--unmodified", "--opa", tinyOPA(t), "--image", archive, "--platform", "linux/amd64,linux/arm64")
	digest, _, _ := strings.Cut(printed, " ")
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	address := s.Listener.Addr().String() + "/opa:two"
	tool(t, "skopeo", "copy", "--all", "--dest-tls-verify=false", "oci-archive:"+archive, "docker://"+address)
	ref, err := name.ParseReference(address)
	if err != nil {
		t.Fatal(err)
	}
	d, err := remote.Head(ref)
	if err != nil || d.Digest.String() != digest || !d.MediaType.IsIndex() {
		t.Errorf("%s is printed, the registry has %+v, %v", digest, d, err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		out := tool(t, "skopeo", "inspect", "--override-arch", arch, "--tls-verify=false", "--format", "{{.Os}}/{{.Architecture}}", "docker://"+address)
		if got := strings.TrimSpace(out); got != "linux/"+arch {
			t.Errorf("for linux/%s there is %s", arch, got)
		}
	}
}

// testToolProgram has an image made of a program with OPA inside, for which
// nothing but its package is named, and runs it.
func testToolProgram(t *testing.T, dir string) {
	archive, folder, bundle := filepath.Join(dir, "program.tar"), filepath.Join(dir, "program"), filepath.Join(dir, "program-bundle")
	args := []string{"build", "-C", filepath.Join("..", "..", "examples", "embed"), "--image", archive}
	printed := mustRun(t, args...)
	t.Setenv("REGOMETER_CACHE", t.TempDir()) // the cache's path is not in it
	if again := mustRun(t, args...); again != printed {
		t.Errorf("first %sthen %s", printed, again)
	}
	tool(t, "skopeo", "copy", "oci-archive:"+archive, "oci:"+folder+":embed")
	unpack := []string{"umoci", "unpack", "--image", folder + ":embed", bundle}
	if os.Geteuid() != 0 {
		unpack = slices.Insert(unpack, 2, "--rootless")
	}
	tool(t, unpack...)
	out, err := tryTool(t, "bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--clearenv",
		"--bind", filepath.Join(bundle, "rootfs"), "/", "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/", "/embed")
	if err != nil || !strings.Contains(out, "timer_rego_query_eval_ns") {
		t.Errorf("%v: %s", err, out)
	}
	var image struct{ Labels map[string]string }
	if err := json.Unmarshal([]byte(tool(t, "skopeo", "inspect", "oci-archive:"+archive)), &image); err != nil {
		t.Fatal(err)
	}
	if image.Labels[opaLabel] != opabuild.NewestVersion[1:] || image.Labels["org.opencontainers.image.title"] != "embed" {
		t.Errorf("labels %q", image.Labels)
	}
}

// testBubblewrap runs the program in a root folder that nobody can write to,
// but for /tmp.
func testBubblewrap(t *testing.T, root string) {
	opa := func(args ...string) (string, error) {
		return tryTool(t, append([]string{"bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--clearenv", "--setenv", "PATH", "/",
			"--bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--remount-ro", "/", "opa"}, args...)...)
	}
	if out, err := opa("eval", "--format", "raw", "20 + 22"); err != nil || strings.TrimSpace(out) != "42" {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := opa("build", "--output", "/bundle.tar.gz", "/tmp"); err == nil || !strings.Contains(out, "read-only file system") {
		t.Errorf("writing to /: %v: %s", err, out)
	}
	if out, err := opa("build", "--output", "/tmp/bundle.tar.gz", "/etc/ssl"); err != nil {
		t.Errorf("writing to /tmp: %v: %s", err, out)
	}
}

// testRunc starts a server as the image says, on the network of this machine
// and with a root folder that is read-only, and asks it for a decision.
func testRunc(t *testing.T, bundle string) {
	needTool(t, "runc")
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: runc needs root here")
	}
	file := filepath.Join(bundle, "config.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// What is not a server's address is left as umoci made it of the image.
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	process, linux := config["process"].(map[string]any), config["linux"].(map[string]any)
	if got := fmt.Sprint(process["args"], process["user"]); got != "[/opa run] map[gid:1000 uid:1000]" {
		t.Errorf("runs %s", got)
	}
	process["terminal"] = false
	config["root"].(map[string]any)["readonly"] = true
	linux["namespaces"] = slices.DeleteFunc(linux["namespaces"].([]any), func(n any) bool {
		return n.(map[string]any)["type"] == "network"
	})
	// The arguments that opaserver adds go to this program: it puts them there.
	starter := filepath.Join(bundle, "start")
	state, id := filepath.Join(bundle, "state"), "regometer-test"
	script := "#!/bin/sh\n" +
		`args=$(printf ',"%s"' "$@")` + "\n" +
		`cd "$(dirname "$0")" && sed "s|\"ARGUMENTS\"|\"/opa\",\"run\",\"--server\"$args|" template.json >config.json` + "\n" +
		"exec runc --root " + state + " run " + id + "\n"
	process["args"] = []string{"ARGUMENTS"}
	if text, err = json.Marshal(config); err == nil {
		err = os.WriteFile(filepath.Join(bundle, "template.json"), text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(starter, []byte(script), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		// Only if the server could not be stopped is there anything left.
		_ = exec.Command("runc", "--root", state, "delete", "--force", id).Run()
	}()
	s, err := opaserver.Start(t.Context(), opaserver.Options{Name: "container", Command: []string{starter}, Log: filepath.Join(bundle, "log")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if status, body, err := s.Do(t.Context(), "PUT", "/v1/policies/p", "package p\n\nallow if input.user == \"alice\"\n"); err != nil || status != 200 {
		t.Fatalf("policy: %d, %v: %s", status, err, body)
	}
	if status, body, err := s.Do(t.Context(), "POST", "/v1/data/p/allow", `{"input": {"user": "alice"}}`); err != nil || status != 200 || !bytes.Contains(body, []byte(`{"result":true}`)) {
		t.Errorf("decision: %d, %v: %s", status, err, body)
	}
	var running struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(tool(t, "runc", "--root", state, "state", id)), &running); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", running.PID))
	if err != nil || !bytes.Contains(status, []byte("Uid:\t1000\t1000\t1000\t1000\n")) {
		t.Errorf("runs as %v\n%s", err, status)
	}
}
