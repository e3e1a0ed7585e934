// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// openBases finds the base for each platform.
func (w *writer) openBases(ctx context.Context) error {
	index, refName, err := w.openBase(ctx)
	if err != nil {
		return err
	}
	all := map[string][]candidate{}
	if err := findImages(index, all); err != nil {
		return fmt.Errorf("reading the base image %s: %w", w.Base, err)
	}
	w.baseName = refName
	for i := range w.targets {
		t := &w.targets[i]
		c, err := choose(all, t.platform)
		if err != nil {
			return fmt.Errorf("the base image %s %w", w.Base, err)
		}
		if err := t.setBase(c); err != nil {
			return fmt.Errorf("reading the base image %s: %w", w.Base, err)
		}
		if refName == "" { // package remote checks what a registry sends
			w.printf("checking the base image %s for %s", w.Base, t.platform)
			if err := t.checkBase(ctx); err != nil {
				return fmt.Errorf("the base image %s is damaged: %w", w.Base, err)
			}
		}
		w.printf("the base image for %s is %s", t.platform, t.base)
	}
	return ctx.Err()
}

// setBase reads all of the base except its layers.
func (t *target) setBase(c candidate) error {
	img, err := c.index.Image(c.digest)
	if err != nil {
		return err
	}
	name, err := img.ConfigName()
	if err != nil {
		return err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	if t.base, err = img.Digest(); err != nil {
		return err
	}
	if t.base != c.digest || name != manifest.Config.Digest {
		return errors.New("its manifest or its configuration is damaged")
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	t.config = config.DeepCopy()
	t.layers, err = img.Layers()
	return err
}

// checkBase returns an error if the content of a layer does not have the hash
// that the configuration states.
func (t *target) checkBase(ctx context.Context) error {
	want := t.config.RootFS.DiffIDs
	if len(t.layers) != len(want) {
		return fmt.Errorf("it has %d layers, want %d", len(t.layers), len(want))
	}
	for i, l := range t.layers {
		r, err := l.Uncompressed()
		if err != nil {
			return err
		}
		got, _, err := v1.SHA256(ctxReader{r, ctx})
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		if got != want[i] {
			return fmt.Errorf("the hash of layer %d is %s, want %s", i, got, want[i])
		}
	}
	return nil
}

// openBase opens the base. It is a file or folder if an image of that name is
// here, or if the name cannot be an image's. refName is empty then.
func (w *writer) openBase(ctx context.Context) (index v1.ImageIndex, refName string, err error) {
	info, err := os.Stat(w.Base)
	if err == nil && !info.IsDir() {
		index, err = w.openArchive(ctx)
		return index, "", err
	}
	if err == nil {
		if _, err = os.Stat(filepath.Join(w.Base, layoutFile)); err == nil {
			index, err = w.openLayout(w.Base)
			return index, "", err
		}
		err = fmt.Errorf("it has no file %s", layoutFile)
	}
	if strings.HasPrefix(w.Base, ".") || filepath.IsAbs(w.Base) || archiveForm.MatchString(w.Base) {
		return nil, "", fmt.Errorf("there is no base image %s here: %w", w.Base, err)
	}
	return w.pull(ctx)
}

// archiveForm matches names of files that cannot be names of images.
var archiveForm = regexp.MustCompile(`\.(?:tar|tgz|tar\.gz)$`)

// openLayout opens the base in a folder.
func (w *writer) openLayout(dir string) (v1.ImageIndex, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("the base image %s is damaged: %w", w.Base, err)
	}
	return index, nil
}

// keychain has the credentials that `docker login` and others keep.
var keychain = authn.DefaultKeychain

// pull finds the base in a registry. It gets the layers when they are read.
func (w *writer) pull(ctx context.Context) (index v1.ImageIndex, refName string, err error) {
	ref, err := name.ParseReference(w.Base)
	if err != nil {
		return nil, "", fmt.Errorf("%q is neither a file here nor the name of an image: %w", w.Base, err)
	}
	w.printf("asking %s for the base image", ref.Context().RegistryStr())
	d, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(keychain), remote.WithUserAgent("regometer"))
	if err != nil {
		return nil, "", fmt.Errorf("cannot get the base image %s: %w%s", ref.Name(), err, pullHint(err, ref))
	}
	if d.MediaType.IsIndex() {
		index, err = d.ImageIndex()
		return index, ref.Name(), err
	}
	img, err := d.Image()
	if err != nil {
		return nil, "", fmt.Errorf("%s is not an image: %w", ref.Name(), err)
	}
	return indexOf(img), ref.Name(), nil
}

// pullHint returns advice about an error of a registry, or "".
func pullHint(err error, ref name.Reference) string {
	var answer *transport.Error
	switch {
	case !errors.As(err, &answer):
		return "\nA file or folder with an image does without a registry: --base ./FILE.tar"
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return "\nThe image may not exist, or not be public: `docker login " + ref.Context().RegistryStr() + "`, `podman login` or `crane auth login` store credentials that this program uses."
	case answer.StatusCode == http.StatusNotFound:
		return "\nCheck its name and its tag."
	}
	return ""
}

func indexOf(img v1.Image) v1.ImageIndex {
	return mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})
}

// openArchive opens an archive of `skopeo copy … oci-archive:` or of `docker
// save`, compressed or not.
func (w *writer) openArchive(ctx context.Context) (v1.ImageIndex, error) {
	w.printf("reading %s", w.Base)
	dir := filepath.Join(w.work, baseDir)
	err := w.unpack(ctx, layout.Path(dir))
	if err == nil {
		if _, err := os.Stat(filepath.Join(dir, layoutFile)); err == nil {
			return w.openLayout(dir)
		}
		var img v1.Image
		if img, err = tarball.Image(func() (io.ReadCloser, error) { return open(w.Base) }, nil); err == nil {
			return indexOf(img), nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("%s is not an archive of an image, as skopeo (oci-archive) and docker save write them: %w", w.Base, err)
}

// unpack extracts the files of an image layout from an archive. It ignores all
// others, whatever their names are.
func (w *writer) unpack(ctx context.Context, dir layout.Path) error {
	in, err := open(w.Base)
	if err != nil {
		return err
	}
	defer in.Close()
	for t := tar.NewReader(ctxReader{in, ctx}); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		file := path.Clean(h.Name)
		blob, isBlob := strings.CutPrefix(file, blobsDir+"/")
		switch {
		case h.Typeflag != tar.TypeReg:
		case file == layoutFile || file == indexFile:
			var text []byte
			if text, err = io.ReadAll(t); err == nil {
				err = dir.WriteFile(file, text, 0o644)
			}
		case isBlob:
			if hash, invalid := v1.NewHash(strings.Replace(blob, "/", ":", 1)); invalid == nil {
				err = dir.WriteBlob(hash, io.NopCloser(t))
			}
		}
		if err != nil {
			return err
		}
	}
}

// open opens a file. It decompresses the file if gzip compressed it.
func open(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(f)
	if err != nil { // not compressed
		_, err = f.Seek(0, io.SeekStart)
		return f, err
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// A candidate is an image in an index.
type candidate struct {
	index  v1.ImageIndex
	digest v1.Hash
}

// findImages adds the images in an index, and in the indexes in it, to all. The
// keys of all are platforms.
func findImages(index v1.ImageIndex, all map[string][]candidate) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range manifest.Manifests {
		if d.MediaType.IsIndex() {
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return err
			}
			if err := findImages(inner, all); err != nil {
				return err
			}
		} else if d.MediaType.IsImage() {
			c := candidate{index, d.Digest}
			if d.Platform == nil {
				if d.Platform, err = c.platform(); err != nil {
					return err
				}
			}
			name := platformName(*d.Platform)
			known := slices.ContainsFunc(all[name], func(k candidate) bool { return k.digest == c.digest })
			if !known && d.Platform.OS != "unknown" { // a signature or the like
				all[name] = append(all[name], c)
			}
		}
	}
	return nil
}

// platform returns the platform in the configuration of an image.
func (c candidate) platform() (*v1.Platform, error) {
	img, err := c.index.Image(c.digest)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	return cmp.Or(config.Platform(), &v1.Platform{}), nil
}

// platformName returns the same name for the same platform: it leaves out a
// default variant.
func platformName(p v1.Platform) string {
	name := v1.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}.String()
	for _, implied := range []string{"amd64/v1", "arm64/v8"} {
		if platform, ok := strings.CutSuffix(name, implied); ok {
			return platform + p.Architecture
		}
	}
	return name
}

// choose returns the image for a platform, or else the image for all variants
// of the platform. The text of an error continues after the name of the base.
func choose(all map[string][]candidate, p v1.Platform) (c candidate, err error) {
	for _, name := range []string{platformName(p), p.OS + "/" + p.Architecture} {
		if found := all[name]; len(found) > 1 {
			return c, fmt.Errorf("holds %d images for %s: name a file with one of them", len(found), p)
		} else if len(found) == 1 {
			return found[0], nil
		}
	}
	there := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
	return c, fmt.Errorf("is not for %s: it is for %s", p, cmp.Or(there, "no platform"))
}
