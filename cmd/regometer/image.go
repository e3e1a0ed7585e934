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

const buildImageHelp = `--image writes a container image, without a container engine: with the binary as
/opa, "opa run" as what it runs, root certificates, an empty /tmp and the user 1000.
What is printed is the digest of the image and where it is. A name that ends in .tar
is an archive, which docker, podman and skopeo load, any other one a folder, an OCI
image layout. The same OPA, Go and regometer make the same digest everywhere; the
image's date is that of SOURCE_DATE_EPOCH, or 1970. Without --platform it is for
Linux on the processor of this machine. With --base it stands on an image of yours:
one in a registry, which is asked with the credentials that "docker login" keeps, or
a file or folder; user and environment are that image's then, and of ours there is
the binary alone. The image of a program has that in the place of opa, and is built
by -trimpath and, unless it has a base or CGO_ENABLED is set, without C.`

// imageFlags say what to build for, and what image to make of it.
type imageFlags struct {
	output     *output
	base, name string
	platforms  []string
}

// add adds the flags to a command.
func (f *imageFlags) add(cmd *cobra.Command, files *outputs) {
	f.output = files.flag(cmd, "image", "", archiveKind, "`file` that ends in .tar, or folder, to write a container image to")
	cmd.Flags().StringSliceVar(&f.platforms, "platform", nil, "`platforms` to build for, such as linux/amd64,linux/arm64; without --image only one")
	cmd.Flags().StringVar(&f.base, "base", "", "`image` that --image stands on: its name in a registry, a file or a folder")
	cmd.Flags().StringVar(&f.name, "image-name", "", "`name` of the image where it is loaded (default the program and its version, such as \"opa:1.4.0\")")
}

// check returns what cannot be meant by the flags together, and sets the
// platform if it is one; binary is the file that --output names.
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
		return errors.New("a binary is for one platform: name one, or add --image FILE.tar for an image for all of them")
	case len(f.platforms) > 1 && binary != "":
		return errors.New("a binary is for one platform: leave --output out, or name one platform")
	case compressed.MatchString(output):
		return fmt.Errorf("%s would be compressed twice, since what is in an image is compressed: name a file that ends in .tar, or a folder", output)
	}
	if len(f.platforms) == 1 {
		o.Platform = f.platforms[0]
	}
	return nil
}

var compressed = regexp.MustCompile(`(?i)\.(gz|tgz|zst)$`)

// targets returns the platforms that an image is made for.
func (f *imageFlags) targets(ctx context.Context) ([]string, error) {
	if len(f.platforms) > 0 {
		return f.platforms, nil
	}
	p, err := opabuild.DefaultImagePlatform(ctx)
	return []string{p.String()}, err
}

// inputs returns what an image is made of, beside what the program is built
// from.
func (f *imageFlags) inputs(more []string) []string {
	if f.base == "" {
		return more
	}
	return append(more, f.base) // perhaps a file or a folder here
}

// write writes the image of a program and prints its digest and where it is.
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
			return fmt.Errorf("SOURCE_DATE_EPOCH is %q, which is no number of seconds since 1970", text)
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

// writeOPA writes an image of OPA, in the manner of OPA's own, and the binary
// if it is asked for.
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

// opaLabels returns what an image says about an opa binary that was built so.
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

// programLabels returns what an image says about a program: what Go recorded of
// it, and what of ours is in it.
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
