// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
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
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
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
	index := w.index()
	dir, err := layout.Write(filepath.Join(w.work, layoutDir), mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			refNameLabel:      tag.TagStr(),
			containerdName:    fullName(tag),
			writtenAnnotation: writtenBy,
		}},
	}))
	if err == nil && len(w.targets) == 1 && w.Archive {
		err = writeDockerManifest(dir, w.targets[0].image, fullName(tag))
	}
	if err != nil {
		return digest, err
	}
	return index.Digest()
}

// index returns the index of the images and of what is attached to them. The
// index has the annotations that all images share.
func (w *writer) index() v1.ImageIndex {
	var index v1.ImageIndex = empty.Index
	shared := w.targets[0].annotations()
	for _, t := range w.targets {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: t.image, Descriptor: v1.Descriptor{Platform: &t.platform}})
		maps.DeleteFunc(shared, func(key, value string) bool { return t.labels[key] != value })
	}
	// Nobody runs a document: engines look for another platform.
	unknown := v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}
	for _, t := range w.targets {
		for _, a := range t.attached {
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: a, Descriptor: unknown})
		}
	}
	return specIndex{mutate.Annotations(index, shared).(v1.ImageIndex)}
}

// A specIndex is an index as the OCI's types write it. Some tools, such as
// `skopeo copy --all`, read an index into these types and write it again. The
// same types write it here, so the index keeps its digest.
type specIndex struct{ anyIndex }

type anyIndex = v1.ImageIndex // the interface has a method with its own name

func (i specIndex) RawManifest() ([]byte, error) {
	text, err := i.anyIndex.RawManifest()
	if err != nil {
		return nil, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, err
	}
	return json.Marshal(index)
}

func (i specIndex) Digest() (v1.Hash, error) { return partial.Digest(i) }
func (i specIndex) Size() (int64, error)     { return partial.Size(i) }

// An untyped image has no artifact type in its entry of an index. The library
// would add one, and older tools would write the index without it.
type untyped struct{ v1.Image }

func (untyped) ArtifactType() (string, error) { return "", nil }

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
