// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newBase returns an image of two layers, of Docker's types. For a platform it
// is always the same.
func newBase(platform string) v1.Image {
	source := rand.NewSource(int64(crc32.ChecksumIEEE([]byte(platform))))
	img := must(random.Image(500, 2, random.WithSource(source)))
	p := must(v1.ParsePlatform(platform))
	c := must(img.ConfigFile()).DeepCopy()
	c.OS, c.Architecture, c.Variant = p.OS, p.Architecture, p.Variant
	c.Config = v1.Config{
		Entrypoint: []string{"/bin/theirs"},
		Cmd:        []string{"theirs"},
		User:       "theirs",
		Env:        []string{"PATH=/theirs", "THEIRS=1"},
		WorkingDir: "/work",
		Labels:     map[string]string{"theirs": "1", VersionLabel: "24.04", ociPrefix + "vendor": "them"},
	}
	c.History = slices.Insert(c.History, 1, v1.History{CreatedBy: "ENV THEIRS=1", EmptyLayer: true})
	return must(mutate.ConfigFile(img, c))
}

// newIndex returns an index, of Docker's type, of an image for each platform.
func newIndex(platforms ...string) (index v1.ImageIndex, images map[string]v1.Image) {
	index, images = mutate.IndexMediaType(empty.Index, types.DockerManifestList), map[string]v1.Image{}
	for _, p := range platforms {
		images[p] = newBase(p)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: images[p], Descriptor: v1.Descriptor{Platform: must(v1.ParsePlatform(p))}})
	}
	return index, images
}

// writeLayout writes an image layout.
func writeLayout(t *testing.T, index v1.ImageIndex) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(layout.Write(dir, index))
	return dir
}

// archive writes an archive of a folder, with names as tar makes them, and the
// same archive compressed.
func archive(t *testing.T, dir string) (file, compressed string) {
	t.Helper()
	var plain, small bytes.Buffer
	z := gzip.NewWriter(&small)
	a := tar.NewWriter(io.MultiWriter(&plain, z))
	file = filepath.Join(t.TempDir(), "base.tar")
	compressed = file + ".gz"
	noError(a.AddFS(os.DirFS(dir)), a.Close(), z.Close(), os.WriteFile(file, plain.Bytes(), 0o644), os.WriteFile(compressed, small.Bytes(), 0o644))
	return file, compressed
}

// serve starts a registry. It needs a password, unless the password is "".
func serve(t *testing.T, password string) (host string) {
	t.Helper()
	r := registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, given, _ := req.BasicAuth(); given != password {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// setCredentials sets the user's credentials.
func setCredentials(t *testing.T, host, password string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("REGISTRY_AUTH_FILE", filepath.Join(dir, "none"))
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, base64.StdEncoding.EncodeToString([]byte("me:"+password)))
	noError(os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600))
}

func diffIDs(img v1.Image) []v1.Hash { return must(img.ConfigFile()).RootFS.DiffIDs }

func TestBase(t *testing.T) {
	setCredentials(t, "nowhere.example.com", "")
	index, images := newIndex("linux/arm64/v8", "linux/amd64", "windows/amd64", "linux/arm/v7", "linux/amd64/v3", "unknown/unknown")
	host := serve(t, "")
	tagged, one := host+"/base:1", host+"/one:1"
	noError(remote.WriteIndex(must(name.ParseReference(tagged)), index), remote.Write(must(name.ParseReference(one)), images["linux/amd64"]))
	byDigest := host + "/base@" + must(index.Digest()).String()
	dir := writeLayout(t, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index}))
	file, compressed := archive(t, dir)
	docker := filepath.Join(t.TempDir(), "docker.tar")
	noError(tarball.WriteToFile(docker, must(name.NewTag("base")), images["linux/amd64"]))
	for _, c := range []struct{ base, platform, want string }{
		{tagged, "linux/amd64", "linux/amd64"},
		{tagged, "linux/arm64", "linux/arm64/v8"},
		{tagged, "linux/arm/v7", "linux/arm/v7"},
		{tagged, "linux/amd64/v3", "linux/amd64/v3"},
		{tagged, "linux/amd64/v2", "linux/amd64"},
		{byDigest, "linux/amd64", "linux/amd64"},
		{one, "linux/amd64", "linux/amd64"},
		{dir, "linux/arm64", "linux/arm64/v8"},
		{file, "linux/arm64", "linux/arm64/v8"},
		{compressed, "linux/arm64", "linux/arm64/v8"},
		{docker, "linux/amd64", "linux/amd64"},
	} {
		im := program(t, "", c.platform)
		im.Base = c.base
		img, want := writeImage(t, im), images[c.want]
		if got, from := diffIDs(img), diffIDs(want); len(got) != 3 || !slices.Equal(got[:2], from) {
			t.Errorf("%s for %s: layers %v, want %v and the program's", c.base, c.platform, got, from)
		}
		labels, baseName := must(img.ConfigFile()).Config.Labels, ""
		if strings.HasPrefix(c.base, host) {
			baseName = c.base
		}
		// docker's archive holds no manifest.
		if labels[baseNameLabel] != baseName || labels[baseDigestLabel] != must(want.Digest()).String() && c.base != docker {
			t.Errorf("%s for %s: labels %q, want the base %s", c.base, c.platform, labels, must(want.Digest()))
		}
	}
}

func TestBaseCredentials(t *testing.T) {
	host := serve(t, "secret")
	setCredentials(t, host, "secret")
	im := program(t, "", "linux/amd64")
	im.Base = host + "/private:1"
	noError(remote.Write(must(name.ParseReference(im.Base)), newBase("linux/amd64"), remote.WithAuthFromKeychain(keychain)))
	writeImage(t, im)

	setCredentials(t, host, "wrong")
	_, err := im.Write(t.Context())
	if err == nil || !strings.Contains(err.Error(), "docker login "+host) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong password: %v", err)
	}
}

// damage changes a byte in the middle of a part of a file.
func damage(file string, part []byte) {
	text := must(os.ReadFile(file))
	text[bytes.Index(text, part)+len(part)/2] ^= 1
	noError(os.WriteFile(file, text, 0o644))
}

func TestBaseErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	setCredentials(t, "nowhere.example.com", "")
	index, _ := newIndex("linux/arm64", "windows/amd64")
	amd64 := newBase("linux/amd64")
	layer := must(amd64.Layers())[0]
	content := must(io.ReadAll(must(layer.Compressed())))
	// damaged returns the base after a change in a blob.
	damaged := func(hash v1.Hash, part []byte) string {
		dir := writeLayout(t, indexOf(amd64))
		damage(filepath.Join(dir, blobsDir, hash.Algorithm, hash.Hex), part)
		return dir
	}
	noBlob := writeLayout(t, indexOf(amd64))
	noError(os.RemoveAll(filepath.Join(noBlob, blobsDir, "sha256", must(layer.Digest()).Hex)))
	badDocker := filepath.Join(t.TempDir(), "docker.tar")
	noError(tarball.WriteToFile(badDocker, must(name.NewTag("base")), amd64))
	damage(badDocker, content)
	for name, text := range map[string]string{"text.tar": "not an archive\n", "empty.tar": "", "text": "x", "folder/index.json": "["} {
		noError(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
	}
	broken := writeLayout(t, indexOf(amd64))
	noError(os.WriteFile(filepath.Join(broken, indexFile), []byte("["), 0o644))
	brokenFile, _ := archive(t, broken)
	writeHostile("hostile.tar")
	before := tree(".")
	for base, want := range map[string]string{
		writeLayout(t, index):                                  "it is not for linux/amd64, but for linux/arm64, windows/amd64",
		damaged(must(layer.Digest()), content):                 "layer 0 is damaged: ",
		damaged(must(amd64.ConfigName()), []byte("theirs")):    "its manifest or its configuration is damaged",
		damaged(must(amd64.Digest()), []byte("schemaVersion")): "its manifest or its configuration is damaged",
		badDocker:                   "layer 0 is damaged: ",
		noBlob:                      "no such file",
		brokenFile:                  "unexpected end of JSON input",
		"hostile.tar":               "no such file",
		writeLayout(t, empty.Index): "it is not for linux/amd64, but for no platform",
		writeLayout(t, mutate.AppendManifests(indexOf(amd64), mutate.IndexAddendum{Add: mutate.Annotations(amd64, map[string]string{"a": "b"}).(v1.Image)})): "it holds 2 images for linux/amd64: name a file with one of them",
		"text.tar":                  "it is not an archive of an image",
		"empty.tar":                 "it is not an archive of an image",
		"text":                      "it is not an archive of an image",
		"./missing":                 "it is neither a file nor a folder with an image",
		"missing.tar":               "it is neither a file nor a folder with an image",
		"missing.tar.gz":            "it is neither a file nor a folder with an image",
		"./folder":                  "it is neither a file nor a folder with an image",
		"a b":                       "it is neither a file here nor the name of an image",
		serve(t, "") + "/missing:1": "Unknown name",
	} {
		im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64")
		im.Base = base
		im.Build = nil // must not be called
		if _, err := im.Write(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "the base image "+base+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", base, err, want)
		}
		if got := tree(filepath.Dir(im.Output)); len(got) != 1 {
			t.Errorf("%s: left %q", base, got)
		}
	}
	if after := tree("."); !slices.Equal(after, before) {
		t.Errorf("there are %q", after)
	}
}

// writeHostile writes an archive whose names lead elsewhere.
func writeHostile(file string) {
	var b bytes.Buffer
	a := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "../outside", Typeflag: tar.TypeReg},
		{Name: must(filepath.Abs("outside")), Typeflag: tar.TypeReg},
		{Name: "blobs/sha256/../../../outside", Typeflag: tar.TypeReg},
		{Name: "blobs/sha256", Typeflag: tar.TypeSymlink, Linkname: must(filepath.Abs("."))},
		{Name: "index.json", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
		{Name: "blobs/sha256/" + strings.Repeat("0", 64), Typeflag: tar.TypeReg},
		{Name: "oci-layout", Typeflag: tar.TypeReg},
	} {
		noError(a.WriteHeader(&h))
	}
	noError(a.Close(), os.WriteFile(file, b.Bytes(), 0o644))
}

// A program that another one loads needs a base that has the other one.
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
		im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64")
		im.Build = func(context.Context, string) (Built, error) { return Built{File: file}, nil }
		_, err := im.Write(t.Context())
		if refused != (err != nil && strings.Contains(err.Error(), "CGO_ENABLED=0")) || !refused && err != nil {
			t.Errorf("with %v the error is %v", kind, err)
		}
		im.Base = writeLayout(t, indexOf(newBase("linux/amd64")))
		writeImage(t, im)
	}
}

func TestChoose(t *testing.T) {
	for has, choices := range map[string]map[string]bool{
		"linux/amd64":    {"linux/amd64": true, "linux/amd64/v3": true},
		"linux/amd64/v1": {"linux/amd64": true},
		"linux/amd64/v3": {"linux/amd64": false},
		"linux/arm64/v8": {"linux/arm64": true},
		"linux/arm64/v9": {"linux/arm64": false},
		"linux/arm":      {"linux/arm/v6": true},
		"linux/arm/v7":   {"linux/arm/v6": false},
		"windows/amd64":  {"linux/amd64": false},
	} {
		index, _ := newIndex(has)
		all := map[string][]candidate{}
		noError(findImages(index, all))
		for wanted, want := range choices {
			if _, err := choose(all, *must(v1.ParsePlatform(wanted))); (err == nil) != want {
				t.Errorf("%s for %s: %v", has, wanted, err)
			}
		}
	}
}
