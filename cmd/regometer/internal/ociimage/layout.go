// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/regometer/regometer/internal/app/outfile"
)

// The folders in the work folder.
const (
	layoutDir = "image"
	baseDir   = "base"
)

// The parts of an image layout, and dockerManifest, which is not part of it.
// `docker load` reads dockerManifest if Docker does not keep images in
// containerd. It can describe only one platform.
const (
	layoutFile     = "oci-layout"
	indexFile      = "index.json"
	dockerManifest = "manifest.json"
	blobsDir       = "blobs"
)

// The image's name and its writer, in index.json.
const (
	containerdName    = "io.containerd.image.name"
	writtenAnnotation = "io.github.regometer.written-by"
	writtenBy         = "regometer build --image"
)

// writeLayout writes the image as a folder in the work folder, and returns its
// digest.
func (w *writer) writeLayout() (digest v1.Hash, err error) {
	tag, err := w.tag(w.targets[0].labels)
	if err != nil {
		return digest, err
	}
	dir, err := layout.Write(filepath.Join(w.work, layoutDir), empty.Index)
	if err != nil {
		return digest, err
	}
	var images []v1.Descriptor
	for _, t := range w.targets {
		if err := dir.WriteImage(t.image); err != nil {
			return digest, err
		}
		d, err := partial.Descriptor(t.image)
		if err != nil {
			return digest, err
		}
		d.Platform, d.ArtifactType = &t.platform, ""
		images = append(images, *d)
	}
	whole := images[0]
	if len(images) > 1 {
		whole, err = w.writeIndex(dir, images)
	} else if w.Archive {
		err = writeDockerManifest(dir, w.targets[0].image, fullName(tag))
	}
	if err != nil {
		return digest, err
	}
	whole.Annotations = map[string]string{
		refNameLabel:      tag.TagStr(),
		containerdName:    fullName(tag),
		writtenAnnotation: writtenBy,
	}
	return whole.Digest, dir.AppendDescriptor(whole)
}

// writeIndex writes the index of the images for several platforms. The index
// has the annotations that all images share.
func (w *writer) writeIndex(dir layout.Path, images []v1.Descriptor) (d v1.Descriptor, err error) {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: images, Annotations: w.targets[0].annotations()}
	for _, t := range w.targets {
		maps.DeleteFunc(index.Annotations, func(key, value string) bool { return t.labels[key] != value })
	}
	// Some tools, such as `skopeo copy --all`, read an index into the OCI's
	// types and write it again. The index keeps its digest because the same
	// types write it here.
	var again ocispec.Index
	text, err := json.Marshal(index)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err == nil {
		text, err = json.Marshal(again)
	}
	if err != nil {
		return d, err
	}
	d = v1.Descriptor{MediaType: types.OCIImageIndex}
	if d.Digest, d.Size, err = v1.SHA256(bytes.NewReader(text)); err != nil {
		return d, err
	}
	return d, dir.WriteBlob(d.Digest, io.NopCloser(bytes.NewReader(text)))
}

// writeDockerManifest writes the file in which Docker finds the parts of an
// image.
func writeDockerManifest(dir layout.Path, img v1.Image, name string) error {
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	blob := func(d v1.Descriptor) string { return blobsDir + "/" + d.Digest.Algorithm + "/" + d.Digest.Hex }
	m := tarball.Descriptor{Config: blob(manifest.Config), RepoTags: []string{name}}
	for _, l := range manifest.Layers {
		m.Layers = append(m.Layers, blob(l))
	}
	text, err := json.Marshal(tarball.Manifest{m})
	if err != nil {
		return err
	}
	return dir.WriteFile(dockerManifest, text, 0o644)
}

// put moves an image from a folder on the same file system to its place. It
// moves index.json last. Until then a folder still is the old image, because
// the names of the other files are their hashes.
func (im *Image) put(from string) error {
	if im.Archive {
		return im.archive(from)
	}
	blobs, err := blobsIn(from)
	if err != nil {
		return err
	}
	for _, name := range append(slices.Clone(blobs), layoutFile, indexFile) {
		file, to := filepath.Join(from, name), filepath.Join(im.Output, name)
		// Other users may read an image.
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Chmod(file, 0o644), os.Rename(file, to)); err != nil {
			return err
		}
	}
	old, err := blobsIn(im.Output)
	for _, name := range old {
		if !slices.Contains(blobs, name) {
			err = errors.Join(err, os.Remove(filepath.Join(im.Output, name)))
		}
	}
	return err
}

// blobsIn returns the files in the folder "blobs" of an image, in order, as
// paths relative to the image.
func blobsIn(dir string) ([]string, error) { return fs.Glob(os.DirFS(dir), blobsDir+"/*/*") }

// archive writes an image as an archive.
func (im *Image) archive(from string) error {
	out, err := outfile.Create(im.Output)
	if err != nil {
		return err
	}
	defer out.Discard()
	t := tar.NewWriter(out)
	err = fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return addFile(t, filepath.Join(from, name), name, 0o644)
	})
	if err = errors.Join(err, t.Close()); err != nil {
		return err
	}
	return out.Replace()
}

// IsImage reports whether an archive or a folder is an image that this package
// wrote, and a folder has nothing else.
func IsImage(path string) bool {
	var index v1.IndexManifest
	return json.Unmarshal(indexOfImage(path), &index) == nil && len(index.Manifests) == 1 &&
		index.Manifests[0].Annotations[writtenAnnotation] == writtenBy
}

// indexOfImage returns the index of an image in an archive or a folder. It
// returns nil if there is none, or if a folder has other files.
func indexOfImage(path string) []byte {
	parts := []string{layoutFile, indexFile, blobsDir}
	if entries, err := os.ReadDir(path); err == nil {
		for _, e := range entries {
			if !slices.Contains(parts, e.Name()) {
				return nil
			}
		}
		text, _ := os.ReadFile(filepath.Join(path, indexFile)) // nil if there is none
		return text
	}
	in, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer in.Close()
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if err != nil {
			return nil
		}
		if h.Name == indexFile {
			text, _ := io.ReadAll(t)
			return text
		}
	}
}
