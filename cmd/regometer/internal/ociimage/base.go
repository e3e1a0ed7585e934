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

// openBases finds the base for each platform. It checks the content of a local
// base. Package remote checks what a registry answers.
func (w *writer) openBases(ctx context.Context) error {
	index, err := w.openBase(ctx)
	if err != nil {
		return err
	}
	all := map[string][]candidate{}
	if err := findImages(index, all); err != nil {
		return err
	}
	for i := range w.targets {
		t := &w.targets[i]
		c, err := choose(all, t.platform)
		if err == nil {
			t.base, err = c.index.Image(c.digest)
		}
		if err == nil && w.baseName == "" {
			err = checkBase(t.base, c.digest)
		}
		if err != nil {
			return err
		}
		t.baseDigest = c.digest
		w.printf("the base image for %s is %s", t.platform, c.digest)
	}
	return nil
}

// checkBase returns an error if a part of the base does not have its hash.
// Package validate would also refuse zstd, and two entries with one name.
func checkBase(base v1.Image, want v1.Hash) error {
	digest, err1 := base.Digest()
	manifest, err2 := base.Manifest()
	name, err3 := base.ConfigName()
	config, err4 := base.ConfigFile()
	layers, err5 := base.Layers()
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	if digest != want || name != manifest.Config.Digest || len(layers) != len(config.RootFS.DiffIDs) {
		return errors.New("its manifest or its configuration is damaged")
	}
	for i, l := range layers {
		r, err := l.Uncompressed()
		if err == nil {
			var hash v1.Hash
			hash, _, err = v1.SHA256(r)
			err = errors.Join(err, r.Close())
			if err == nil && hash != config.RootFS.DiffIDs[i] {
				err = fmt.Errorf("its hash is %s, want %s", hash, config.RootFS.DiffIDs[i])
			}
		}
		if err != nil {
			return fmt.Errorf("layer %d is damaged: %w", i, err)
		}
	}
	return nil
}

// openBase opens the base. The name means a file or a folder if there is one
// with an image, or if no image in a registry can have the name. Otherwise
// openBase finds the image in a registry and sets baseName.
func (w *writer) openBase(ctx context.Context) (v1.ImageIndex, error) {
	info, err := os.Stat(w.Base)
	if err == nil && !info.IsDir() {
		return w.openArchive()
	}
	if _, err = os.Stat(filepath.Join(w.Base, layoutFile)); err == nil {
		return layout.ImageIndexFromPath(w.Base)
	}
	if strings.HasPrefix(w.Base, ".") || filepath.IsAbs(w.Base) || archiveForm.MatchString(w.Base) {
		return nil, fmt.Errorf("it is neither a file nor a folder with an image: %w", err)
	}
	return w.pull(ctx)
}

// archiveForm matches names of files that cannot be names of images.
var archiveForm = regexp.MustCompile(`\.(?:tar|tgz|tar\.gz)$`)

// keychain has the credentials that `docker login` and similar commands store.
var keychain = authn.DefaultKeychain

// pull finds the base in a registry. A layer is downloaded when it is read.
func (w *writer) pull(ctx context.Context) (v1.ImageIndex, error) {
	ref, err := name.ParseReference(w.Base)
	if err != nil {
		return nil, fmt.Errorf("it is neither a file here nor the name of an image: %w", err)
	}
	w.baseName = ref.Name()
	w.printf("asking %s for the base image", ref.Context().RegistryStr())
	d, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(keychain), remote.WithUserAgent("regometer"))
	if answer, ok := errors.AsType[*transport.Error](err); ok && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) {
		err = fmt.Errorf("%w\nThe image may not exist, or may not be public. Store credentials for this program with `docker login %s`, `podman login` or `crane auth login`",
			err, ref.Context().RegistryStr())
	}
	if err != nil {
		return nil, err
	}
	if d.MediaType.IsIndex() {
		return d.ImageIndex()
	}
	img, err := d.Image()
	if err != nil {
		return nil, fmt.Errorf("it is not an image: %w", err)
	}
	return indexOf(img), nil
}

func indexOf(img v1.Image) v1.ImageIndex {
	return mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})
}

// openArchive opens an archive of `skopeo copy … oci-archive:` or of `docker
// save`, compressed or not.
func (w *writer) openArchive() (v1.ImageIndex, error) {
	w.printf("reading %s", w.Base)
	dir := filepath.Join(w.work, baseDir)
	err := w.unpack(layout.Path(dir))
	if _, noLayout := os.Stat(filepath.Join(dir, layoutFile)); err == nil && noLayout == nil {
		return layout.ImageIndexFromPath(dir)
	}
	img, err := tarball.Image(func() (io.ReadCloser, error) { return open(w.Base) }, nil)
	if err != nil {
		return nil, fmt.Errorf("it is not an archive of an image, as skopeo (oci-archive) and docker save write them: %w", err)
	}
	return indexOf(img), nil
}

// unpack extracts the files of an image layout from an archive. It ignores all
// other files.
func (w *writer) unpack(dir layout.Path) error {
	in, err := open(w.Base)
	if err != nil {
		return err
	}
	defer in.Close()
	for t := tar.NewReader(in); ; {
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

// open opens a file, and decompresses it if gzip compressed it.
func open(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	if z, err := gzip.NewReader(f); err == nil {
		return struct {
			io.Reader
			io.Closer
		}{z, f}, nil
	}
	_, err = f.Seek(0, io.SeekStart) // it is not compressed
	return f, err
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
		switch {
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err == nil {
				err = findImages(inner, all)
			}
			if err != nil {
				return err
			}
		case d.MediaType.IsImage():
			c := candidate{index, d.Digest}
			if d.Platform == nil { // the configuration has it
				img, err := index.Image(d.Digest)
				if err != nil {
					return err
				}
				config, err := img.ConfigFile()
				if err != nil {
					return err
				}
				d.Platform = cmp.Or(config.Platform(), &v1.Platform{})
			}
			name := platformName(*d.Platform)
			known := slices.ContainsFunc(all[name], func(k candidate) bool { return k.digest == c.digest })
			if !known && d.Platform.OS != "unknown" { // "unknown" is a signature or the like
				all[name] = append(all[name], c)
			}
		}
	}
	return nil
}

// platformName returns one name for each platform. It leaves out a default
// variant.
func platformName(p v1.Platform) string {
	if kind := p.Architecture + "/" + p.Variant; kind == "amd64/v1" || kind == "arm64/v8" {
		p.Variant = ""
	}
	return v1.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}.String()
}

// choose returns the image for a platform, or else the image for all variants
// of the platform.
func choose(all map[string][]candidate, p v1.Platform) (c candidate, err error) {
	found := all[platformName(p)]
	if len(found) == 0 {
		found = all[p.OS+"/"+p.Architecture]
	}
	switch len(found) {
	case 0:
		there := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
		return c, fmt.Errorf("it is not for %s, but for %s", p, cmp.Or(there, "no platform"))
	case 1:
		return found[0], nil
	}
	return c, fmt.Errorf("it holds %d images for %s: name a file with one of them", len(found), p)
}
