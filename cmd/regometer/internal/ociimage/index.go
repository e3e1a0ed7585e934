// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"bytes"
	"encoding/json"
	"maps"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// An index is an image for several platforms, whose text is as the types of the
// OCI itself write it. Tools that read it by these and write it again, as
// `skopeo copy --all` does, so keep its digest.
type index struct {
	imageIndex // of the same images
	text       []byte
}

// imageIndex has another name than the method that it has.
type imageIndex = v1.ImageIndex

func (i index) RawManifest() ([]byte, error) { return i.text, nil }
func (i index) Size() (int64, error)         { return int64(len(i.text)), nil }
func (i index) Digest() (v1.Hash, error) {
	hash, _, err := v1.SHA256(bytes.NewReader(i.text))
	return hash, err
}

// index returns the image for all platforms. It has the annotations that all of
// them have.
func (w *writer) index(platforms []v1.Platform) (v1.ImageIndex, error) {
	made := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	text := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for i, img := range w.images {
		p := platforms[i]
		made = mutate.AppendManifests(made, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &p}})
		manifest, err := img.RawManifest()
		if err != nil {
			return nil, err
		}
		text.Manifests = append(text.Manifests, ocispec.Descriptor{
			MediaType: ocispec.MediaTypeImageManifest,
			Digest:    digest.FromBytes(manifest),
			Size:      int64(len(manifest)),
			Platform:  &ocispec.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant},
		})
		parsed, err := img.Manifest()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			text.Annotations = maps.Clone(parsed.Annotations)
		}
		maps.DeleteFunc(text.Annotations, func(key, value string) bool { return parsed.Annotations[key] != value })
	}
	encoded, err := json.Marshal(text)
	return index{made, encoded}, err
}
