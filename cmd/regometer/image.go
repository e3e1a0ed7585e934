// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/ociimage"
	"github.com/regometer/regometer/internal/app/opabuild"
)

const buildImageHelp = `--image writes a container image without a container engine, and prints its digest
and its name. The image has the binary as /opa, which it runs with "run", root
certificates, an empty /tmp and the user 1000. A name that ends in .tar is an archive,
which docker, podman and skopeo load. Any other name is a folder, an OCI image layout.
The same OPA, Go and regometer make the same digest everywhere. SOURCE_DATE_EPOCH sets
the image's date, which is 1970 otherwise. Without --platform the image is for Linux
on the processor of this machine. --base names a base image: one in a registry, with
the credentials that "docker login" stores, or a file or folder. User and environment
are then those of the base, and only the binary is added. The image of a program has
the program in the place of opa. It is built with -trimpath, and without C unless it
has a base or CGO_ENABLED is set.`

// imageFlags are the flags for platforms and images.
type imageFlags struct {
	output     *output
	base, name string
	platforms  []string
}

// add adds the flags to a command.
func (f *imageFlags) add(cmd *cobra.Command, files *outputs) {
	f.output = files.flag(cmd, "image", "", archiveKind, "`file` that ends in .tar, or folder, to write a container image to")
	cmd.Flags().StringSliceVar(&f.platforms, "platform", nil, "`platforms` to build for, such as linux/amd64,linux/arm64; only one without --image")
	cmd.Flags().StringVar(&f.base, "base", "", "base `image`: its name in a registry, a file or a folder")
	cmd.Flags().StringVar(&f.name, "image-name", "", "`name` of the image after it is loaded (default the program and its version, such as \"opa:1.4.0\")")
}

// check returns an error if the flags are invalid together. It sets the
// platform if there is one. binary is the file of --output.
func (f *imageFlags) check(o *opabuild.Options, binary string) error {
	output := f.output.name
	if !strings.HasSuffix(output, ".tar") {
		f.output.kind = folderKind
	}
	for i, text := range f.platforms {
		p, err := opabuild.ParsePlatform(text)
		if err != nil {
			return err
		}
		f.platforms[i] = p.String()
	}
	switch {
	case output == "" && f.base != "":
		return errors.New("--base is for images: add --image FILE.tar")
	case output == "" && f.name != "":
		return errors.New("--image-name is for images: add --image FILE.tar")
	case len(f.platforms) > 1 && output == "":
		return errors.New("a binary is for one platform: name one, or add --image FILE.tar for an image for all")
	case len(f.platforms) > 1 && binary != "":
		return errors.New("a binary is for one platform: remove --output, or name one platform")
	case compressed.MatchString(output):
		return fmt.Errorf("%s would be compressed twice, since the layers of an image are compressed: name a file that ends in .tar, or a folder", output)
	}
	if len(f.platforms) == 1 {
		o.Platform = f.platforms[0]
	}
	return nil
}

var compressed = regexp.MustCompile(`(?i)\.(gz|tgz|zst)$`)

// targets returns the platforms of an image.
func (f *imageFlags) targets(ctx context.Context) ([]string, error) {
	if len(f.platforms) > 0 {
		return f.platforms, nil
	}
	p, err := opabuild.DefaultImagePlatform(ctx)
	return []string{p.String()}, err
}

// inputs returns the files and folders that an image is made from.
func (f *imageFlags) inputs(more []string) []string {
	if f.base == "" {
		return more
	}
	return append(more, f.base) // perhaps a file or a folder here
}

// write writes the image of a program and prints its digest and its place.
func (f *imageFlags) write(cmd *cobra.Command, im ociimage.Image) error {
	ctx := cmd.Context()
	platforms, err := f.targets(ctx)
	if err != nil {
		return err
	}
	im.Output, im.Archive, im.Check = f.output.path, !f.output.kind.folder, f.output.checkAgain
	im.Base, im.Name, im.Platforms, im.Progress = f.base, f.name, platforms, cmd.ErrOrStderr()
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 33)
		if err != nil {
			return fmt.Errorf("invalid SOURCE_DATE_EPOCH %q: it must be a number of seconds since 1970", text)
		}
		im.Created = time.Unix(int64(seconds), 0)
	}
	digest, err := im.Write(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", digest, f.output.name)
	return err
}

// writeOPA writes an image of OPA, like OPA's own image, and the binary if
// --output names a file.
func (f *imageFlags) writeOPA(cmd *cobra.Command, o opabuild.Options, binary *output) error {
	if err := f.output.outputs.check(cmd, f.inputs([]string{o.OPA})); err != nil {
		return err
	}
	return f.write(cmd, ociimage.Image{
		Program: "opa",
		Cmd:     []string{"run"},
		Build: func(ctx context.Context, platform string) (ociimage.Binary, error) {
			o.Platform = platform
			file, err := opabuild.Build(ctx, o)
			if err == nil {
				err = binary.copy(file)
			}
			if err != nil {
				return ociimage.Binary{}, err
			}
			labels, err := opaLabels(ctx, file, o)
			return ociimage.Binary{File: file, Labels: labels}, err
		},
	})
}

// opaLabels returns the labels of an image for an opa binary.
func opaLabels(ctx context.Context, file string, o opabuild.Options) (map[string]string, error) {
	b, err := opabuild.Inspect(file)
	if err != nil {
		return nil, err
	}
	version, revision, err := opabuild.SourceOf(ctx, o)
	if err != nil {
		return nil, err
	}
	description := "Open Policy Agent"
	switch {
	case b.Upstream > 0:
		description += fmt.Sprintf(" with the series of Regometer up to step %d", b.Upstream)
	case b.Plugin:
		description += " with the drop-in metrics package and the plugin of Regometer"
	case b.DropIn != "":
		description += " with the drop-in metrics package of Regometer"
	}
	labels := map[string]string{
		ociimage.TitleLabel:       "opa",
		ociimage.DescriptionLabel: description,
		ociimage.VersionLabel:     version,
		ociimage.RevisionLabel:    revision,
		ociimage.SourceLabel:      "https://github.com/open-policy-agent/opa",
		ociimage.LicensesLabel:    "Apache-2.0",
		regometerLabel:            b.Regometer,
	}
	if b.DropIn != "" {
		labels[dropInLabel] = "sha256:" + b.DropIn
	}
	for key, value := range labels {
		if value == "" {
			delete(labels, key)
		}
	}
	return labels, nil
}

// writeProgram writes the image of a program with OPA inside. It is built so
// that it runs where nothing else is, unless there is a base, and so that it is
// the same wherever it is built.
func (f *imageFlags) writeProgram(cmd *cobra.Command, o opabuild.Options, binary *output) error {
	platforms, err := f.targets(cmd.Context())
	if err != nil {
		return err
	}
	if f.base == "" && os.Getenv("CGO_ENABLED") == "" {
		o.Env = append(o.Env, "CGO_ENABLED=0")
	}
	o.Flags = append([]string{"-trimpath"}, o.Flags...)
	programs := map[string]*opabuild.Program{}
	for _, platform := range platforms {
		o.Platform = platform
		p, err := opabuild.OpenProgram(cmd.Context(), o)
		if err != nil {
			return err
		}
		defer p.Close()
		programs[platform] = p
	}
	first := programs[platforms[0]]
	if err := f.output.outputs.check(cmd, f.inputs(first.Folders)); err != nil {
		return err
	}
	name := strings.TrimSuffix(first.Name, ".exe")
	return f.write(cmd, ociimage.Image{
		Program: name,
		Build: func(ctx context.Context, platform string) (ociimage.Binary, error) {
			file, err := programs[platform].Build(ctx)
			if err == nil {
				err = binary.copy(file)
			}
			if err != nil {
				return ociimage.Binary{}, err
			}
			labels, err := programLabels(file, name)
			return ociimage.Binary{File: file, Labels: labels}, err
		},
	})
}

// programLabels returns the labels of an image for a program: what Go recorded
// in it, and the versions of Regometer and OPA.
func programLabels(file, name string) (map[string]string, error) {
	b, err := opabuild.Inspect(file)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{
		ociimage.TitleLabel: name,
		regometerLabel:      b.Regometer,
		dropInLabel:         "sha256:" + b.DropIn,
		opaLabel:            b.OPA,
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		labels[ociimage.VersionLabel] = v
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			labels[ociimage.RevisionLabel] = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			labels[ociimage.RevisionLabel] += "-dirty" // comes after it
		}
	}
	return labels, nil
}

// Labels of our own.
const (
	regometerLabel = "io.github.regometer.version"
	dropInLabel    = "io.github.regometer.drop-in"
	opaLabel       = "io.github.regometer.opa" // the version of the OPA inside
)
