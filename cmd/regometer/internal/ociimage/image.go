// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package ociimage writes container images that hold one program. It needs no
// container engine. An image is an archive or a folder in the form that the
// Open Container Initiative (OCI) calls an image layout.
//
// The same program makes the same image, byte by byte, wherever and whenever
// the package writes it.
package ociimage

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An Image says what to write, and where.
type Image struct {
	// Output is an archive or a folder, which the image replaces. The caller
	// must make sure that it may be replaced.
	Output  string
	Archive bool
	// Check, unless it is nil, is called just before the image takes its place.
	Check func() error
	// Name is the image's name where it is loaded, such as
	// "registry.example.com/opa:1.22.0". The default is Program with the label
	// [VersionLabel] as its tag.
	Name string
	// Platforms lists at least one platform, such as "linux/arm64". The caller
	// must make sure that each is for Linux, and is named once.
	Platforms []string
	// Base names the base image: an image in a registry, an archive or a folder
	// as this package writes them, or an archive of `docker save`. Without it
	// the image holds only the program and a few files.
	Base string
	// Program is the name of the program in the image's root folder. It must be
	// a name that go build gives to programs.
	Program string
	// Cmd holds the program's default arguments.
	Cmd []string
	// Build returns what the image for a platform has.
	Build func(ctx context.Context, platform string) (Built, error)
	// Created is the image's date. The zero time stands for the year 1970,
	// which tools show as no date.
	Created time.Time
	// Progress receives a line now and then, unless it is nil.
	Progress io.Writer
}

// Built is a program for a platform, and what describes it.
type Built struct {
	File      string // of the program
	Labels    map[string]string
	Documents []Document
}

// A Document is a file in the folder /usr/share/doc/PROGRAM. It is also
// attached to the image, so that tools find it without the image's layers.
type Document struct {
	Name string
	Type string // a media type
	Text []byte
}

// The OCI defines the labels with this prefix. An image's manifest repeats them
// as annotations.
const (
	ociPrefix        = "org.opencontainers.image."
	TitleLabel       = ociPrefix + "title"
	DescriptionLabel = ociPrefix + "description"
	VersionLabel     = ociPrefix + "version"  // of the program
	RevisionLabel    = ociPrefix + "revision" // of its source
	SourceLabel      = ociPrefix + "source"   // the URL of the source
	LicensesLabel    = ociPrefix + "licenses"
	createdLabel     = ociPrefix + "created"
	refNameLabel     = ociPrefix + "ref.name"
	baseNameLabel    = ociPrefix + "base.name"
	baseDigestLabel  = ociPrefix + "base.digest"
)

// user runs the program, unless the base image names a user. OPA's own image
// has the same user. The number shows Kubernetes that it is not root.
const user = "1000:1000"

// defaultPath is PATH in images whose base sets none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// epoch is the time of all files.
var epoch = time.Unix(0, 0).UTC()

// A writer writes an Image.
type writer struct {
	*Image
	targets  []target
	baseName string // in a registry, or "": a file's name has no meaning elsewhere
	work     string // a temporary folder
	start    time.Time
}

// A target is a platform that the image is for.
type target struct {
	platform   v1.Platform
	base       v1.Image // nil if there is none
	baseDigest v1.Hash
	labels     map[string]string
	image      v1.Image
	attached   []v1.Image // the image is their subject
}

// Write writes the image and returns its digest. It replaces an image that it
// wrote earlier. If it fails, or ctx is cancelled, the earlier image stays.
func (im *Image) Write(ctx context.Context) (digest string, err error) {
	w := writer{Image: im, start: time.Now()}
	if w.targets, err = im.check(); err != nil {
		return "", err
	}
	// A folder beside the output is on the same file system.
	if w.work, err = os.MkdirTemp(filepath.Dir(im.Output), ".regometer-*.tmp"); err != nil {
		return "", err
	}
	defer os.RemoveAll(w.work)
	if im.Base != "" {
		if err := w.openBases(ctx); err != nil {
			return "", fmt.Errorf("the base image %s: %w", im.Base, err)
		}
	}
	for i := range w.targets {
		if err := w.pack(ctx, &w.targets[i]); err != nil {
			return "", err
		}
	}
	w.printf("writing %s", im.Output)
	hash, err := w.writeLayout()
	if err == nil {
		// The layout holds the base by now. An archive needs the room.
		err = os.RemoveAll(filepath.Join(w.work, baseDir))
	}
	if err == nil && im.Check != nil {
		if err := im.Check(); err != nil {
			return "", err
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err == nil {
		err = im.put(filepath.Join(w.work, layoutDir))
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", im.Output, err)
	}
	return hash.String(), nil
}

// reserved lists the files and folders of a root folder that a program must not
// replace.
var reserved = strings.Fields("bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var")

// check returns a target for each platform. It fails before the long build if
// the image cannot be written as requested.
func (im *Image) check() (targets []target, err error) {
	if slices.Contains(reserved, im.Program) {
		return nil, fmt.Errorf("a program called %s cannot be in an image, where it would replace the folder /%[1]s: give it another name", im.Program)
	}
	for _, text := range im.Platforms {
		p, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, err
		}
		targets = append(targets, target{platform: *p})
	}
	_, err = im.tag(nil)
	return targets, err
}

var notTag = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// tag returns the image's name.
func (im *Image) tag(labels map[string]string) (name.Tag, error) {
	version := strings.TrimLeft(notTag.ReplaceAllString(labels[VersionLabel], "-"), ".-")
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

// pack builds the program and makes the image for one platform. The layers are
// in memory, in the work folder or still in the base's registry.
func (w *writer) pack(ctx context.Context, t *target) error {
	built, err := w.Build(ctx, t.platform.String())
	if err != nil {
		return err
	}
	t.labels = w.labels(t, built.Labels)
	w.printf("packing /%s for %s", w.Program, t.platform)
	program, err := w.programLayer(&built)
	if err != nil {
		return err
	}
	config := &v1.ConfigFile{OS: t.platform.OS, Architecture: t.platform.Architecture}
	var layers []v1.Layer
	if t.base == nil {
		layers, err = filesLayer()
	} else if config, err = t.base.ConfigFile(); err == nil {
		config = config.DeepCopy()
		layers, err = t.base.Layers()
	}
	if err != nil {
		return err
	}
	var adds []mutate.Addendum
	for _, l := range append(layers, program) {
		media, err := l.MediaType()
		if err != nil {
			return err
		}
		if ociTypes[media] == "" {
			return fmt.Errorf("the base image has a layer of the type %q, which is not an archive of files", media)
		}
		adds = append(adds, mutate.Addendum{Layer: l, MediaType: ociTypes[media]})
	}
	img, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), adds...)
	if err != nil {
		return err
	}
	made, err := img.ConfigFile()
	if err != nil {
		return err
	}
	config.RootFS = made.RootFS
	w.configure(config, t)
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return err
	}
	t.image = untyped{mutate.Annotations(img, t.annotations()).(v1.Image)}
	return t.attach(built.Documents)
}

// attach makes a manifest of each document, with the image as its subject, from
// which registries know that the document belongs to the image. The type of the
// manifest's empty configuration tells what the document is.
func (t *target) attach(documents []Document) error {
	subject, err := partial.Descriptor(t.image)
	if err != nil {
		return err
	}
	for _, d := range documents {
		media := types.MediaType(d.Type)
		manifest := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), media)
		manifest, err := mutate.Append(manifest, mutate.Addendum{
			Layer: static.NewLayer(d.Text, media), MediaType: media, Annotations: map[string]string{TitleLabel: d.Name},
		})
		if err != nil {
			return err
		}
		t.attached = append(t.attached, untyped{mutate.Subject(manifest, *subject).(v1.Image)})
	}
	return nil
}

// labels returns the labels that describe the image.
func (w *writer) labels(t *target, program map[string]string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, program)
	if !w.Created.IsZero() {
		labels[createdLabel] = w.Created.UTC().Format(time.RFC3339)
	}
	if t.base != nil {
		labels[baseDigestLabel] = t.baseDigest.String()
	}
	if w.baseName != "" {
		labels[baseNameLabel] = w.baseName
	}
	return labels
}

// annotations returns the labels that the OCI defines.
func (t *target) annotations() map[string]string {
	all := maps.Clone(t.labels)
	maps.DeleteFunc(all, func(key, _ string) bool { return !strings.HasPrefix(key, ociPrefix) })
	return all
}

// configure replaces the base's description of itself with that of this image.
func (w *writer) configure(config *v1.ConfigFile, t *target) {
	config.Variant = t.platform.Variant
	config.History = nil // a base's history does not match the layers
	config.Created = v1.Time{Time: epoch}
	if !w.Created.IsZero() {
		config.Created.Time = w.Created.UTC()
	}
	c := &config.Config
	c.Entrypoint, c.Cmd = []string{"/" + w.Program}, w.Cmd
	c.User = cmp.Or(c.User, user)
	c.Env = withRootInPath(c.Env)
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	// The OCI's labels of the base do not describe this image.
	maps.DeleteFunc(c.Labels, func(key, _ string) bool { return strings.HasPrefix(key, ociPrefix) })
	maps.Copy(c.Labels, t.labels)
}

// withRootInPath adds the root folder to PATH, as in OPA's own image. That
// makes `docker exec CONTAINER opa …` find the program.
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

// printf writes a line of progress.
func (w *writer) printf(format string, args ...any) {
	fmt.Fprintf(cmp.Or(w.Progress, io.Discard), "[%5.1fs] %s\n", time.Since(w.start).Seconds(), fmt.Sprintf(format, args...))
}
