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
	"github.com/google/go-containerregistry/pkg/v1/layout"
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
		Build: func(_ context.Context, platform string) (Binary, error) {
			file := filepath.Join(dir, strings.ReplaceAll(platform, "/", "-"))
			err := os.WriteFile(file, []byte("program for "+platform), 0o600)
			return Binary{file, map[string]string{VersionLabel: "1.2.3+x", TitleLabel: "prog", "own": "label"}}, err
		},
	}
}

// entries returns the entries of an archive, and the content of its files. All
// must belong to root and have the same time.
func entries(t *testing.T, archive io.ReadCloser, err error) (list []string, content map[string]string) {
	t.Helper()
	defer must(archive, err).Close()
	content = map[string]string{}
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, content
		}
		noError(err)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(epoch) {
			t.Errorf("%s: %+v", h.Name, h)
		}
		list = append(list, fmt.Sprintf("%c%o %s", h.Typeflag, h.Mode, h.Name))
		content[h.Name] = string(must(io.ReadAll(r)))
	}
}

// filesIn returns the entries of a layer, and the content of its files.
func filesIn(t *testing.T, l v1.Layer) (list []string, content map[string]string) {
	t.Helper()
	in, err := l.Uncompressed()
	return entries(t, in, err)
}

// untar extracts an archive into a folder.
func untar(t *testing.T, file string) (dir string) {
	t.Helper()
	in, err := os.Open(file)
	list, content := entries(t, in, err)
	dir = t.TempDir()
	for _, entry := range list {
		name, ok := strings.CutPrefix(entry, "0644 ")
		if !ok {
			t.Errorf("an archive holds %s", entry)
		}
		noError(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(content[name]), 0o644))
	}
	return dir
}

// only returns the one entry of an image layout.
func only(t *testing.T, dir string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	index := must(layout.ImageIndexFromPath(dir))
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	all := must(index.IndexManifest()).Manifests
	if len(all) != 1 {
		t.Fatalf("%d entries", len(all))
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
	index, entry := only(t, untar(t, file))
	if entry.Digest.String() != digest {
		t.Errorf("the image is %s, Write returned %s", entry.Digest, digest)
	}
	if want := map[string]string{
		refNameLabel: "1.2.3-x", containerdName: "docker.io/library/prog:1.2.3-x", writtenAnnotation: writtenBy,
	}; !maps.Equal(entry.Annotations, want) {
		t.Errorf("names %q, want %q", entry.Annotations, want)
	}
	if entry.Platform == nil || entry.Platform.String() != "linux/arm64" {
		t.Errorf("platform %v", entry.Platform)
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
	if c.Platform().String() != "linux/arm64" || !c.Created.Equal(epoch) || len(c.History) != 2 {
		t.Errorf("platform %s, created %s, history %v", c.Platform(), c.Created, c.History)
	}

	layers := must(img.Layers())
	list, content := filesIn(t, layers[0])
	if want := []string{"5755 etc/", "0644 etc/group", "0644 etc/passwd", "5755 etc/ssl/", "5755 etc/ssl/certs/", "0644 " + certificatesFile, "51777 tmp/"}; !slices.Equal(list, want) {
		t.Errorf("the files are %q, want %q", list, want)
	}
	if !strings.Contains(content["etc/passwd"], ":1000:1000:") || !strings.Contains(content["etc/group"], ":1000:") {
		t.Errorf("the user %s is not in\n%s%s", user, content["etc/passwd"], content["etc/group"])
	}
	checkCertificates(t, []byte(content[certificatesFile]))
	list, content = filesIn(t, layers[1])
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
		_, content := filesIn(t, must(img.Layers())[1])
		if c := must(img.ConfigFile()); d.Platform.String() != im.Platforms[i] || c.Platform().String() != im.Platforms[i] || content["prog"] != "program for "+im.Platforms[i] {
			t.Errorf("%s: for %s, configuration for %s, with %q", im.Platforms[i], d.Platform, c.Platform(), content)
		}
	}
	if blobs := must(blobsIn(dir)); len(blobs) != 1+2*3+1 { // they share the files
		t.Errorf("%d blobs: %q", len(blobs), blobs)
	}
	checkModes(t, dir)
}

// checkModes checks that everyone may read an image in a folder, and that
// nothing is beside the folder.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	for _, path := range tree(dir) {
		if info := must(os.Stat(path)); info.Mode().Perm() != 0o644 && !(info.IsDir() && info.Mode().Perm() == 0o755) {
			t.Errorf("%s: %o", path, info.Mode())
		}
	}
	checkNothingBeside(t, dir)
}

func checkNothingBeside(t *testing.T, path string) {
	t.Helper()
	if all := must(os.ReadDir(filepath.Dir(path))); len(all) != 1 || all[0].Name() != filepath.Base(path) {
		t.Errorf("beside %s: %v", path, all)
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

func TestCreated(t *testing.T) {
	im := program(t, "", "linux/amd64")
	undated := writeImage(t, im)
	im.Created = time.Unix(1700000000, 0)
	dated := writeImage(t, im)
	c := must(dated.ConfigFile())
	if want := "2023-11-14T22:13:20Z"; c.Created.Format(time.RFC3339) != want || c.Config.Labels[createdLabel] != want || !c.History[0].Created.Equal(im.Created) {
		t.Errorf("created %s, label %s", c.Created, c.Config.Labels[createdLabel])
	}
	if !slices.Equal(c.RootFS.DiffIDs, must(undated.ConfigFile()).RootFS.DiffIDs) {
		t.Error("the date is in the layers")
	}
}

// An image replaces an earlier one in one step. A failure leaves the earlier
// one as it is.
func TestReplace(t *testing.T) {
	for _, output := range []string{"x.tar", "x"} {
		t.Run(output, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), output)
			im := program(t, path, "linux/amd64")
			check := func(want string) (blobs []string) {
				t.Helper()
				dir := path
				if output == "x" {
					checkModes(t, path)
				} else {
					checkNothingBeside(t, path)
					dir = untar(t, path)
				}
				if _, entry := only(t, dir); entry.Digest.String() != want {
					t.Errorf("holds %s, want %s", entry.Digest, want)
				}
				return must(blobsIn(dir))
			}
			first := must(im.Write(t.Context()))
			blobs := check(first)

			broken := errors.New("broken")
			ctx, cancel := context.WithCancel(t.Context())
			for want, build := range map[error]func(context.Context, string) (Binary, error){
				broken:         func(context.Context, string) (Binary, error) { return Binary{}, broken },
				fs.ErrNotExist: func(context.Context, string) (Binary, error) { return Binary{File: path + "missing"}, nil },
			} {
				failing := *im
				failing.Build = build
				if _, err := failing.Write(ctx); !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
				check(first)
			}
			cancelled := *im
			cancelled.Build = func(ctx context.Context, platform string) (Binary, error) {
				cancel()
				return im.Build(ctx, platform)
			}
			if _, err := cancelled.Write(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			check(first)

			im.Program = "another"
			second := must(im.Write(t.Context()))
			if now := check(second); second == first || len(now) != len(blobs) || slices.Equal(now, blobs) {
				t.Errorf("%s became %s, %q became %q", first, second, blobs, now)
			}
			must(im.Write(t.Context()))
			check(second)
		})
	}
}

// An image of ours is told from anything else.
func TestIsImage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"file":               "x",
		"other/mine.txt":     "x",
		"foreign/oci-layout": "{}",
		"foreign/index.json": `{"manifests": [{"annotations": {"org.opencontainers.image.ref.name": "theirs"}}]}`,
		"none/index.json":    "{}",
		"broken/index.json":  "[",
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	must(program(t, filepath.Join(dir, "image"), "linux/amd64", "linux/arm64").Write(t.Context()))
	must(program(t, filepath.Join(dir, "image.tar"), "linux/amd64").Write(t.Context()))
	must(program(t, filepath.Join(dir, "more"), "linux/amd64").Write(t.Context()))
	if err := os.WriteFile(filepath.Join(dir, "more", "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"file": false, "other": false, "foreign": false, "none": false, "broken": false, "more": false, "missing": false,
		"image": true, "image.tar": true,
	} {
		if got := IsImage(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
	// What a check refuses is not replaced.
	im := program(t, filepath.Join(dir, "file"), "linux/amd64")
	im.Archive, im.Check = true, func() error { return errors.New("another file came") }
	if _, err := im.Write(t.Context()); err == nil || !strings.Contains(err.Error(), "another file came") {
		t.Errorf("a check that fails: %v", err)
	}
	if text, err := os.ReadFile(im.Output); string(text) != "x" {
		t.Errorf("the file became %q, %v", text, err)
	}
}

func TestInvalid(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ program, image, platforms, want string }{
		{"", "", "linux/amd64", `invalid name "" for a program`},
		{"../etc/passwd", "", "linux/amd64", "for a program in an image"},
		{".hidden", "", "linux/amd64", "for a program in an image"},
		{"a\x00b", "", "linux/amd64", "for a program in an image"},
		{"etc", "", "linux/amd64", "it would take the place of the folder /etc"},
		{"x", "UPPER", "linux/amd64", `invalid name "UPPER" for an image`},
		{"x", "x:1:2", "linux/amd64", "for an image, such as"},
		{"x", "x@sha256:" + strings.Repeat("0", 64), "linux/amd64", "for an image, such as"},
		{"x", "", "windows/amd64", "run images for Linux, such as linux/amd64"},
		{"x", "", "linux/a/b/c", "too many slashes"},
		{"x", "", "linux/amd64,linux/amd64", "is named twice"},
		{"x", "", ",", "an image for"},
	} {
		im := program(t, filepath.Join(dir, "x.tar"), strings.Split(c.platforms, ",")...)
		im.Program, im.Name = c.program, c.image
		if _, err := im.Write(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c, err, c.want)
		}
	}
	if _, err := program(t, filepath.Join(dir, "x.tar")).Write(t.Context()); err == nil {
		t.Error("an image without platforms")
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
		if got := fullName(must(im.tag(Binary{Labels: map[string]string{VersionLabel: c.version}}))); got != c.want {
			t.Errorf("%q: name %s", c, got)
		}
	}
}

func TestPath(t *testing.T) {
	for path, want := range map[string]string{"/bin": "/bin:/", "/:/bin": "/:/bin", "": ":/"} {
		if got := withRootInPath([]string{"PATH=" + path, "B=c"}); !slices.Equal(got, []string{"PATH=" + want, "B=c"}) {
			t.Errorf("%q becomes %q", path, got)
		}
	}
}
