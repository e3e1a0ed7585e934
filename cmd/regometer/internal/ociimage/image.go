// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package ociimage writes container images that hold one program. It needs no
// container engine. An image is an archive in the form that the Open Container
// Initiative (OCI) calls an image layout.
//
// The same program makes the same image, byte by byte, wherever and whenever
// the package writes it.
package ociimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// An Image says what the image has for all platforms.
type Image struct {
	// Name is the image's name where it is loaded, such as
	// "registry.example.com/opa:1.22.0". The default is Program with the label
	// [ocispec.AnnotationVersion] as its tag.
	Name string
	// Program is the name of the program in the image's root folder. It must be
	// a name that go build gives to programs.
	Program string
	// Cmd holds the program's default arguments.
	Cmd []string
	// Created is the image's date. The zero time stands for the year 1970,
	// which tools show as no date.
	Created time.Time
}

// Built is a program for a platform, and what describes it.
type Built struct {
	Platform string // for Linux, such as "linux/arm64"
	File     string // of the program
	Labels   map[string]string
	Notices  []byte // the licences in the program
}

// user runs the program. OPA's own image has the same user. The number shows
// Kubernetes that it is not root.
const user = "1000:1000"

// path makes `docker exec CONTAINER opa …` find the program, as in OPA's own
// image.
const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/"

// epoch is the time of all files.
var epoch = time.Unix(0, 0).UTC()

// The image's name and its writer, in index.json.
const (
	containerdName    = "io.containerd.image.name"
	writtenAnnotation = "io.github.regometer.written-by"
	writtenBy         = "regometer build --image"
)

// dockerManifest is not part of an image layout. `docker load` reads it if
// Docker does not keep images in containerd. It can describe only one platform.
const dockerManifest = "manifest.json"

// reserved lists the files and folders of a root folder that a program must not
// replace.
var reserved = strings.Fields("bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var")

// Check returns an error if the image cannot be written as requested. It is for
// callers that build the program only then.
func (im *Image) Check() error {
	if slices.Contains(reserved, im.Program) {
		return fmt.Errorf("a program called %s cannot be in an image, where it would replace the folder /%[1]s: give it another name", im.Program)
	}
	_, err := im.tag(nil)
	return err
}

var notTag = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// tag returns the image's name.
func (im *Image) tag(labels map[string]string) (name.Tag, error) {
	version := strings.TrimLeft(notTag.ReplaceAllString(labels[ocispec.AnnotationVersion], "-"), ".-")
	text := cmp.Or(im.Name, strings.ToLower(im.Program)+":"+cmp.Or(version, "latest"))
	tag, err := name.NewTag(text)
	if err != nil {
		return tag, fmt.Errorf("invalid name %q for an image, such as registry.example.com/opa:1.22.0: %w", text, err)
	}
	return tag, nil
}

// fullName returns a name as container engines write it. They have another name
// for the default registry.
func fullName(tag name.Tag) string {
	if rest, ok := strings.CutPrefix(tag.Name(), name.DefaultRegistry+"/"); ok {
		return "docker.io/" + rest
	}
	return tag.Name()
}

// Write writes the image of the programs for all platforms, and returns its
// digest.
func (im *Image) Write(out io.Writer, programs ...Built) (digest string, err error) {
	tag, err := im.tag(programs[0].Labels)
	if err != nil {
		return "", err
	}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	files := blobs{}
	var docker tarball.Manifest
	for _, b := range programs {
		img, err := im.image(b)
		if err != nil {
			return "", err
		}
		entry, description, err := files.addImage(img)
		if err != nil {
			return "", err
		}
		description.RepoTags = []string{fullName(tag)}
		docker = append(docker, description)
		index.Manifests = append(index.Manifests, entry)
		annotations := im.annotations(b)
		if index.Annotations == nil {
			index.Annotations = annotations
		}
		maps.DeleteFunc(index.Annotations, func(key, value string) bool { return annotations[key] != value })
	}
	text, _ := json.Marshal(index) // strings and numbers
	entry := files.add(ocispec.MediaTypeImageIndex, text)
	entry.Annotations = map[string]string{
		ocispec.AnnotationRefName: tag.TagStr(), containerdName: fullName(tag), writtenAnnotation: writtenBy,
	}
	top, _ := json.Marshal(ocispec.Index{Versioned: index.Versioned, MediaType: index.MediaType, Manifests: []ocispec.Descriptor{entry}})
	layout, _ := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	t := tar.NewWriter(out)
	err = errors.Join(addFile(t, ocispec.ImageIndexFile, 0o644, top), addFile(t, ocispec.ImageLayoutFile, 0o644, layout))
	if len(docker) == 1 {
		text, _ := json.Marshal(docker)
		err = errors.Join(err, addFile(t, dockerManifest, 0o644, text))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err = errors.Join(err, addFile(t, name, 0o644, files[name]))
	}
	return entry.Digest.String(), errors.Join(err, t.Close())
}

// image makes the image for one platform.
func (im *Image) image(b Built) (v1.Image, error) {
	platform, err := v1.ParsePlatform(b.Platform)
	if err != nil {
		return nil, err
	}
	shared, err := filesLayer()
	if err != nil {
		return nil, err
	}
	program, err := im.programLayer(b)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.AppendLayers(img, shared, program); err != nil {
		return nil, err
	}
	made, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(b.Labels)
	maps.Copy(labels, im.annotations(b))
	config := &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant, RootFS: made.RootFS,
		Created: v1.Time{Time: epoch},
		Config:  v1.Config{Entrypoint: []string{"/" + im.Program}, Cmd: im.Cmd, User: user, Env: []string{path}, Labels: labels},
	}
	if !im.Created.IsZero() {
		config.Created.Time = im.Created.UTC()
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, im.annotations(b)).(v1.Image), nil
}

// annotations returns the labels that the OCI defines.
func (im *Image) annotations(b Built) map[string]string {
	all := maps.Clone(b.Labels)
	if !im.Created.IsZero() {
		all[ocispec.AnnotationCreated] = im.Created.UTC().Format(time.RFC3339)
	}
	maps.DeleteFunc(all, func(key, _ string) bool { return !strings.HasPrefix(key, "org.opencontainers.image.") })
	return all
}

// blobs has the content of an image by the names of files in its layout.
type blobs map[string][]byte

// add adds a blob.
func (b blobs) add(media string, text []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: media, Digest: digest.FromBytes(text), Size: int64(len(text))}
	b[blobName(d)] = text
	return d
}

func blobName(d ocispec.Descriptor) string { return "blobs/sha256/" + d.Digest.Encoded() }

// addImage adds the parts of an image. It returns its entry in an index, and
// its description for Docker.
func (b blobs) addImage(img v1.Image) (entry ocispec.Descriptor, docker tarball.Descriptor, err error) {
	manifest, err1 := img.RawManifest()
	config, err2 := img.ConfigFile()
	layers, err3 := img.Layers()
	text, err4 := img.RawConfigFile()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return entry, docker, err
	}
	docker.Config = blobName(b.add("", text))
	for _, l := range layers {
		r, err := l.Compressed()
		if err != nil {
			return entry, docker, err
		}
		content, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return entry, docker, err
		}
		docker.Layers = append(docker.Layers, blobName(b.add("", content)))
	}
	entry = b.add(ocispec.MediaTypeImageManifest, manifest)
	entry.Platform = &ocispec.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant}
	return entry, docker, nil
}

// IsImage reports whether a file is an image that this package wrote.
func IsImage(file string) bool {
	in, err := os.Open(file)
	if err != nil {
		return false
	}
	defer in.Close()
	t := tar.NewReader(in)
	h, err := t.Next()
	if err != nil || h.Name != ocispec.ImageIndexFile {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(t, 1<<16))
	return err == nil && bytes.Contains(text, []byte(writtenBy))
}
