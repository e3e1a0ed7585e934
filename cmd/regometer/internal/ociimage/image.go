// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package ociimage writes container images that hold one program, without a
// container engine: as an archive or a folder in the form that the Open
// Container Initiative (OCI) calls an image layout.
//
// The same program makes the same image, byte by byte, wherever and whenever it
// is written.
package ociimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An Image says what to write, and where to.
type Image struct {
	// Output is an archive if it ends in ".tar", else a folder.
	Output string
	// Name is what the image is called where it is loaded, such as
	// "registry.example.com/opa:1.22.0". "" is Program, with the label
	// [VersionLabel] as its tag.
	Name string
	// Platforms are what it is for, such as "linux/arm64", at least one.
	Platforms []string
	// Base is what the image stands on: an image in a registry, an archive or a
	// folder as this package writes them, or an archive of `docker save`. ""
	// is nothing.
	Base string
	// Program is the name of the program in the image's root folder.
	Program string
	// Cmd are its arguments if whoever runs the image gives none.
	Cmd []string
	// Build returns the program for a platform.
	Build func(ctx context.Context, platform string) (Binary, error)
	// Created is when the image says that it was made. The zero time is the
	// year 1970, which is what tools take for no time.
	Created time.Time
	// Progress receives a line now and then. nil is silent.
	Progress io.Writer
}

// A Binary is the program for one platform.
type Binary struct {
	File   string            // where it is here
	Labels map[string]string // of the image
}

// Labels that the OCI has names for begin so; an image's manifest has them too,
// as annotations.
const (
	ociPrefix        = "org.opencontainers.image."
	TitleLabel       = ociPrefix + "title"
	DescriptionLabel = ociPrefix + "description"
	VersionLabel     = ociPrefix + "version"  // of the program
	RevisionLabel    = ociPrefix + "revision" // of its source
	SourceLabel      = ociPrefix + "source"   // where that is
	LicensesLabel    = ociPrefix + "licenses"
	createdLabel     = ociPrefix + "created"
	refNameLabel     = ociPrefix + "ref.name"
	baseNameLabel    = ociPrefix + "base.name"
	baseDigestLabel  = ociPrefix + "base.digest"
)

// Who runs the program, unless the base image says so: as OPA's own image
// had it, a number, by which Kubernetes sees that it is not root.
const user = "1000:1000"

// defaultPath is PATH in images whose base sets none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// epoch is the time of all files.
var epoch = time.Unix(0, 0).UTC()

// Write writes the image, in the place of one that is there already, and
// returns its digest. If it fails, or ctx is cancelled, what was there stays.
func (im *Image) Write(ctx context.Context) (digest string, err error) {
	if err := im.checkProgram(); err != nil {
		return "", err
	}
	platforms, err := im.platforms()
	if err != nil {
		return "", err
	}
	if im.Name != "" { // rather now than after a long build
		if _, err := parseName(im.Name); err != nil {
			return "", err
		}
	}
	out, err := findOutput(im.Output)
	if err != nil {
		return "", err
	}
	// Beside the output: what fits there can be moved there.
	work, err := os.MkdirTemp(filepath.Dir(out.path), ".regometer-*.tmp")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	w := writer{Image: im, work: work, start: time.Now()}
	if err := w.openBases(ctx, platforms); err != nil {
		return "", err
	}
	built := map[string]Binary{}
	for _, p := range platforms {
		if built[p.String()], err = im.Build(ctx, p.String()); err != nil {
			return "", err
		}
	}
	for _, p := range platforms {
		w.printf("packing /%s for %s", im.Program, p)
		img, err := w.image(ctx, p, built[p.String()])
		if err != nil {
			return "", err
		}
		w.images = append(w.images, img)
	}
	tag, err := im.tag(built[platforms[0].String()])
	if err != nil {
		return "", err
	}
	stop := w.watch()
	hash, err := w.layout(platforms, tag)
	stop()
	if err == nil {
		err = w.removeSources()
	}
	if err == nil {
		err = out.put(ctx, filepath.Join(work, layoutDir))
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", im.Output, err)
	}
	w.printf("wrote %s, %.1f MB", im.Output, float64(w.written.Load())/1e6)
	return hash.String(), nil
}

var programForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// reserved are the files and folders of a root folder that a program must not
// take the place of, in a base image or here.
var reserved = strings.Fields("bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var")

func (im *Image) checkProgram() error {
	if !programForm.MatchString(im.Program) {
		return fmt.Errorf("%q is no name for a program in an image: letters, digits and -_.+ are", im.Program)
	}
	if slices.Contains(reserved, im.Program) {
		return fmt.Errorf("a program called %s cannot be in an image: it would take the place of the folder /%s", im.Program, im.Program)
	}
	return nil
}

// platforms returns what the image is for.
func (im *Image) platforms() (parsed []v1.Platform, err error) {
	for _, text := range im.Platforms {
		p, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, err
		}
		if p.OS != "linux" {
			return nil, fmt.Errorf("an image for %s is not written: container engines on macOS and Windows run those for Linux, such as linux/%s", text, p.Architecture)
		}
		if slices.ContainsFunc(parsed, p.Equals) {
			return nil, fmt.Errorf("the platform %s is named twice", text)
		}
		parsed = append(parsed, *p)
	}
	if len(parsed) == 0 {
		return nil, errors.New("an image is for at least one platform")
	}
	return parsed, nil
}

func parseName(text string) (name.Tag, error) {
	tag, err := name.NewTag(text)
	if err != nil {
		return tag, fmt.Errorf("%q is no name for an image, such as registry.example.com/opa:1.22.0: %w", text, err)
	}
	return tag, nil
}

var notTag = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// tag returns what the image is called.
func (im *Image) tag(b Binary) (name.Tag, error) {
	if im.Name != "" {
		return parseName(im.Name)
	}
	version := strings.TrimLeft(notTag.ReplaceAllString(b.Labels[VersionLabel], "-"), ".-")
	return parseName(strings.ToLower(im.Program) + ":" + cmp.Or(version, "latest"))
}

// fullName is a name as it is where images are loaded, which have another name
// for the registry of names without one.
func fullName(tag name.Tag) string {
	if rest, ok := strings.CutPrefix(tag.Name(), name.DefaultRegistry+"/"); ok {
		return "docker.io/" + rest
	}
	return tag.Name()
}

// A writer is an Image that is being written.
type writer struct {
	*Image
	work    string // a folder of its own
	start   time.Time
	bases   map[string]baseImage // by platform; none without Base
	images  []v1.Image           // in the order of the platforms
	written atomic.Int64         // bytes of layers
}

// The names in the folder of work.
const (
	layoutDir     = "image"
	baseDir       = "base"
	baseLayerFile = "base.tar.gz"
)

// image returns the image for one platform, whose layers are files in the
// folder of work, or still at the base's.
func (w *writer) image(ctx context.Context, p v1.Platform, b Binary) (v1.Image, error) {
	base, hasBase := w.bases[p.String()]
	config := &v1.ConfigFile{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}
	var layers []v1.Layer
	if hasBase {
		config = base.config
		config.Variant = p.Variant
		layers = base.layers
	} else {
		files, err := w.baseLayer(ctx)
		if err != nil {
			return nil, err
		}
		layers = append(layers, files)
	}
	program, err := w.programLayer(ctx, p, b.File)
	if err != nil {
		return nil, err
	}
	layers = append(layers, program)

	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range layers {
		media, err := ociLayer(l)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: w.watched(ctx, l), MediaType: media}); err != nil {
			return nil, err
		}
	}
	made, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.RootFS = made.RootFS
	config.Created = v1.Time{Time: epoch}
	labels := maps.Clone(b.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if !w.Created.IsZero() {
		config.Created.Time = w.Created.UTC()
		labels[createdLabel] = w.Created.UTC().Format(time.RFC3339)
	}
	if hasBase {
		labels[baseDigestLabel] = base.digest.String()
		if base.name != "" {
			labels[baseNameLabel] = base.name
		}
	}
	w.configure(config, labels, len(layers))
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, annotations(labels)).(v1.Image), nil
}

// configure sets what an image of so many layers says about itself, in the
// place of what its base says.
func (w *writer) configure(config *v1.ConfigFile, labels map[string]string, layers int) {
	c := &config.Config
	c.Entrypoint, c.Cmd = []string{"/" + w.Program}, w.Cmd
	c.User = cmp.Or(c.User, user)
	c.Env = withRootInPath(c.Env)
	// What the base says of itself by the OCI's names would be taken for what
	// this image is.
	maps.DeleteFunc(c.Labels, func(key, _ string) bool { return strings.HasPrefix(key, ociPrefix) })
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	maps.Copy(c.Labels, labels)

	by := func(what string) v1.History {
		return v1.History{Created: config.Created, CreatedBy: "regometer build --image", Comment: what}
	}
	if w.Base == "" {
		config.History = append(config.History, by("certificates, the user and /tmp"))
	}
	config.History = append(config.History, by("/"+w.Program))
	told := 0
	for _, h := range config.History {
		if !h.EmptyLayer {
			told++
		}
	}
	if told != layers {
		config.History = nil // that of the base does not match its layers
	}
}

// withRootInPath returns the environment with the root folder in PATH, as OPA's
// own image has it: `docker exec CONTAINER opa …` finds the program.
func withRootInPath(env []string) []string {
	env = slices.Clone(env)
	for i, variable := range env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			if !slices.Contains(strings.Split(path, ":"), "/") {
				env[i] += ":/"
			}
			return env
		}
	}
	return append(env, "PATH="+defaultPath+":/")
}

// annotations returns those of the labels that the OCI has names for.
func annotations(labels map[string]string) map[string]string {
	found := maps.Clone(labels)
	maps.DeleteFunc(found, func(key, _ string) bool { return !strings.HasPrefix(key, ociPrefix) })
	return found
}

// layout writes the image as a folder in the folder of work, and returns its
// digest.
func (w *writer) layout(platforms []v1.Platform, tag name.Tag) (v1.Hash, error) {
	dir := filepath.Join(w.work, layoutDir)
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	names := layout.WithAnnotations(map[string]string{
		refNameLabel:      tag.TagStr(),
		containerdName:    fullName(tag),
		writtenAnnotation: writtenBy,
	})
	if len(w.images) == 1 {
		img := w.images[0]
		if err := l.AppendImage(img, names, layout.WithPlatform(platforms[0])); err != nil {
			return v1.Hash{}, err
		}
		if err := writeDockerManifest(dir, img, tag); err != nil {
			return v1.Hash{}, err
		}
		return img.Digest()
	}
	index, err := w.index(platforms)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := l.AppendIndex(index, names); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// removeSources removes from the folder of work what the image was made of,
// which it holds by now: an archive of it needs the room.
func (w *writer) removeSources() error {
	entries, err := os.ReadDir(w.work)
	for _, e := range entries {
		if e.Name() != layoutDir {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.work, e.Name())))
		}
	}
	return err
}

// printf writes a line of progress.
func (w *writer) printf(format string, args ...any) {
	if w.Progress != nil {
		fmt.Fprintf(w.Progress, "[%5.1fs] %s\n", time.Since(w.start).Seconds(), fmt.Sprintf(format, args...))
	}
}

// watch says now and then how much is written until stop is called.
func (w *writer) watch() (stop func()) {
	w.printf("writing %s", w.Output)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(5 * time.Second)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				w.printf("still writing, %.1f MB so far", float64(w.written.Load())/1e6)
			}
		}
	}()
	return func() { close(done); <-ended }
}
