// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// must returns v, or ends the test if err is not nil.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError ends the test if one of errs is not nil.
func noError(errs ...error) { must(0, errors.Join(errs...)) }

// program returns an image of a program whose text names its platform.
func program(t *testing.T, output string, platforms ...string) *Image {
	t.Helper()
	dir := t.TempDir()
	return &Image{
		Output:    output,
		Archive:   strings.HasSuffix(output, ".tar"),
		Platforms: platforms,
		Program:   "prog",
		Cmd:       []string{"run", "it"},
		Build: func(_ context.Context, platform string) (string, map[string]string, error) {
			file := filepath.Join(dir, strings.ReplaceAll(platform, "/", "-"))
			err := os.WriteFile(file, []byte("program for "+platform), 0o600)
			return file, map[string]string{VersionLabel: "1.2.3+x", TitleLabel: "prog", "own": "label"}, err
		},
	}
}

// entries returns the entries of an archive, and the content of its files. All
// must belong to root and have the same time.
func entries(t *testing.T, archive io.ReadCloser) (list []string, content map[string]string) {
	t.Helper()
	defer archive.Close()
	content = map[string]string{}
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, content
		}
		noError(err)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(epoch) {
			t.Errorf("the entry %s has the header %+v", h.Name, h)
		}
		list = append(list, fmt.Sprintf("%c%o %s", h.Typeflag, h.Mode, h.Name))
		content[h.Name] = string(must(io.ReadAll(r)))
	}
}

// only returns the one entry of an archive or folder, after a check of all that
// is in it. Nothing may be beside it.
func only(t *testing.T, path string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	w := writer{Image: &Image{Base: path}, work: t.TempDir()}
	index := must(w.openBase(t.Context()))
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	if beside := must(os.ReadDir(filepath.Dir(path))); len(beside) != 1 {
		t.Errorf("beside %s: %v", path, beside)
	}
	all := must(index.IndexManifest()).Manifests
	if len(all) != 1 {
		t.Fatalf("the index has %d entries", len(all))
	}
	return index, all[0]
}

// writeImage writes an image into a folder of its own and reads it.
func writeImage(t *testing.T, im *Image) v1.Image {
	t.Helper()
	im.Output = filepath.Join(t.TempDir(), "image")
	must(im.Write(t.Context()))
	index, entry := only(t, im.Output)
	return must(index.Image(entry.Digest))
}

// An archive of one image, as engines and other tools see it.
func TestArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	digest := must(program(t, file, "linux/arm64").Write(t.Context()))
	list, _ := entries(t, must(os.Open(file)))
	for _, entry := range list {
		if !strings.HasPrefix(entry, "0644 ") {
			t.Errorf("the archive holds %s", entry)
		}
	}
	index, entry := only(t, file)
	if entry.Digest.String() != digest {
		t.Errorf("the image is %s, Write returned %s", entry.Digest, digest)
	}
	if want := map[string]string{
		refNameLabel: "1.2.3-x", containerdName: "docker.io/library/prog:1.2.3-x", writtenAnnotation: writtenBy,
	}; !maps.Equal(entry.Annotations, want) {
		t.Errorf("names %q, want %q", entry.Annotations, want)
	}
	img := must(index.Image(entry.Digest))
	manifest := must(img.Manifest())
	if want := map[string]string{VersionLabel: "1.2.3+x", TitleLabel: "prog"}; !maps.Equal(manifest.Annotations, want) {
		t.Errorf("annotations %q, want %q", manifest.Annotations, want)
	}
	c := must(img.ConfigFile())
	want := v1.Config{
		Entrypoint: []string{"/prog"},
		Cmd:        []string{"run", "it"},
		Env:        []string{"PATH=" + defaultPath + ":/"},
		User:       "1000:1000",
		Labels:     map[string]string{VersionLabel: "1.2.3+x", TitleLabel: "prog", "own": "label"},
	}
	if !reflect.DeepEqual(c.Config, want) {
		t.Errorf("configuration %+v, want %+v", c.Config, want)
	}
	if entry.Platform.String() != "linux/arm64" || c.Platform().String() != "linux/arm64" || !c.Created.Equal(epoch) {
		t.Errorf("platforms %s, %s, created %s", entry.Platform, c.Platform(), c.Created)
	}

	layers := must(img.Layers())
	list, content := entries(t, must(layers[0].Uncompressed()))
	if want := []string{"5755 etc/", "0644 etc/group", "0644 etc/passwd", "5755 etc/ssl/", "5755 etc/ssl/certs/", "0644 " + certificatesFile, "51777 tmp/"}; !slices.Equal(list, want) {
		t.Errorf("the files are %q, want %q", list, want)
	}
	if !strings.Contains(content["etc/passwd"], ":1000:1000:") || !strings.Contains(content["etc/group"], ":1000:") {
		t.Errorf("the user %s is not in\n%s%s", user, content["etc/passwd"], content["etc/group"])
	}
	checkCertificates(t, []byte(content[certificatesFile]))
	list, content = entries(t, must(layers[1].Uncompressed()))
	if !slices.Equal(list, []string{"0755 prog"}) || content["prog"] != "program for linux/arm64" || len(layers) != 2 {
		t.Errorf("the program is %q, in layer 1 of %d", content, len(layers))
	}

	// Docker reads another list of the same files.
	tag := must(name.NewTag("prog:1.2.3-x"))
	docker := must(tarball.ImageFromPath(file, &tag))
	if err := validate.Image(docker); err != nil {
		t.Error(err)
	}
	if got := must(docker.ConfigName()); got != manifest.Config.Digest {
		t.Errorf("Docker finds the configuration %s, want %s", got, manifest.Config.Digest)
	}
}

// checkCertificates checks that a file has all certificates except those that
// are trusted under a condition.
func checkCertificates(t *testing.T, rest []byte) {
	t.Helper()
	n := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" || !bytes.Equal(block.Bytes, root.Certificate) {
			t.Fatalf("certificate %d is %v", n, block)
		}
		must(x509.ParseCertificate(block.Bytes))
		n++
	}
	if n < 100 || len(rest) > 0 {
		t.Errorf("%d certificates, and %q", n, rest)
	}
}

func TestPlatforms(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	im := program(t, dir, "linux/amd64", "linux/arm/v7")
	im.Name = "registry.example.com/team/prog:1"
	digest := must(im.Write(t.Context()))
	index, entry := only(t, dir)
	if entry.Digest.String() != digest || !entry.MediaType.IsIndex() || entry.Annotations[refNameLabel] != "1" || entry.Annotations[containerdName] != im.Name {
		t.Errorf("wrote %+v, and returned %s", entry, digest)
	}
	inner := must(index.ImageIndex(entry.Digest))
	manifest := must(inner.IndexManifest())
	if manifest.Annotations[TitleLabel] != "prog" {
		t.Errorf("annotations %q", manifest.Annotations)
	}
	// Tools that read it by the OCI's types write it unchanged.
	text := must(inner.RawManifest())
	var parsed ocispec.Index
	noError(json.Unmarshal(text, &parsed))
	if again := must(json.Marshal(parsed)); !bytes.Equal(again, text) {
		t.Errorf("%s becomes %s", text, again)
	}
	for i, d := range manifest.Manifests {
		img := must(inner.Image(d.Digest))
		_, content := entries(t, must(must(img.Layers())[1].Uncompressed()))
		if c := must(img.ConfigFile()); d.Platform.String() != im.Platforms[i] || c.Platform().String() != im.Platforms[i] || content["prog"] != "program for "+im.Platforms[i] {
			t.Errorf("%s: for %s, configuration for %s, with %q", im.Platforms[i], d.Platform, c.Platform(), content)
		}
	}
	if !IsImage(dir) {
		t.Error("IsImage denies an image for two platforms")
	}
	if blobs := must(blobsIn(dir)); len(blobs) != 1+2*3+1 { // they share the files
		t.Errorf("%d blobs: %q", len(blobs), blobs)
	}
	for _, path := range tree(dir) {
		if info := must(os.Stat(path)); info.Mode().Perm() != 0o644 && !(info.IsDir() && info.Mode().Perm() == 0o755) {
			t.Errorf("%s has the mode %o: not everyone may read it", path, info.Mode())
		}
	}
}

// tree returns all paths under a folder.
func tree(dir string) (paths []string) {
	noError(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	}))
	return paths
}

// The date is not in the layers.
func TestCreated(t *testing.T) {
	im := program(t, "", "linux/amd64")
	undated := must(writeImage(t, im).ConfigFile())
	im.Created = time.Unix(1700000000, 0)
	c := must(writeImage(t, im).ConfigFile())
	if want := "2023-11-14T22:13:20Z"; c.Created.Format(time.RFC3339) != want || c.Config.Labels[createdLabel] != want {
		t.Errorf("created %s, label %s", c.Created, c.Config.Labels[createdLabel])
	}
	if !slices.Equal(c.RootFS.DiffIDs, undated.RootFS.DiffIDs) {
		t.Error("the layers differ")
	}
}

// An image replaces an earlier one in one step. A failure leaves the earlier
// one as it is.
func TestReplace(t *testing.T) {
	for _, output := range []string{"x.tar", "x"} {
		path := filepath.Join(t.TempDir(), output)
		im := program(t, path, "linux/amd64")
		check := func(want string) {
			t.Helper()
			if _, entry := only(t, path); entry.Digest.String() != want {
				t.Errorf("%s holds %s, want %s", output, entry.Digest, want)
			}
			if blobs := must(blobsIn(path)); len(blobs) != 4 && output == "x" {
				t.Errorf("there are %q", blobs)
			}
		}
		first := must(im.Write(t.Context()))
		check(first)

		ctx, cancel := context.WithCancel(t.Context())
		build := im.Build
		for _, c := range []struct {
			want error
			file string
			end  func()
		}{
			{io.ErrClosedPipe, "", func() {}},
			{fs.ErrNotExist, path + "missing", func() {}},
			{context.Canceled, os.Args[0], cancel},
		} {
			im.Build = func(context.Context, string) (string, map[string]string, error) {
				if c.end(); c.file == "" {
					return "", nil, c.want
				}
				return c.file, nil, nil
			}
			im.Base = path // so that the test binary may need libraries
			if _, err := im.Write(ctx); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			check(first)
		}

		im.Build, im.Base, im.Program = build, "", "another"
		for range 2 {
			second := must(im.Write(t.Context()))
			check(second)
			if second == first {
				t.Errorf("two programs make the same image %s", first)
			}
		}
	}
}

func TestInvalid(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ program, image, want string }{
		{"etc", "", "it would replace the folder /etc"},
		{"x", "UPPER", `invalid name "UPPER" for an image`},
		{"x", "x:1:2", "for an image, such as"},
		{"x", "x@sha256:" + strings.Repeat("0", 64), "for an image, such as"},
	} {
		im := program(t, filepath.Join(dir, "x.tar"), "linux/amd64")
		im.Program, im.Name = c.program, c.image
		if _, err := im.Write(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c, err, c.want)
		}
	}
	if got := tree(dir); len(got) != 1 {
		t.Errorf("left %q", got)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ program, image, version, want string }{
		{"Prog", "", "", "docker.io/library/prog:latest"},
		{"prog", "", "1.2.3-rc1+dirty", "docker.io/library/prog:1.2.3-rc1-dirty"},
		{"prog", "", "-.x", "docker.io/library/prog:x"},
		{"prog", "", "(devel)", "docker.io/library/prog:devel-"},
		{"prog", "other", "1", "docker.io/library/other:latest"},
		{"prog", "me/other:2", "1", "docker.io/me/other:2"},
		{"prog", "localhost:5000/x:y", "1", "localhost:5000/x:y"},
	} {
		im := Image{Program: c.program, Name: c.image}
		if got := fullName(must(im.tag(map[string]string{VersionLabel: c.version}))); got != c.want {
			t.Errorf("%q: name %s", c, got)
		}
	}
}
