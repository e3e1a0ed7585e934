// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The folders in the work folder.
const (
	layoutDir = "image"
	baseDir   = "base"
)

// layout writes the image as a folder in the work folder, and returns its
// digest. The folder becomes an archive if forArchive is true.
func (w *writer) layout(forArchive bool) (digest v1.Hash, err error) {
	tag, err := w.tag(w.targets[0].binary)
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
	} else if forArchive {
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

// writeIndex writes the index of the images for several platforms. It has the
// annotations that all of them have.
func (w *writer) writeIndex(dir layout.Path, images []v1.Descriptor) (d v1.Descriptor, err error) {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: images}
	for i, t := range w.targets {
		m, err := t.image.Manifest()
		if err != nil {
			return d, err
		}
		if i == 0 {
			index.Annotations = maps.Clone(m.Annotations)
		}
		maps.DeleteFunc(index.Annotations, func(key, value string) bool { return m.Annotations[key] != value })
	}
	// Some tools read an index by the OCI's types and write it again, such as
	// `skopeo copy --all`. It keeps its digest because these types write it.
	text, err := json.Marshal(index)
	if err != nil {
		return d, err
	}
	var again ocispec.Index
	if err := json.Unmarshal(text, &again); err != nil {
		return d, err
	}
	if text, err = json.Marshal(again); err != nil {
		return d, err
	}
	d = v1.Descriptor{MediaType: types.OCIImageIndex}
	if d.Digest, d.Size, err = v1.SHA256(bytes.NewReader(text)); err != nil {
		return d, err
	}
	return d, dir.WriteBlob(d.Digest, io.NopCloser(bytes.NewReader(text)))
}

// writeDockerManifest writes the file that tells Docker the parts of an image.
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
