// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/regometer/regometer/internal/outfile"
)

// The files of an image layout, beside the folder "blobs". Docker's is not one
// of them: it is what `docker load` reads where images are not kept in
// containerd, and can tell of one platform only.
const (
	layoutFile     = "oci-layout"
	indexFile      = "index.json"
	dockerManifest = "manifest.json"
	blobsDir       = "blobs"
)

// What an image is called and who wrote it, in index.json.
const (
	containerdName    = "io.containerd.image.name"
	writtenAnnotation = "io.github.regometer.written-by"
	writtenBy         = "regometer build --image"
)

// An output is where an image is put.
type output struct {
	path    string // links are followed
	archive bool
}

// findOutput returns where to put an image, and refuses a place where none can
// be put, or where something else is.
func findOutput(path string) (o output, err error) {
	lower := strings.ToLower(path)
	switch {
	case path == "" || path == "-":
		return o, errors.New("an image is not written to standard output: name a file, such as opa.tar, or a folder")
	case strings.HasSuffix(lower, ".gz"), strings.HasSuffix(lower, ".tgz"), strings.HasSuffix(lower, ".zst"):
		return o, fmt.Errorf("%s would be compressed twice, since what is in an image is compressed: name a file that ends in .tar, or a folder", path)
	}
	o = output{path: filepath.Clean(path), archive: strings.HasSuffix(path, ".tar")}
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return o, err
	}
	exists := err == nil
	if exists && o.archive == info.IsDir() {
		if o.archive {
			return o, fmt.Errorf("%s is a folder: for an image in a folder name one that does not end in .tar", path)
		}
		return o, fmt.Errorf("%s is %s: an image in a file has a name that ends in .tar", path, cmp.Or(irregular(info), "a file"))
	}
	dir := filepath.Dir(o.path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return o, fmt.Errorf("there is no folder %s to put the image in: create it, or name another place", dir)
	}
	if o.archive {
		o.path, err = outfile.Resolve(o.path)
		return o, err
	}
	if !exists {
		if to, err := os.Readlink(o.path); err == nil {
			return o, fmt.Errorf("%s is a link to %s, which is not there: remove the link, or name another folder", path, to)
		}
		return o, nil
	}
	if o.path, err = filepath.EvalSymlinks(o.path); err != nil {
		return o, err
	}
	return o, checkReplaceable(path, o.path)
}

func irregular(info fs.FileInfo) string {
	if info.Mode().IsRegular() {
		return ""
	}
	return outfile.Kind(info.Mode())
}

// checkReplaceable returns an error unless a folder, called name by the user,
// is empty or holds an image that this package wrote, and no other.
func checkReplaceable(name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	for _, e := range entries {
		if !slices.Contains([]string{layoutFile, indexFile, blobsDir}, e.Name()) {
			return fmt.Errorf("%s holds something else than an image (%s): name another folder, or remove it", name, e.Name())
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, indexFile))
	if err != nil {
		return fmt.Errorf("%s holds something else than an image: name another folder, or remove it (%w)", name, err)
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(text, &index); err != nil {
		return fmt.Errorf("%s holds something else than an image: name another folder, or remove it (%s: %w)", name, indexFile, err)
	}
	for _, m := range index.Manifests {
		if m.Annotations[writtenAnnotation] != writtenBy {
			return fmt.Errorf("%s holds an image of another origin (%s): name another folder, or remove it", name, cmp.Or(m.Annotations[refNameLabel], m.Digest.String()))
		}
	}
	return nil
}

// put moves an image, which is a folder on the same file system, to where it
// belongs.
func (o output) put(ctx context.Context, from string) error {
	if o.archive {
		return o.pack(ctx, from)
	}
	if err := os.Remove(filepath.Join(from, dockerManifest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Whatever the user's umask: an image is for others to read.
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	switch err := os.Remove(o.path); { // an empty folder
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return os.Rename(from, o.path)
	}
	return o.replace(from)
}

// replace puts an image in the place of one that is there: first the content
// that it consists of, whose names are its hashes, then index.json by one
// rename. Until then the folder is the old image, from then on the new one.
func (o output) replace(from string) error {
	blobs, err := blobsIn(from)
	if err != nil {
		return err
	}
	for _, b := range append(slices.Clone(blobs), layoutFile, indexFile) {
		to := filepath.Join(o.path, b)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, b), to); err != nil {
			return err
		}
	}
	old, err := blobsIn(o.path)
	if err != nil {
		return err
	}
	for _, b := range old {
		if !slices.Contains(blobs, b) {
			err = errors.Join(err, os.Remove(filepath.Join(o.path, b)))
		}
	}
	return err
}

// blobsIn returns the files in the folder "blobs" of an image, in order, as
// paths relative to it.
func blobsIn(dir string) (found []string, err error) {
	err = filepath.WalkDir(filepath.Join(dir, blobsDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		found = append(found, rel)
		return err
	})
	return found, err
}

// pack writes an image as an archive.
func (o output) pack(ctx context.Context, from string) error {
	out, err := outfile.Create(o.path)
	if err != nil {
		return err
	}
	defer out.Discard()
	t := tar.NewWriter(out)
	add := func(path string) error {
		in, err := os.Open(filepath.Join(from, path))
		if err != nil {
			return err
		}
		defer in.Close()
		info, err := in.Stat()
		if err != nil {
			return err
		}
		return addEntry(ctx, t, filepath.ToSlash(path), 0o644, info.Size(), in)
	}
	blobs, err := blobsIn(from)
	if err != nil {
		return err
	}
	files := []string{layoutFile, indexFile}
	if _, err := os.Stat(filepath.Join(from, dockerManifest)); err == nil {
		files = append(files, dockerManifest)
	}
	for _, path := range append(files, blobs...) {
		if err := add(path); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return out.Replace()
}

// writeDockerManifest writes the file that tells Docker what the image in the
// folder dir consists of.
func writeDockerManifest(dir string, img v1.Image, tag name.Tag) error {
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	blob := func(d v1.Descriptor) string { return blobsDir + "/" + d.Digest.Algorithm + "/" + d.Digest.Hex }
	m := tarball.Descriptor{Config: blob(manifest.Config), RepoTags: []string{fullName(tag)}}
	for _, l := range manifest.Layers {
		m.Layers = append(m.Layers, blob(l))
	}
	text, err := json.Marshal(tarball.Manifest{m})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, dockerManifest), text, 0o644)
}
