// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
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

// base returns an image of two layers, of Docker's types.
func base(t *testing.T, p v1.Platform, edit func(*v1.ConfigFile)) v1.Image {
	t.Helper()
	img, err := random.Image(500, 2)
	if err != nil {
		t.Fatal(err)
	}
	c := configOf(t, img).DeepCopy()
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
	if edit != nil {
		edit(c)
	}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return img
}

var linuxAMD64 = v1.Platform{OS: "linux", Architecture: "amd64"}

// indexFor returns an index, of Docker's type, of an image for each platform.
func indexFor(t *testing.T, platforms ...string) (index v1.ImageIndex, images map[string]v1.Image) {
	t.Helper()
	index, images = mutate.IndexMediaType(empty.Index, types.DockerManifestList), map[string]v1.Image{}
	for _, text := range platforms {
		p, err := v1.ParsePlatform(text)
		if err != nil {
			t.Fatal(err)
		}
		images[text] = base(t, *p, nil)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: images[text], Descriptor: v1.Descriptor{Platform: p}})
	}
	return index, images
}

// writeLayout writes an image layout.
func writeLayout(t *testing.T, index v1.ImageIndex) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := layout.Write(dir, index); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pack writes an archive of a folder, with names as tar makes them.
func pack(t *testing.T, dir string, compress bool) (file string) {
	t.Helper()
	var b bytes.Buffer
	w := io.WriteCloser(struct {
		io.Writer
		io.Closer
	}{&b, io.NopCloser(nil)})
	if compress {
		w = gzip.NewWriter(&b)
	}
	a := tar.NewWriter(w)
	if err := a.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if compress {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(t.TempDir(), "base.tar")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// serve starts a registry, which wants a password if it is not "".
func serve(t *testing.T, password string) (host string) {
	t.Helper()
	r := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
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

// dockerConfig makes these the credentials of the user.
func dockerConfig(t *testing.T, host, password string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("REGISTRY_AUTH_FILE", filepath.Join(dir, "none"))
	auth := base64.StdEncoding.EncodeToString([]byte("me:" + password))
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, auth)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func push(t *testing.T, host, ref string, write func(name.Reference) error) string {
	t.Helper()
	r, err := name.ParseReference(host + "/" + ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(r); err != nil {
		t.Fatal(err)
	}
	return r.Name()
}

func diffIDs(t *testing.T, img v1.Image) []v1.Hash { return configOf(t, img).RootFS.DiffIDs }

func TestBase(t *testing.T) {
	dockerConfig(t, "nowhere.example.com", "")
	index, images := indexFor(t, "linux/arm64/v8", "linux/amd64", "windows/amd64", "linux/arm/v7", "linux/amd64/v3", "unknown/unknown")
	host := serve(t, "")
	tagged := push(t, host, "base:1", func(r name.Reference) error { return remote.WriteIndex(r, index) })
	one := push(t, host, "one:1", func(r name.Reference) error { return remote.Write(r, images["linux/amd64"]) })
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	byDigest := host + "/base@" + digest.String()
	dir := writeLayout(t, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index}))
	docker := filepath.Join(t.TempDir(), "docker.tar")
	tag, err := name.NewTag("base")
	if err == nil {
		err = tarball.WriteToFile(docker, tag, images["linux/amd64"])
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base, name, platform, want string
	}{
		{tagged, tagged, "linux/amd64", "linux/amd64"},
		{tagged, tagged, "linux/arm64", "linux/arm64/v8"},
		{tagged, tagged, "linux/arm/v7", "linux/arm/v7"},
		{byDigest, byDigest, "linux/amd64", "linux/amd64"},
		{one, one, "linux/amd64", "linux/amd64"},
		{dir, "", "linux/amd64", "linux/amd64"},
		{dir, "", "linux/arm64", "linux/arm64/v8"},
		{pack(t, dir, false), "", "linux/arm64", "linux/arm64/v8"},
		{pack(t, dir, true), "", "linux/arm64", "linux/arm64/v8"},
		{docker, "", "linux/amd64", "linux/amd64"},
	} {
		out := filepath.Join(t.TempDir(), "image")
		im := program(t, out, c.platform)
		im.Base = c.base
		mustWrite(t, im)
		img, want := onlyImage(t, out), images[c.want]
		if got, from := diffIDs(t, img), diffIDs(t, want); len(got) != 3 || !slices.Equal(got[:2], from) {
			t.Errorf("%s for %s: layers %v on %v", c.base, c.platform, got, from)
		}
		layers := layersOf(t, img)
		if list, content := filesIn(t, layers[2]); len(list) != 1 || content["prog"] != "program for "+c.platform {
			t.Errorf("%s: adds %q", c.base, list)
		}
		manifest, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range manifest.Layers {
			if l.MediaType != types.OCILayer && l.MediaType != types.OCIUncompressedLayer {
				t.Errorf("%s: a layer of type %s", c.base, l.MediaType)
			}
		}
		got := configOf(t, img)
		wantLabels := map[string]string{"theirs": "1", VersionLabel: "1.2.3+x", TitleLabel: "prog", "own": "label"}
		if c.name != "" {
			wantLabels[baseNameLabel] = c.name
		}
		hash, err := want.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if wantLabels[baseDigestLabel] = hash.String(); c.base == docker { // Docker's archives hold no manifest
			wantLabels[baseDigestLabel] = got.Config.Labels[baseDigestLabel]
		}
		wantConfig := v1.Config{
			Entrypoint: []string{"/prog"}, Cmd: []string{"run", "it"},
			User: "theirs", Env: []string{"PATH=/theirs:/", "THEIRS=1"}, WorkingDir: "/work",
			Labels: wantLabels,
		}
		if !reflect.DeepEqual(got.Config, wantConfig) {
			t.Errorf("%s: runs %+v, want %+v", c.base, got.Config, wantConfig)
		}
		if manifest.Annotations[baseDigestLabel] != wantLabels[baseDigestLabel] {
			t.Errorf("%s: annotations %q", c.base, manifest.Annotations)
		}
		if len(got.History) != 4 {
			t.Errorf("%s: history %+v", c.base, got.History)
		}
	}

	// Several platforms, each on its own.
	out := filepath.Join(t.TempDir(), "image")
	im := program(t, out, "linux/amd64", "linux/arm64")
	im.Base = tagged
	mustWrite(t, im)
	whole, entry := only(t, out)
	inner, err := whole.ImageIndex(entry.Digest)
	if err != nil {
		t.Fatal(err)
	}
	got, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if got.Annotations[baseNameLabel] != tagged || got.Annotations[baseDigestLabel] != "" {
		t.Errorf("annotations %q", got.Annotations)
	}
	for i, want := range []string{"linux/amd64", "linux/arm64/v8"} {
		img, err := inner.Image(got.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		if ids := diffIDs(t, img); ids[0] != diffIDs(t, images[want])[0] {
			t.Errorf("%s does not stand on it", want)
		}
	}
	if t.Failed() {
		return
	}

	// A base on which our own image stands.
	im = program(t, filepath.Join(t.TempDir(), "x.tar"), "linux/amd64")
	mustWrite(t, im)
	second := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64")
	second.Base, second.Program = im.Output, "second"
	mustWrite(t, second)
	if c := configOf(t, onlyImage(t, second.Output)); c.Config.User != user || len(c.History) != 3 {
		t.Errorf("runs as %s, history %+v", c.Config.User, c.History)
	}
}

// What a base leaves open is ours.
func TestBareBase(t *testing.T) {
	bare := base(t, linuxAMD64, func(c *v1.ConfigFile) {
		c.Config, c.History = v1.Config{}, nil
	})
	im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64")
	im.Base = writeLayout(t, indexOf(bare))
	mustWrite(t, im)
	c := configOf(t, onlyImage(t, im.Output))
	if c.Config.User != user || !slices.Equal(c.Config.Env, []string{"PATH=" + defaultPath + ":/"}) || c.Config.Labels["own"] != "label" || c.History != nil {
		t.Errorf("runs %+v, history %+v", c.Config, c.History)
	}
}

func TestBaseCredentials(t *testing.T) {
	host := serve(t, "secret")
	dockerConfig(t, host, "secret")
	keychain := remote.WithAuthFromKeychain(keychain)
	ref := push(t, host, "private:1", func(r name.Reference) error { return remote.Write(r, base(t, linuxAMD64, nil), keychain) })
	im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64")
	im.Base = ref
	mustWrite(t, im)

	dockerConfig(t, host, "wrong")
	_, err := im.Write(t.Context())
	if err == nil || !strings.Contains(err.Error(), "docker login "+host) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong password: %v", err)
	}
}

func TestBaseErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	dockerConfig(t, "nowhere.example.com", "")
	index, _ := indexFor(t, "linux/arm64", "windows/amd64")
	host := serve(t, "")
	onlyARM := writeLayout(t, index)
	amd64 := base(t, linuxAMD64, nil)
	damaged := writeLayout(t, indexOf(amd64))
	layer, err := layersOf(t, amd64)[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	blob := filepath.Join(damaged, blobsDir, layer.Algorithm, layer.Hex)
	text, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(blob, text, 0o644); err != nil {
		t.Fatal(err)
	}
	noBlob := writeLayout(t, indexOf(amd64))
	if err := os.Remove(filepath.Join(noBlob, blobsDir, layer.Algorithm, layer.Hex)); err != nil {
		t.Fatal(err)
	}
	two := writeLayout(t, mutate.AppendManifests(indexOf(amd64), mutate.IndexAddendum{Add: base(t, linuxAMD64, nil)}))
	broken := writeLayout(t, indexOf(amd64))
	if err := os.WriteFile(filepath.Join(broken, indexFile), []byte("["), 0o644); err != nil {
		t.Fatal(err)
	}
	none := writeLayout(t, empty.Index)
	for name, text := range map[string]string{"text.tar": "no archive\n", "cut.tar": "", "text": "x"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	refused := serveNothing(t)
	for base, want := range map[string]string{
		onlyARM:                "is not for linux/amd64: it is for linux/arm64, windows/amd64",
		damaged:                "is damaged: ",
		noBlob:                 "is damaged: ",
		pack(t, broken, false): "reading the base image ",
		none:                   "is not for linux/amd64: it is for no platform",
		two:                    "holds 2 images for linux/amd64: name a file with one of them",
		"text.tar":             "text.tar is no archive of an image",
		"cut.tar":              "cut.tar is no archive of an image",
		"text":                 "text is no archive of an image",
		"./missing":            "there is no base image ./missing here",
		"missing.tar":          "there is no base image missing.tar here",
		"missing.tar.gz":       "there is no base image missing.tar.gz here",
		"./folder":             "there is no base image ./folder here: it has no file oci-layout",
		"a b":                  `"a b" is neither a file here nor the name of an image`,
		host + "/missing:1":    "Check its name and its tag.",
		refused + "/x":         "does without a registry: --base ./FILE.tar",
	} {
		im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64")
		im.Base = base
		if _, err := im.Write(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", base, err, want)
		}
		if got := tree(t, filepath.Dir(im.Output)); len(got) != 1 {
			t.Errorf("%s: left %q", base, got)
		}
	}
}

// serveNothing returns an address that nobody listens at.
func serveNothing(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	s.Close()
	return s.Listener.Addr().String()
}

// Names in an archive lead nowhere else.
func TestBaseHostileNames(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hostile.tar")
	var b bytes.Buffer
	a := tar.NewWriter(&b)
	hex := strings.Repeat("0", 64)
	for _, h := range []tar.Header{
		{Name: "../outside", Typeflag: tar.TypeReg},
		{Name: "/outside", Typeflag: tar.TypeReg},
		{Name: "blobs/sha256/../../../outside", Typeflag: tar.TypeReg},
		{Name: "blobs/sha256", Typeflag: tar.TypeSymlink, Linkname: dir},
		{Name: "blobs", Typeflag: tar.TypeSymlink, Linkname: dir},
		{Name: "index.json", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
		{Name: "blobs/sha256/" + hex, Typeflag: tar.TypeReg},
		{Name: "oci-layout", Typeflag: tar.TypeReg},
	} {
		if err := a.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64")
	im.Base = file
	if _, err := im.Write(t.Context()); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("error %v", err)
	}
	if after := tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("%q became %q", before, after)
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		has, wanted string
		want        bool
	}{
		{"linux/amd64", "linux/amd64", true},
		{"linux/amd64", "linux/amd64/v3", true},
		{"linux/amd64/v1", "linux/amd64", true},
		{"linux/amd64/v3", "linux/amd64", false},
		{"linux/arm64/v8", "linux/arm64", true},
		{"linux/arm64/v9", "linux/arm64", false},
		{"linux/arm", "linux/arm/v6", true},
		{"linux/arm/v7", "linux/arm/v6", false},
		{"linux/arm64", "linux/amd64", false},
		{"windows/amd64", "linux/amd64", false},
	} {
		has, err := v1.ParsePlatform(c.has)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := v1.ParsePlatform(c.wanted)
		if err != nil {
			t.Fatal(err)
		}
		if got := fits(*has, *wanted); got != c.want {
			t.Errorf("%s for %s: %t", c.has, c.wanted, got)
		}
	}
}
