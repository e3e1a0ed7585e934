// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/opabuild"
)

// tool runs another program, which must succeed. It skips the test if the
// program is not installed.
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
		t.Skipf("NOT TESTED: %v (Debian has it: apt-get install skopeo umoci bubblewrap)", err)
	}
}

// TestImageTools reads and runs an image of the real OPA with other people's
// tools.
func TestImageTools(t *testing.T) {
	if os.Getenv("REGOMETER_IMAGE_TESTS") == "" {
		t.Skip("builds OPA and needs skopeo, umoci and bubblewrap: set REGOMETER_IMAGE_TESTS=1")
	}
	dir := t.TempDir()
	archive, folder, bundle := filepath.Join(dir, "opa.tar"), filepath.Join(dir, "copied"), filepath.Join(dir, "bundle")
	printed := succeed(t, "build", "--image", archive) // with the user's cache
	digest, _, _ := strings.Cut(printed, " ")
	if again := succeed(t, "build", "--image", filepath.Join(t.TempDir(), "opa.tar")); !strings.HasPrefix(again, digest+" ") {
		t.Errorf("first %sthen %s", printed, again)
	}

	t.Run("skopeo", func(t *testing.T) {
		var image struct {
			Digest string
			Labels map[string]string
			Layers []string
		}
		noError(json.Unmarshal([]byte(tool(t, "skopeo", "inspect", "oci-archive:"+archive)), &image))
		if image.Digest != digest || len(image.Layers) != 2 || image.Labels["org.opencontainers.image.title"] != "opa" {
			t.Errorf("%s is printed, skopeo sees %+v", digest, image)
		}
		tool(t, "skopeo", "inspect", "docker-archive:"+archive)
		tool(t, "skopeo", "copy", "oci-archive:"+archive, "oci:"+folder+":opa")
	})
	t.Run("program", func(t *testing.T) { testToolProgram(t, dir) })
	t.Run("umoci", func(t *testing.T) {
		needTool(t, "skopeo") // which copied it
		unpack(t, folder+":opa", bundle)
		info, err := os.Stat(filepath.Join(bundle, "rootfs", "tmp"))
		if err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
			t.Errorf("/tmp is %v, %v", info, err)
		}
		if _, err := os.Stat(filepath.Join(bundle, "rootfs", "bin")); err == nil {
			t.Error("there is a folder /bin")
		}
		var config struct {
			Process struct {
				Args []string
				User struct{ UID, GID int }
			}
		}
		noError(json.Unmarshal([]byte(read(filepath.Join(bundle, "config.json"))), &config))
		if got := fmt.Sprint(config.Process); got != "{[/opa run] {1000 1000}}" {
			t.Errorf("the process is %s", got)
		}
	})
	t.Run("bubblewrap", func(t *testing.T) {
		if _, err := os.Stat(bundle); err != nil {
			t.Skip("NOT TESTED: skopeo or umoci did not unpack the image")
		}
		if out, err := runIn(t, bundle, "opa", "eval", "--format", "raw", "20 + 22"); err != nil || strings.TrimSpace(out) != "42" {
			t.Errorf("%v: %s", err, out)
		}
		if out, err := runIn(t, bundle, "opa", "build", "--output", "/bundle.tar.gz", "/tmp"); err == nil || !strings.Contains(out, "read-only file system") {
			t.Errorf("writing to /: %v: %s", err, out)
		}
		if out, err := runIn(t, bundle, "opa", "build", "--output", "/tmp/bundle.tar.gz", "/etc/ssl"); err != nil {
			t.Errorf("writing to /tmp: %v: %s", err, out)
		}
	})
}

// testToolProgram makes an image of a program with OPA inside, by the name of
// its package alone, and runs it.
func testToolProgram(t *testing.T, dir string) {
	archive, folder, bundle := filepath.Join(dir, "program.tar"), filepath.Join(dir, "program"), filepath.Join(dir, "program-bundle")
	args := []string{"build", "-C", filepath.Join("..", "..", "opa", "examples", "embed"), "--image", archive}
	printed := succeed(t, args...)
	t.Setenv("REGOMETER_CACHE", t.TempDir()) // the cache's path is not in it
	if again := succeed(t, args...); again != printed {
		t.Errorf("first %sthen %s", printed, again)
	}
	tool(t, "skopeo", "copy", "oci-archive:"+archive, "oci:"+folder+":embed")
	unpack(t, folder+":embed", bundle)
	out, err := runIn(t, bundle, "/embed")
	if err != nil || !strings.Contains(out, "timer_rego_query_eval_ns") {
		t.Errorf("%v: %s", err, out)
	}
	var image struct{ Labels map[string]string }
	noError(json.Unmarshal([]byte(tool(t, "skopeo", "inspect", "oci-archive:"+archive)), &image))
	if image.Labels[opaLabel] != opabuild.NewestVersion[1:] || image.Labels["org.opencontainers.image.title"] != "embed" {
		t.Errorf("labels %q", image.Labels)
	}
}

// unpack unpacks an image with umoci.
func unpack(t *testing.T, image, bundle string) {
	t.Helper()
	args := []string{"umoci", "unpack", "--image", image, bundle}
	if os.Geteuid() != 0 {
		args = slices.Insert(args, 2, "--rootless")
	}
	tool(t, args...)
}

// runIn runs a program of an unpacked image in a root folder in which nobody
// can write, except in /tmp.
func runIn(t *testing.T, bundle string, command ...string) (string, error) {
	t.Helper()
	return tryTool(t, append([]string{"bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--clearenv", "--setenv", "PATH", "/",
		"--bind", filepath.Join(bundle, "rootfs"), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--remount-ro", "/"}, command...)...)
}
