// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
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

// write writes an image of programs whose texts name their platforms.
func write(t *testing.T, im Image, platforms ...string) (file, digest string) {
	t.Helper()
	im.Program, im.Cmd = "prog", []string{"run", "it"}
	var all []Built
	for i, platform := range platforms {
		file := filepath.Join(t.TempDir(), fmt.Sprint(i))
		noError(os.WriteFile(file, []byte("program for "+platform), 0o600))
		labels := map[string]string{ocispec.AnnotationVersion: "1.2.3+x", ocispec.AnnotationTitle: "prog", "own": "label"}
		all = append(all, Built{platform, file, labels, []byte("notices")})
	}
	var b bytes.Buffer
	digest = must(im.Write(&b, all...))
	file = filepath.Join(t.TempDir(), "x.tar")
	noError(os.WriteFile(file, b.Bytes(), 0o644))
	return file, digest
}

// only returns the index in an archive and its entry, after a check of all that
// is in it.
func only(t *testing.T, file string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range filesIn(must(os.Open(file))) {
		path := filepath.Join(dir, f.Name)
		noError(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(f.content), 0o644))
	}
	whole := must(layout.ImageIndexFromPath(dir))
	noError(validate.Index(whole))
	all := must(whole.IndexManifest()).Manifests
	if len(all) != 1 {
		t.Fatalf("the entries are %v", all)
	}
	return must(whole.ImageIndex(all[0].Digest)), all[0]
}

var hash = regexp.MustCompile("sha256:[0-9a-f]{64}") // depends on gzip

var update = flag.Bool("update", false, "write testdata")

// Each case is dumped and compared with a file in testdata.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		image     Image
		platforms string
	}{
		"archive":   {Image{}, "linux/arm64"},
		"platforms": {Image{Name: "registry.example.com/team/prog:1"}, "linux/amd64 linux/arm/v7"},
		"created":   {Image{Created: time.Unix(1700000000, 0)}, "linux/amd64"},
	} {
		path, digest := write(t, c.image, strings.Fields(c.platforms)...)
		var b strings.Builder
		index, entry := only(t, path)
		fmt.Fprintf(&b, "annotations of the entry %q\n", entry.Annotations)
		dumpIndex(&b, index)
		got := hash.ReplaceAll([]byte(b.String()), []byte("HASH"))
		if entry.Digest.String() != digest || !IsImage(path) {
			t.Errorf("%s: Write returned %s, want %s; IsImage says %v", name, digest, entry.Digest, IsImage(path))
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
		m, c := must(img.Manifest()), must(img.ConfigFile()).DeepCopy()
		c.RootFS = v1.RootFS{}
		fmt.Fprintf(b, "annotations %q\nconfiguration %s %s\n", m.Annotations, m.Config.MediaType, must(json.MarshalIndent(c, "", "\t")))
		for i, l := range must(img.Layers()) {
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

// Everyone may read all files of an image. Docker finds the image in an archive
// by another list of the files. The same program makes the same archive.
func TestFiles(t *testing.T) {
	path, _ := write(t, Image{}, "linux/arm64")
	for _, f := range filesIn(must(os.Open(path))) {
		if f.Mode != 0o644 || f.Typeflag != tar.TypeReg || f.Uid+f.Gid != 0 || !f.ModTime.Equal(epoch) {
			t.Errorf("the archive holds %+v", f.Header)
		}
	}
	if again, _ := write(t, Image{}, "linux/arm64"); !bytes.Equal(must(os.ReadFile(path)), must(os.ReadFile(again))) {
		t.Error("two archives of one program differ")
	}
	index, _ := only(t, path)
	tag := must(name.NewTag("prog:1.2.3-x"))
	docker := must(tarball.ImageFromPath(path, &tag))
	if got, want := must(docker.ConfigName()), must(must(index.Image(must(index.IndexManifest()).Manifests[0].Digest)).ConfigName()); got != want || validate.Image(docker) != nil {
		t.Errorf("Docker finds the configuration %s, want %s; error %v", got, want, validate.Image(docker))
	}
	text := filepath.Join(t.TempDir(), "text.tar")
	noError(os.WriteFile(text, []byte(writtenBy), 0o644))
	if IsImage(text) || IsImage("missing.tar") || IsImage(t.TempDir()) {
		t.Error("IsImage takes another file for an image")
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

// A program that another one loads is refused.
func TestDynamic(t *testing.T) {
	for kind, refused := range map[elf.ProgType]bool{elf.PT_LOAD: false, elf.PT_INTERP: true} {
		var text bytes.Buffer
		noError(binary.Write(&text, binary.LittleEndian, elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
			Phoff: 64, Phentsize: 56, Phnum: 1, Ehsize: 64,
		}), binary.Write(&text, binary.LittleEndian, elf.Prog64{Type: uint32(kind)}))
		file := filepath.Join(t.TempDir(), "program")
		noError(os.WriteFile(file, text.Bytes(), 0o755))
		_, err := (&Image{Program: "prog"}).Write(io.Discard, Built{"linux/amd64", file, map[string]string{}, nil})
		if refused != (err != nil && strings.Contains(err.Error(), "CGO_ENABLED=0")) || !refused && err != nil {
			t.Errorf("with %v the error is %v", kind, err)
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
		im := &Image{Program: c.program, Name: c.image}
		err := im.Check()
		got := fmt.Sprint(err)
		if err == nil {
			got = fullName(must(im.tag(map[string]string{ocispec.AnnotationVersion: c.version})))
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: got %s", c, got)
		}
	}
}
