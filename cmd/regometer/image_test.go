// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
)

// buildImage builds the program of tinyOPA as an image.
func buildImage(t *testing.T, args ...string) (stdout string, index v1.ImageIndex, img v1.Image) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "opa.tar")
	stdout = succeed(t, append([]string{"build", "--unmodified", "--opa", tinyOPA(t), "--image", file}, args...)...)
	for name, text := range untar(must(os.Open(file))) {
		write(filepath.Join(dir, name), text)
	}
	whole := must(layout.ImageIndexFromPath(dir))
	index = must(whole.ImageIndex(must(whole.IndexManifest()).Manifests[0].Digest))
	img = must(index.Image(must(index.IndexManifest()).Manifests[0].Digest))
	return strings.ReplaceAll(stdout, file, "IMAGE"), index, img
}

// untar returns the files in an archive.
func untar(in io.ReadCloser) map[string]string {
	defer in.Close()
	files := map[string]string{}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		files[must(h, err).Name] = string(must(io.ReadAll(r)))
	}
}

func TestBuildImage(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	binary := filepath.Join(t.TempDir(), "opa")
	stdout, index, img := buildImage(t, "--platform", "linux/arm64", "-o", binary)
	if want := must(index.Digest()).String() + " IMAGE\n"; stdout != want {
		t.Errorf("prints %q, want %q", stdout, want)
	}
	c := must(img.ConfigFile())
	want := map[string]string{
		ocispec.AnnotationTitle: "opa", ocispec.AnnotationDescription: "Open Policy Agent", ocispec.AnnotationVersion: "1.5.0",
		ocispec.AnnotationSource: "https://github.com/open-policy-agent/opa", ocispec.AnnotationLicenses: "Apache-2.0",
		"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
	}
	if c.Architecture != "arm64" || !maps.Equal(c.Config.Labels, want) {
		t.Errorf("for %s, labels %q, want %q", c.Architecture, c.Config.Labels, want)
	}
	if got := strings.Join(append(c.Config.Entrypoint, c.Config.Cmd...), " "); got != "/opa run" {
		t.Errorf("runs %s", got)
	}
	files := untar(must(must(img.Layers())[1].Uncompressed()))
	if files["opa"] != read(binary) {
		t.Error("the binary in the image is another one")
	}
	if notices := files["usr/share/doc/opa/THIRD-PARTY-NOTICES.txt"]; !strings.Contains(notices, "The Go Authors") {
		t.Errorf("the licences are\n%.2000s", notices)
	}

	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if status, _, stderr := call(t.Context(), "build", "--image", filepath.Join(t.TempDir(), "x.tar")); status != exitFailure || !strings.Contains(stderr, `invalid SOURCE_DATE_EPOCH "yesterday"`) {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// The labels of an image name the kind of OPA.
func TestImageLabels(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	_, _, img := buildImage(t)
	if c := must(img.ConfigFile()); c.OS != "linux" {
		t.Errorf("for %s", c.OS)
	}
	bin, tree := t.TempDir(), tinyOPA(t)
	succeed(t, "build", "--no-plugin", "--opa", tree, "-o", filepath.Join(bin, "opa"))
	labels := must(opaLabels(t.Context(), filepath.Join(bin, "opa"), opabuild.Options{OPA: tree}))
	if labels[ocispec.AnnotationDescription] != "Open Policy Agent with the drop-in metrics package of Regometer" ||
		!strings.HasPrefix(labels[dropInLabel], "sha256:") || labels[regometerLabel] == "" || labels[ocispec.AnnotationRevision] != "" {
		t.Errorf("labels %q", labels)
	}
	labels = must(opaLabels(t.Context(), filepath.Join(bin, "opa"), opabuild.Options{OPA: "1.5.0"}))
	if labels[ocispec.AnnotationRevision] != "v1.5.0" {
		t.Errorf("labels %q", labels)
	}
}
