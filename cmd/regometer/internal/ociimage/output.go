// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/regometer/regometer/internal/app/outfile"
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

// IsImage reports whether there is an image that this package wrote, in an
// archive or a folder, with nothing beside it.
func IsImage(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	read := indexOfArchive
	if info.IsDir() {
		read = indexOfFolder
	}
	var index v1.IndexManifest
	if text, err := read(path); err != nil || json.Unmarshal(text, &index) != nil {
		return false
	}
	for _, m := range index.Manifests {
		if m.Annotations[writtenAnnotation] != writtenBy {
			return false
		}
	}
	return len(index.Manifests) > 0
}

var errNoImage = errors.New("something else than an image")

// indexOfFolder returns the index of an image in a folder.
func indexOfFolder(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !slices.Contains([]string{layoutFile, indexFile, blobsDir}, e.Name()) {
			return nil, errNoImage
		}
	}
	return os.ReadFile(filepath.Join(dir, indexFile))
}

// indexOfArchive returns the index of an image in an archive that pack wrote.
func indexOfArchive(file string) ([]byte, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	t := tar.NewReader(in)
	for {
		h, err := t.Next()
		switch {
		case err != nil:
			return nil, errNoImage
		case h.Name == indexFile:
			const most = 1 << 20 // bytes of an index
			return io.ReadAll(io.LimitReader(t, most))
		case h.Name != layoutFile && h.Name != dockerManifest && !strings.HasPrefix(h.Name, blobsDir+"/"):
			return nil, errNoImage
		}
	}
}

// put moves an image, which is a folder on the same file system, to where it
// belongs.
func (im *Image) put(ctx context.Context, from string) error {
	if im.Archive {
		return im.pack(ctx, from)
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
	switch err := os.Remove(im.Output); { // an empty folder
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return os.Rename(from, im.Output)
	}
	return im.replace(from)
}

// replace puts an image in the place of one that is there: first the content
// that it consists of, whose names are its hashes, then index.json by one
// rename. Until then the folder is the old image, from then on the new one.
func (im *Image) replace(from string) error {
	blobs, err := blobsIn(from)
	if err != nil {
		return err
	}
	for _, b := range append(slices.Clone(blobs), layoutFile, indexFile) {
		to := filepath.Join(im.Output, b)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, b), to); err != nil {
			return err
		}
	}
	old, err := blobsIn(im.Output)
	if err != nil {
		return err
	}
	for _, b := range old {
		if !slices.Contains(blobs, b) {
			err = errors.Join(err, os.Remove(filepath.Join(im.Output, b)))
		}
	}
	return err
}

// blobsIn returns the files in the folder "blobs" of an image, in order, as
// paths relative to the image.
func blobsIn(dir string) ([]string, error) { return fs.Glob(os.DirFS(dir), blobsDir+"/*/*") }

// pack writes an image as an archive.
func (im *Image) pack(ctx context.Context, from string) error {
	out, err := outfile.Create(im.Output)
	if err != nil {
		return err
	}
	defer out.Discard()
	t := tar.NewWriter(out)
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		return addEntry(t, filepath.ToSlash(name), 0o644, info.Size(), ctxReader{in, ctx})
	})
	if err = errors.Join(err, t.Close()); err != nil {
		return err
	}
	return out.Replace()
}
