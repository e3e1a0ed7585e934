// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/regometer/regometer/cmd/regometer/internal/ociimage"
	"github.com/regometer/regometer/internal/app/opabuild"
)

// buildImage builds the program of tinyOPA as an image in a folder.
func buildImage(t *testing.T, args ...string) (stdout string, index v1.ImageIndex, img v1.Image) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "image")
	stdout = succeed(t, append([]string{"build", "--unmodified", "--opa", tinyOPA(t), "--image", dir}, args...)...)
	whole := must(layout.ImageIndexFromPath(dir))
	index = must(whole.ImageIndex(must(whole.IndexManifest()).Manifests[0].Digest))
	img = must(index.Image(must(index.IndexManifest()).Manifests[0].Digest))
	return strings.ReplaceAll(stdout, dir, "IMAGE"), index, img
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
	in := must(must(img.Layers())[1].Uncompressed())
	defer in.Close()
	files := map[string]string{}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		files[must(h, err).Name] = string(must(io.ReadAll(r)))
	}
	if files["opa"] != read(binary) {
		t.Error("the binary in the image is another one")
	}
	for name, want := range map[string]string{
		"THIRD-PARTY-NOTICES.txt": "The Go Authors", "sbom.cdx.json": `"pkg:golang/github.com/open-policy-agent/opa@v1.5.0"`,
	} {
		if !strings.Contains(files["usr/share/doc/opa/"+name], want) {
			t.Errorf("%s lacks %q:\n%.2000s", name, want, files["usr/share/doc/opa/"+name])
		}
	}

	if bill := files["usr/share/doc/opa/sbom.cdx.json"]; strings.Contains(bill, "pedigree") {
		t.Errorf("the bill of materials says that somebody changed OPA:\n%.2000s", bill)
	}
	attached := ""
	for _, d := range must(index.IndexManifest()).Manifests[1:] {
		attached += string(must(must(index.Image(d.Digest)).Manifest()).Config.MediaType) + " "
	}
	if attached != "application/vnd.regometer.notices application/vnd.cyclonedx+json " {
		t.Errorf("attached are %s", attached)
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
	buildTiny(t, tree, bin, "--no-plugin")
	labels := must(opaLabels(t.Context(), filepath.Join(bin, "opa"), opabuild.Options{OPA: tree}))
	if labels[ociimage.DescriptionLabel] != "Open Policy Agent with the drop-in metrics package of Regometer" ||
		!strings.HasPrefix(labels[dropInLabel], "sha256:") || labels[regometerLabel] == "" || labels[ociimage.RevisionLabel] != "" {
		t.Errorf("labels %q", labels)
	}
	labels = must(opaLabels(t.Context(), filepath.Join(bin, "opa"), opabuild.Options{OPA: "1.5.0"}))
	if labels[ociimage.RevisionLabel] != "v1.5.0" {
		t.Errorf("labels %q", labels)
	}
}
