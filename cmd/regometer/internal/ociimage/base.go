// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// A baseImage is what the image for one platform stands on.
type baseImage struct {
	name   string // in a registry, or "": the name of a file means nothing elsewhere
	digest v1.Hash
	config *v1.ConfigFile
	layers []v1.Layer
}

// openBases finds the base for each platform, if there is to be one.
func (w *writer) openBases(ctx context.Context, platforms []v1.Platform) error {
	if w.Base == "" {
		return nil
	}
	index, refName, err := w.openBase(ctx)
	if err != nil {
		return err
	}
	all, err := imagesIn(index)
	if err != nil {
		return fmt.Errorf("reading the base image %s: %w", w.Base, err)
	}
	w.bases = map[string]baseImage{}
	for _, p := range platforms {
		img, err := choose(all, p)
		if err != nil {
			return fmt.Errorf("the base image %s %w", w.Base, err)
		}
		if refName == "" { // what comes from a registry is checked as it comes
			w.printf("checking the base image %s for %s", w.Base, p)
			if err := validate.Image(img); err != nil {
				return fmt.Errorf("the base image %s is damaged: %w", w.Base, err)
			}
		}
		b := baseImage{name: refName}
		if b.digest, err = img.Digest(); err == nil {
			if b.config, err = img.ConfigFile(); err == nil {
				b.config = b.config.DeepCopy()
				b.layers, err = img.Layers()
			}
		}
		if err != nil {
			return fmt.Errorf("reading the base image %s: %w", w.Base, err)
		}
		w.printf("the base image for %s is %s", p, b.digest)
		w.bases[p.String()] = b
	}
	return nil
}

// openBase opens the base, which is a file or folder if there is an image of
// that name here, or if the name can be nothing else. refName is empty for
// those.
func (w *writer) openBase(ctx context.Context) (index v1.ImageIndex, refName string, err error) {
	info, err := os.Stat(w.Base)
	if err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(w.Base, layoutFile)); err == nil {
			index, err = w.openLayout(w.Base)
			return index, "", err
		}
	} else if err == nil {
		index, err = w.openArchive(ctx)
		return index, "", err
	}
	if strings.HasPrefix(w.Base, ".") || filepath.IsAbs(w.Base) || archiveForm.MatchString(w.Base) {
		if err == nil {
			err = fmt.Errorf("it has no file %s", layoutFile)
		}
		return nil, "", fmt.Errorf("there is no base image %s here: %w", w.Base, err)
	}
	return w.pull(ctx)
}

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

// pull finds the base in a registry. Its layers come when they are read.
func (w *writer) pull(ctx context.Context) (v1.ImageIndex, string, error) {
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
		index, err := d.ImageIndex()
		return index, ref.Name(), err
	}
	img, err := d.Image()
	if err != nil {
		return nil, "", fmt.Errorf("the base image %s is none: %w", ref.Name(), err)
	}
	return indexOf(img), ref.Name(), nil
}

// pullHint returns how to mend an error of a registry, or "".
func pullHint(err error, ref name.Reference) string {
	var answer *transport.Error
	switch {
	case !errors.As(err, &answer):
		return "\nA file or folder with an image does without a registry: --base ./FILE.tar"
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return "\nThere may be no such image, or it is not for everyone: `docker login " + ref.Context().RegistryStr() + "`, `podman login` or `crane auth login` keep what this program then uses."
	case answer.StatusCode == http.StatusNotFound:
		return "\nCheck its name and its tag."
	}
	return ""
}

// archiveForm matches names of files that are no names of images.
var archiveForm = regexp.MustCompile(`\.(?:tar|tgz|tar\.gz)$`)

func indexOf(img v1.Image) v1.ImageIndex {
	return mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})
}

// blobForm matches what an image in an archive consists of: nothing else is
// taken out of one, whatever it is called.
var blobForm = regexp.MustCompile(`^(?:oci-layout|index\.json|blobs/sha(?:256|512)/[0-9a-f]{64,128})$`)

// openArchive opens an archive as `skopeo copy … oci-archive:` and as
// `docker save` write it, compressed or not.
func (w *writer) openArchive(ctx context.Context) (v1.ImageIndex, error) {
	w.printf("reading %s", w.Base)
	dir := filepath.Join(w.work, baseDir)
	err := w.unpack(ctx, dir)
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
	return nil, fmt.Errorf("%s is no archive of an image, as skopeo (oci-archive) and docker save write them: %w", w.Base, err)
}

// unpack takes what an image consists of out of an archive.
func (w *writer) unpack(ctx context.Context, dir string) error {
	in, err := open(w.Base)
	if err != nil {
		return err
	}
	defer in.Close()
	t := tar.NewReader(ctxReader{ctx, in})
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		file := path.Clean(h.Name)
		if h.Typeflag != tar.TypeReg || !blobForm.MatchString(file) {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		out, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, t)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}

// open opens a file, and decompresses it if it is compressed by gzip.
func open(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReader(f)
	type readCloser struct {
		io.Reader
		io.Closer
	}
	if start, _ := b.Peek(2); string(start) != "\x1f\x8b" {
		return readCloser{b, f}, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return readCloser{z, f}, nil
}

// A candidate is an image, and what it is for.
type candidate struct {
	platform v1.Platform
	digest   v1.Hash
	open     func() (v1.Image, error)
}

// imagesIn returns the images in an index and in the indexes in it.
func imagesIn(index v1.ImageIndex) (found []candidate, err error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		switch {
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			more, err := imagesIn(inner)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		case d.MediaType.IsImage():
			c := candidate{digest: d.Digest, open: func() (v1.Image, error) { return index.Image(d.Digest) }}
			if d.Platform != nil {
				c.platform = *d.Platform
			} else if c.platform, err = platformOf(c); err != nil {
				return nil, err
			}
			found = append(found, c)
		}
	}
	return found, nil
}

// platformOf returns what an image says that it is for.
func platformOf(c candidate) (p v1.Platform, err error) {
	img, err := c.open()
	if err != nil {
		return p, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return p, err
	}
	if has := config.Platform(); has != nil {
		p = *has
	}
	return p, nil
}

// fits reports whether what is for one platform runs on every machine of
// another one, as far as it says.
func fits(has, wanted v1.Platform) bool {
	return has.OS == wanted.OS && has.Architecture == wanted.Architecture && (has.Variant == "" || variant(has) == variant(wanted))
}

// variant returns the variant, "" for that which is meant without a word.
func variant(p v1.Platform) string {
	if implied := map[string]string{"amd64": "v1", "arm64": "v8"}[p.Architecture]; p.Variant == implied {
		return ""
	}
	return p.Variant
}

// choose returns the image for a platform. The error goes on after the name of
// the base.
func choose(all []candidate, p v1.Platform) (v1.Image, error) {
	var exact, fitting []candidate
	var there []string
	for _, c := range all {
		if c.platform.OS == "unknown" {
			continue // a signature or the like
		}
		there = append(there, c.platform.String())
		if !fits(c.platform, p) || slices.ContainsFunc(fitting, func(f candidate) bool { return f.digest == c.digest }) {
			continue
		}
		fitting = append(fitting, c)
		if variant(c.platform) == variant(p) {
			exact = append(exact, c)
		}
	}
	if len(exact) > 0 {
		fitting = exact
	}
	switch len(fitting) {
	case 0:
		return nil, fmt.Errorf("is not for %s: it is for %s", p, cmp.Or(strings.Join(there, ", "), "no platform"))
	case 1:
		return fitting[0].open()
	}
	return nil, fmt.Errorf("holds %d images for %s: name a file with one of them", len(fitting), p)
}
