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
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// program returns an image of a program whose text names its platform.
func program(t *testing.T, output string, platforms ...string) *Image {
	t.Helper()
	dir := t.TempDir()
	return &Image{
		Output:    output,
		Platforms: platforms,
		Program:   "prog",
		Cmd:       []string{"run", "it"},
		Build: func(_ context.Context, platform string) (Binary, error) {
			file := filepath.Join(dir, strings.ReplaceAll(platform, "/", "-"))
			err := os.WriteFile(file, []byte("program for "+platform), 0o600)
			return Binary{file, map[string]string{VersionLabel: "1.2.3+x", TitleLabel: "prog", "own": "label"}}, err
		},
	}
}

func mustWrite(t *testing.T, im *Image) (digest string) {
	t.Helper()
	digest, err := im.Write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// untar returns the folder that an archive makes, which must hold nothing but
// files of the same time, owner and mode.
func untar(t *testing.T, file string) string {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir := t.TempDir()
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || h.Mode != 0o644 || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(epoch) {
			t.Errorf("%s: %+v", h.Name, h)
		}
		to := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(to, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// only returns the one entry of an image layout.
func only(t *testing.T, dir string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d entries", len(manifest.Manifests))
	}
	return index, manifest.Manifests[0]
}

// onlyImage returns the one image in an image layout.
func onlyImage(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, entry := only(t, dir)
	img, err := index.Image(entry.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func configOf(t *testing.T, img v1.Image) *v1.ConfigFile {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// filesIn returns what a layer consists of, and the files' content.
func filesIn(t *testing.T, l v1.Layer) (list []string, content map[string]string) {
	t.Helper()
	in, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	content = map[string]string{}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, content
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(epoch) {
			t.Errorf("%s: %+v", h.Name, h)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%c%o %s", h.Typeflag, h.Mode, h.Name))
		content[h.Name] = string(text)
	}
}

func layersOf(t *testing.T, img v1.Image) []v1.Layer {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	return layers
}

// An archive of one image, as engines and other tools see it.
func TestArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	im := program(t, file, "linux/arm64")
	digest := mustWrite(t, im)
	index, entry := only(t, untar(t, file))
	if entry.Digest.String() != digest {
		t.Errorf("is %s, but %s was said", entry.Digest, digest)
	}
	if got, want := entry.Annotations, map[string]string{
		refNameLabel: "1.2.3-x", containerdName: "docker.io/library/prog:1.2.3-x", writtenAnnotation: writtenBy,
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("is called %q, want %q", got, want)
	}
	if entry.Platform == nil || entry.Platform.String() != "linux/arm64" {
		t.Errorf("is for %v", entry.Platform)
	}
	img, err := index.Image(entry.Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := manifest.Annotations, map[string]string{VersionLabel: "1.2.3+x", TitleLabel: "prog"}; !reflect.DeepEqual(got, want) {
		t.Errorf("annotations %q, want %q", got, want)
	}
	c := configOf(t, img)
	want := v1.Config{
		Entrypoint: []string{"/prog"},
		Cmd:        []string{"run", "it"},
		Env:        []string{"PATH=" + defaultPath + ":/"},
		User:       "1000:1000",
		Labels:     map[string]string{VersionLabel: "1.2.3+x", TitleLabel: "prog", "own": "label"},
	}
	if !reflect.DeepEqual(c.Config, want) {
		t.Errorf("runs %+v, want %+v", c.Config, want)
	}
	if c.Platform().String() != "linux/arm64" || !c.Created.Equal(epoch) || len(c.History) != 2 {
		t.Errorf("for %s, of %s, with %d lines of history", c.Platform(), c.Created, len(c.History))
	}

	layers := layersOf(t, img)
	if len(layers) != 2 {
		t.Fatalf("%d layers", len(layers))
	}
	list, content := filesIn(t, layers[0])
	if want := []string{"5755 etc/", "0644 etc/group", "0644 etc/passwd", "5755 etc/ssl/", "5755 etc/ssl/certs/", "0644 " + certificatesFile, "51777 tmp/"}; !slices.Equal(list, want) {
		t.Errorf("the base is %q, want %q", list, want)
	}
	if !strings.Contains(content["etc/passwd"], ":1000:1000:") || !strings.Contains(content["etc/group"], ":1000:") {
		t.Errorf("the user %s is not in\n%s%s", user, content["etc/passwd"], content["etc/group"])
	}
	if content[certificatesFile] != string(certificates()) {
		t.Error("other certificates")
	}
	list, content = filesIn(t, layers[1])
	if !slices.Equal(list, []string{"0755 prog"}) || content["prog"] != "program for linux/arm64" {
		t.Errorf("the program is %q", content)
	}

	// As Docker reads it.
	tag, err := name.NewTag("prog:1.2.3-x")
	if err != nil {
		t.Fatal(err)
	}
	docker, err := tarball.ImageFromPath(file, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(docker); err != nil {
		t.Error(err)
	}
	if got, err := docker.ConfigName(); err != nil || got != manifest.Config.Digest {
		t.Errorf("for Docker it is %s, %v", got, err)
	}
}

func TestPlatforms(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	im := program(t, dir, "linux/amd64", "linux/arm/v7")
	im.Name = "registry.example.com/team/prog:1"
	digest := mustWrite(t, im)
	index, entry := only(t, dir)
	if entry.Digest.String() != digest || !entry.MediaType.IsIndex() {
		t.Errorf("%s of type %s, but %s was said", entry.Digest, entry.MediaType, digest)
	}
	if got := entry.Annotations; got[refNameLabel] != "1" || got[containerdName] != im.Name {
		t.Errorf("is called %q", got)
	}
	inner, err := index.ImageIndex(entry.Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Annotations[TitleLabel] != "prog" {
		t.Errorf("annotations %q", manifest.Annotations)
	}
	// Tools that read it by the OCI's types write it as it is.
	text, err := inner.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	var parsed ocispec.Index
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(parsed); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s becomes %s, %v", text, again, err)
	}
	var base v1.Hash
	for i, d := range manifest.Manifests {
		img, err := inner.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		layers := layersOf(t, img)
		_, content := filesIn(t, layers[1])
		if d.Platform.String() != im.Platforms[i] || configOf(t, img).Platform().String() != im.Platforms[i] || content["prog"] != "program for "+im.Platforms[i] {
			t.Errorf("%s: for %s, config for %s, with %q", im.Platforms[i], d.Platform, configOf(t, img).Platform(), content)
		}
		hash, err := layers[0].Digest()
		if err != nil || i > 0 && hash != base {
			t.Errorf("the base is not shared: %v", err)
		}
		base = hash
	}
	if blobs, err := blobsIn(dir); err != nil || len(blobs) != 1+2*3+1 {
		t.Errorf("%d blobs, %v: %q", len(blobs), err, blobs)
	}
	checkModes(t, dir)
}

// checkModes wants an image layout without anything beside it, for all to read.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if mode := info.Mode().Perm(); mode != 0o644 && !(d.IsDir() && mode == 0o755) {
			t.Errorf("%s: %o", path, mode)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	checkNothingBeside(t, dir)
}

// checkNothingBeside wants one thing in the folder that holds path.
func checkNothingBeside(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("beside %s: %v, %v", path, entries, err)
	}
}

func TestCreated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	im := program(t, dir, "linux/amd64")
	mustWrite(t, im)
	layers := layersOf(t, onlyImage(t, dir))
	undated, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	im.Created = time.Unix(1700000000, 0)
	mustWrite(t, im)
	img := onlyImage(t, dir)
	c := configOf(t, img)
	if want := "2023-11-14T22:13:20Z"; c.Created.Format(time.RFC3339) != want || c.Config.Labels[createdLabel] != want || !c.History[0].Created.Equal(im.Created) {
		t.Errorf("of %s, label %s", c.Created, c.Config.Labels[createdLabel])
	}
	if got, err := layersOf(t, img)[0].Digest(); err != nil || got != undated {
		t.Errorf("the date is in the layers: %v", err)
	}
}

// An image takes the place of an earlier one in one step, and what fails leaves
// that as it is.
func TestReplace(t *testing.T) {
	for _, output := range []string{"x.tar", "x"} {
		t.Run(output, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), output)
			im := program(t, path, "linux/amd64")
			read := func() string {
				if output == "x" {
					checkModes(t, path)
					return path
				}
				checkNothingBeside(t, path)
				return untar(t, path)
			}
			check := func(want string) {
				t.Helper()
				if _, entry := only(t, read()); entry.Digest.String() != want {
					t.Errorf("holds %s, want %s", entry.Digest, want)
				}
			}
			first := mustWrite(t, im)
			check(first)
			blobs, err := blobsIn(read())
			if err != nil {
				t.Fatal(err)
			}

			broken := errors.New("broken")
			failing := *im
			failing.Build = func(context.Context, string) (Binary, error) { return Binary{}, broken }
			if _, err := failing.Write(t.Context()); !errors.Is(err, broken) {
				t.Errorf("error %v", err)
			}
			check(first)

			failing.Build = func(context.Context, string) (Binary, error) { return Binary{File: path + "/missing"}, nil }
			if _, err := failing.Write(t.Context()); err == nil {
				t.Error("a program that is not there")
			}
			check(first)

			ctx, cancel := context.WithCancel(t.Context())
			failing.Build = func(ctx context.Context, platform string) (Binary, error) {
				cancel()
				return im.Build(ctx, platform)
			}
			if _, err := failing.Write(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			check(first)

			im.Program = "another"
			second := mustWrite(t, im)
			if second == first {
				t.Error("another program is the same image")
			}
			check(second)
			if now, err := blobsIn(read()); err != nil || len(now) != len(blobs) || slices.Equal(now, blobs) {
				t.Errorf("%q became %q, %v", blobs, now, err)
			}
			mustWrite(t, im)
			check(second)
		})
	}
}

func TestOutput(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"folder.tar", "empty", "other", "foreign", "broken"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"file":               "x",
		"other/mine.txt":     "x",
		"foreign/oci-layout": "{}",
		"foreign/index.json": `{"manifests": [{"annotations": {"org.opencontainers.image.ref.name": "theirs"}}]}`,
		"broken/index.json":  "[",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("empty", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"x.tar.gz":       "would be compressed twice",
		"x.tgz":          "would be compressed twice",
		"folder.tar":     "is a folder",
		"file":           "is a file: an image in a file has a name that ends in .tar",
		"other":          "holds something else than an image (mine.txt)",
		"foreign":        "holds an image of another origin (theirs)",
		"broken":         "holds something else than an image",
		"missing/x.tar":  "there is no folder " + filepath.Join(dir, "missing"),
		"missing/x":      "there is no folder " + filepath.Join(dir, "missing"),
		"file/x.tar":     "not a directory",
		"dangling":       "is a link to nowhere, which is not there",
		"dangling/x.tar": "there is no folder",
	} {
		before := tree(t, dir)
		built := false
		im := program(t, filepath.Join(dir, name), "linux/amd64")
		im.Build = func(context.Context, string) (Binary, error) { built = true; return Binary{}, errors.New("built") }
		if _, err := im.Write(t.Context()); err == nil || !strings.Contains(err.Error(), want) || built {
			t.Errorf("%s: built: %t, error %v, want %q", name, built, err, want)
		}
		if after := tree(t, dir); !slices.Equal(before, after) {
			t.Errorf("%s: %q became %q", name, before, after)
		}
	}
	for _, name := range []string{"", "-"} {
		if _, err := program(t, name, "linux/amd64").Write(t.Context()); err == nil || !strings.Contains(err.Error(), "standard output") {
			t.Errorf("%q: %v", name, err)
		}
	}
	mustWrite(t, program(t, filepath.Join(dir, "link"), "linux/amd64"))
	only(t, filepath.Join(dir, "empty"))
}

// tree returns all paths under a folder.
func tree(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		program, image, platform, want string
	}{
		{"", "", "", `"" is no name for a program`},
		{"../etc/passwd", "", "", "is no name for a program"},
		{"a/b", "", "", "is no name for a program"},
		{".hidden", "", "", "is no name for a program"},
		{"a\x00b", "", "", "is no name for a program"},
		{"etc", "", "", "it would take the place of the folder /etc"},
		{"tmp", "", "", "it would take the place of the folder /tmp"},
		{"x", "UPPER", "", `"UPPER" is no name for an image`},
		{"x", "a b", "", `"a b" is no name for an image`},
		{"x", "x:1:2", "", "is no name for an image"},
		{"x", "x@sha256:" + strings.Repeat("0", 64), "", "is no name for an image"},
		{"x", "", "windows/amd64", "container engines on macOS and Windows run those for Linux, such as linux/amd64"},
		{"x", "", "darwin/arm64", "such as linux/arm64"},
		{"x", "", "linux/a/b/c", "too many slashes"},
		{"x", "", "linux/amd64,linux/amd64", "is named twice"},
		{"x", "", ",", "an image for"},
	} {
		im := program(t, filepath.Join(dir, "x.tar"))
		im.Program, im.Name = c.program, c.image
		if im.Platforms = []string{"linux/amd64"}; c.platform != "" {
			im.Platforms = strings.Split(c.platform, ",")
		}
		if _, err := im.Write(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c, err, c.want)
		}
	}
	if _, err := program(t, filepath.Join(dir, "x.tar")).Write(t.Context()); err == nil {
		t.Error("an image for nothing")
	}
	if got := tree(t, dir); len(got) != 1 {
		t.Errorf("left %q", got)
	}

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
		tag, err := im.tag(Binary{Labels: map[string]string{VersionLabel: c.version}})
		if got := fullName(tag); err != nil || got != c.want {
			t.Errorf("%q is called %s, %v", c, got, err)
		}
	}
}

// A certificate that is trusted under a condition is not in a file, which
// cannot say so.
func TestCertificates(t *testing.T) {
	var want []string
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			want = append(want, string(root.Certificate))
		}
	}
	var got []string
	for rest := certificates(); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil || block.Type != "CERTIFICATE" {
			t.Errorf("%s: %v", block.Type, err)
		}
		got = append(got, string(block.Bytes))
	}
	if len(got) < 100 || !slices.Equal(got, want) {
		t.Errorf("%d certificates, want %d", len(got), len(want))
	}
}

func TestPath(t *testing.T) {
	for _, env := range [][]string{nil, {"A=b"}} {
		if got, want := withRootInPath(env), append(slices.Clone(env), "PATH="+defaultPath+":/"); !slices.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", env, got, want)
		}
	}
	for path, want := range map[string]string{"/bin": "/bin:/", "/:/bin": "/:/bin", "": ":/"} {
		if got := withRootInPath([]string{"PATH=" + path, "B=c"}); !slices.Equal(got, []string{"PATH=" + want, "B=c"}) {
			t.Errorf("%q becomes %q", path, got)
		}
	}
}
