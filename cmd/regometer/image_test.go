// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/regometer/regometer/cmd/regometer/internal/ociimage"
	"github.com/regometer/regometer/internal/app/opabuild"
)

// buildImage builds the program of tinyOPA as an image in a folder.
func buildImage(t *testing.T, args ...string) (stdout string, img v1.Image) {
	t.Helper()
	var out, stderr bytes.Buffer
	dir := filepath.Join(t.TempDir(), "image")
	args = append([]string{"build", "--unmodified", "--opa", tinyOPA(t), "--image", dir}, args...)
	if status := run(t.Context(), args, nil, &out, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if img, err = index.Image(manifest.Manifests[0].Digest); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), dir, "IMAGE"), img
}

func TestBuildImage(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	binary := filepath.Join(t.TempDir(), "opa")
	stdout, img := buildImage(t, "--platform", "linux/arm64", "-o", binary)
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want := digest.String() + " IMAGE\n"; stdout != want {
		t.Errorf("prints %q, want %q", stdout, want)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		ociimage.TitleLabel: "opa", ociimage.DescriptionLabel: "Open Policy Agent", ociimage.VersionLabel: "1.5.0",
		ociimage.SourceLabel: "https://github.com/open-policy-agent/opa", ociimage.LicensesLabel: "Apache-2.0",
		"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
	}
	if c.Architecture != "arm64" || !maps.Equal(c.Config.Labels, want) {
		t.Errorf("for %s, labels %q, want %q", c.Architecture, c.Config.Labels, want)
	}
	if got := strings.Join(append(c.Config.Entrypoint, c.Config.Cmd...), " "); got != "/opa run" {
		t.Errorf("runs %s", got)
	}
	inside, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	in, err := layers[1].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r := tar.NewReader(in)
	if h, err := r.Next(); err != nil || h.Name != "opa" {
		t.Fatalf("%v, %v", h, err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, inside) {
		t.Errorf("the binary is another one: %v", err)
	}

	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	var stderr bytes.Buffer
	if status := run(t.Context(), []string{"build", "--image", filepath.Join(t.TempDir(), "x.tar")}, nil, io.Discard, &stderr); status != exitFailure || !strings.Contains(stderr.String(), `invalid SOURCE_DATE_EPOCH "yesterday"`) {
		t.Errorf("status %d: %s", status, &stderr)
	}
}

// What an image says about each kind of OPA.
func TestImageLabels(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	_, img := buildImage(t)
	if c, err := img.ConfigFile(); err != nil || c.OS != "linux" {
		t.Errorf("for %v, %v", c, err)
	}
	bin, tree := t.TempDir(), tinyOPA(t)
	buildTiny(t, tree, bin, "--no-plugin")
	labels, err := opaLabels(t.Context(), filepath.Join(bin, "opa"), opabuild.Options{OPA: tree})
	if err != nil {
		t.Fatal(err)
	}
	if labels[ociimage.DescriptionLabel] != "Open Policy Agent with the drop-in metrics package of Regometer" ||
		!strings.HasPrefix(labels[dropInLabel], "sha256:") || labels[regometerLabel] == "" || labels[ociimage.RevisionLabel] != "" {
		t.Errorf("labels %q", labels)
	}
	if labels, err = opaLabels(t.Context(), filepath.Join(bin, "opa"), opabuild.Options{OPA: "1.5.0"}); err != nil || labels[ociimage.RevisionLabel] != "v1.5.0" {
		t.Errorf("labels %q, %v", labels, err)
	}
}
