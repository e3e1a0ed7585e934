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
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
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
		Build: func(_ context.Context, platform string) (Built, error) {
			file := filepath.Join(dir, strings.ReplaceAll(platform, "/", "-"))
			return Built{
				File:      file,
				Labels:    map[string]string{VersionLabel: "1.2.3+x", TitleLabel: "prog", "own": "label"},
				Documents: []Document{{"b.txt", "application/vnd.beta", []byte("beta")}, {"a.txt", "application/vnd.alpha", []byte("alpha")}},
			}, os.WriteFile(file, []byte("program for "+platform), 0o600)
		},
	}
}

// only returns the index of an archive or folder and its one entry, after a
// check of all that is in it. Nothing may be beside it.
func only(t *testing.T, path string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	w := writer{Image: &Image{Base: path}, work: t.TempDir()}
	whole := must(w.openBase(t.Context()))
	all := must(whole.IndexManifest()).Manifests
	if beside := must(os.ReadDir(filepath.Dir(path))); len(beside) != 1 || len(all) != 1 {
		t.Fatalf("beside %s: %v; its entries: %v", path, beside, all)
	}
	index := must(whole.ImageIndex(all[0].Digest))
	noError(validate.Index(whole, validate.Fast))
	for _, d := range must(index.IndexManifest()).Manifests {
		if d.Platform.OS != "unknown" {
			noError(validate.Image(must(index.Image(d.Digest))))
		}
	}
	return index, all[0]
}

// writeImage writes an image into a folder of its own and reads it.
func writeImage(t *testing.T, im *Image) v1.Image {
	t.Helper()
	im.Output = filepath.Join(t.TempDir(), "image")
	must(im.Write(t.Context()))
	index, _ := only(t, im.Output)
	return firstImage(index)
}

func firstImage(index v1.ImageIndex) v1.Image {
	return must(index.Image(must(index.IndexManifest()).Manifests[0].Digest))
}

var hash = regexp.MustCompile("sha256:[0-9a-f]{64}") // depends on gzip

var update = flag.Bool("update", false, "write testdata")

// Each case is dumped and compared with a file in testdata.
func TestGolden(t *testing.T) {
	setCredentials(t, "nowhere.example.com", "")
	bare := newBase("linux/amd64")
	c := must(bare.ConfigFile()).DeepCopy()
	c.Config = v1.Config{}
	bareBase := writeLayout(t, indexOf(must(mutate.ConfigFile(bare, c))))
	index, _ := newIndex("linux/amd64", "linux/arm64/v8")
	host := serve(t, "")
	noError(remote.WriteIndex(must(name.ParseReference(host+"/base:1")), index))
	own := program(t, filepath.Join(t.TempDir(), "x.tar"), "linux/amd64")
	own.Base = writeLayout(t, index)
	must(own.Write(t.Context()))
	for name, c := range map[string]struct {
		output, platforms string
		change            func(*Image)
	}{
		"archive":   {"x.tar", "linux/arm64", func(*Image) {}},
		"platforms": {"image", "linux/amd64 linux/arm/v7", func(im *Image) { im.Name = "registry.example.com/team/prog:1" }},
		"created":   {"image", "linux/amd64", func(im *Image) { im.Created = time.Unix(1700000000, 0) }},
		"bare":      {"image", "linux/amd64", func(im *Image) { im.Base = bareBase }},
		"own":       {"image", "linux/amd64", func(im *Image) { im.Base, im.Program = own.Output, "second" }}, // our images are bases
		"based":     {"x.tar", "linux/amd64 linux/arm64", func(im *Image) { im.Base = host + "/base:1" }},
	} {
		im := program(t, filepath.Join(t.TempDir(), c.output), strings.Fields(c.platforms)...)
		c.change(im)
		digest := must(im.Write(t.Context()))
		var b strings.Builder
		index, entry := only(t, im.Output)
		fmt.Fprintf(&b, "annotations of the entry %q\n", entry.Annotations)
		dumpIndex(&b, index)
		got := hash.ReplaceAll([]byte(strings.ReplaceAll(b.String(), host, "HOST")), []byte("HASH"))
		if entry.Digest.String() != digest || !IsImage(im.Output) {
			t.Errorf("%s: Write returned %s, want %s; IsImage says %v", name, digest, entry.Digest, IsImage(im.Output))
		}
		file := filepath.Join("testdata", name+".txt")
		if *update {
			noError(os.WriteFile(file, got, 0o666))
		}
		if want := must(os.ReadFile(file)); !bytes.Equal(got, want) {
			t.Errorf("%s is not as in %s; to write it, run go test -run TestGolden -update\n%s", name, file, got)
		}
	}
}

// dumpIndex describes everything in an index.
func dumpIndex(b *strings.Builder, index v1.ImageIndex) {
	m := must(index.IndexManifest())
	// Tools that read it by the OCI's types write it unchanged.
	var parsed ocispec.Index
	noError(json.Unmarshal(must(index.RawManifest()), &parsed))
	unchanged := bytes.Equal(must(json.Marshal(parsed)), must(index.RawManifest()))
	fmt.Fprintf(b, "%s, annotations %q, as the OCI's types write it: %v\n", m.MediaType, m.Annotations, unchanged)
	for _, d := range m.Manifests {
		fmt.Fprintf(b, "\n%s for %v, artifact type %q, annotations %q\n", d.MediaType, d.Platform, d.ArtifactType, d.Annotations)
		img := must(index.Image(d.Digest))
		m := must(img.Manifest())
		layers := must(img.Layers())
		if m.Subject != nil {
			fmt.Fprintf(b, "%s: %q %s\n", m.Config.MediaType, m.Layers[0].Annotations, must(io.ReadAll(must(layers[0].Compressed()))))
			continue
		}
		c := must(img.ConfigFile()).DeepCopy()
		c.RootFS = v1.RootFS{}
		fmt.Fprintf(b, "annotations %q\nconfiguration %s %s\n", m.Annotations, m.Config.MediaType, must(json.MarshalIndent(c, "", "\t")))
		for i, l := range layers {
			fmt.Fprintln(b, "layer", m.Layers[i].MediaType)
			for _, f := range filesIn(must(l.Uncompressed())) {
				content := strings.Replace(f.content, string(certificates()), "certificates", 1)
				fmt.Fprintf(b, "\t%c %o %d:%d %s%s %d %s %+.90q\n", f.Typeflag, f.Mode, f.Uid, f.Gid, f.Uname, f.Gname, f.ModTime.Unix(), f.Name, content)
			}
		}
	}
}

// A file is an entry of an archive.
type file struct {
	*tar.Header
	content string
}

func filesIn(archive io.ReadCloser) (all []file) {
	defer archive.Close()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		noError(err)
		all = append(all, file{h, string(must(io.ReadAll(r)))})
	}
}

// A registry knows what is attached to the image for each platform.
func TestAttached(t *testing.T) {
	im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64", "linux/arm64")
	digest := must(im.Write(t.Context()))
	index, _ := only(t, im.Output)
	pushed := must(name.ParseReference(serve(t, "") + "/prog:1"))
	noError(remote.WriteIndex(pushed, index))
	if got := must(remote.Head(pushed)).Digest.String(); got != digest {
		t.Errorf("the registry has %s, want %s", got, digest)
	}
	attached := map[string]int{}
	for _, platform := range im.Platforms {
		d := must(remote.Get(pushed, remote.WithPlatform(*must(v1.ParsePlatform(platform)))))
		referrers := must(must(remote.Referrers(pushed.Context().Digest(must(must(d.Image()).Digest()).String()))).IndexManifest())
		for _, r := range referrers.Manifests {
			layer := must(must(remote.Image(pushed.Context().Digest(r.Digest.String()))).Layers())[0]
			attached[fmt.Sprintf("%s: %s", r.ArtifactType, must(io.ReadAll(must(layer.Compressed()))))]++
		}
	}
	if want := map[string]int{"application/vnd.alpha: alpha": 2, "application/vnd.beta: beta": 2}; !maps.Equal(attached, want) {
		t.Errorf("attached are %v, want %v", attached, want)
	}
}

// Everyone may read all files of an image. Docker finds the image in an archive
// by another list of the files. The same program makes the same archive.
func TestFiles(t *testing.T) {
	im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64", "linux/arm64")
	must(im.Write(t.Context()))
	modes := map[string]int{}
	for _, path := range tree(im.Output) {
		modes[must(os.Stat(path)).Mode().String()]++
	}
	if want := map[string]int{"drwxr-xr-x": 3, "-rw-r--r--": 2 + 1 + 2*3 + 1 + 3 + 2*2}; !maps.Equal(modes, want) { // the images share a layer; so do the documents
		t.Errorf("there are %v, want %v", modes, want)
	}
	im = program(t, filepath.Join(t.TempDir(), "x.tar"), "linux/arm64")
	must(im.Write(t.Context()))
	for _, f := range filesIn(must(os.Open(im.Output))) {
		if f.Mode != 0o644 || f.Typeflag != tar.TypeReg || f.Uid+f.Gid != 0 || !f.ModTime.Equal(epoch) {
			t.Errorf("the archive holds %+v", f.Header)
		}
	}
	again := program(t, filepath.Join(t.TempDir(), "y.tar"), "linux/arm64")
	must(again.Write(t.Context()))
	if !bytes.Equal(must(os.ReadFile(im.Output)), must(os.ReadFile(again.Output))) {
		t.Error("two archives of one program differ")
	}
	index, _ := only(t, im.Output)
	tag := must(name.NewTag("prog:1.2.3-x"))
	docker := must(tarball.ImageFromPath(im.Output, &tag))
	if got, want := must(docker.ConfigName()), must(firstImage(index).ConfigName()); got != want || validate.Image(docker) != nil {
		t.Errorf("Docker finds the configuration %s, want %s; error %v", got, want, validate.Image(docker))
	}
}

// An image has all certificates except those trusted under a condition.
func TestCertificates(t *testing.T) {
	n, rest := 0, certificates()
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil || !bytes.Equal(block.Bytes, root.Certificate) {
				t.Fatalf("certificate %d is not root %x", n, root.Certificate[:20])
			}
			n++
		}
	}
	if n < 100 || len(rest) > 0 || !x509.NewCertPool().AppendCertsFromPEM(certificates()) {
		t.Errorf("%d certificates, and %q", n, rest)
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
			if blobs := must(blobsIn(path)); len(blobs) != 10 && output == "x" {
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
			im.Build = func(context.Context, string) (Built, error) {
				if c.end(); c.file == "" {
					return Built{}, c.want
				}
				return Built{File: c.file}, nil
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

// An image's name is as container engines write it.
func TestNames(t *testing.T) {
	for _, c := range []struct{ program, image, version, want string }{
		{"Prog", "", "", "docker.io/library/prog:latest"},
		{"prog", "", "1.2.3-rc1+dirty", "docker.io/library/prog:1.2.3-rc1-dirty"},
		{"prog", "", "-.x", "docker.io/library/prog:x"},
		{"prog", "", "(devel)", "docker.io/library/prog:devel-"},
		{"prog", "other", "1", "docker.io/library/other:latest"},
		{"prog", "me/other:2", "1", "docker.io/me/other:2"},
		{"prog", "localhost:5000/x:y", "1", "localhost:5000/x:y"},
		{"etc", "", "", "it would replace the folder /etc"},
		{"x", "UPPER", "", `invalid name "UPPER" for an image`},
		{"x", "x:1:2", "", "for an image, such as"},
		{"x", "x@sha256:" + strings.Repeat("0", 64), "", "for an image, such as"},
	} {
		im := program(t, filepath.Join(t.TempDir(), "x"), "linux/amd64")
		im.Program, im.Name = c.program, c.image
		im.Build = func(context.Context, string) (Built, error) {
			return Built{os.DevNull, map[string]string{VersionLabel: c.version}, nil}, nil
		}
		_, err := im.Write(t.Context())
		got := fmt.Sprint(err)
		if err == nil {
			_, entry := only(t, im.Output)
			got = entry.Annotations[containerdName]
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: got %s", c, got)
		}
	}
}
