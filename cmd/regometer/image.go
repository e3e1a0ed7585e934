// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/regometer/regometer/cmd/regometer/internal/contents"
	"github.com/regometer/regometer/cmd/regometer/internal/ociimage"
	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

const buildImageHelp = `--image writes a container image for docker, podman, skopeo and crane, without a
container engine, and prints its digest and name. It has the licences of the modules,
root certificates, an empty /tmp and the user 1000. The same OPA, Go and regometer make
the same digest. SOURCE_DATE_EPOCH sets its date. Without --platform the image is for
Linux on this machine's processor. See
` + text.Documents + "containers.md" + "."

// imageFlags are the flags for platforms and images.
type imageFlags struct {
	output    *outputFile
	name      string
	platforms []string
}

// add adds the flags to a command.
func (f *imageFlags) add(cmd *cobra.Command, files *outputs) {
	f.output = files.flag(cmd, "image", "", archiveKind, "write a container image to this `file`, such as opa.tar")
	cmd.Flags().StringSliceVar(&f.platforms, "platform", nil, "`platforms` to build for, such as linux/amd64,linux/arm64; only one without --image")
	cmd.Flags().StringVar(&f.name, "image-name", "", "`name` of the image after it is loaded (default the program and its version, such as \"opa:1.4.0\")")
}

// check returns an error if the flags contradict one another. If there is one
// platform, it sets o.Platform. binary is the file of --output.
func (f *imageFlags) check(o *opabuild.Options, binary string) error {
	output := f.output.name
	for i, text := range f.platforms {
		platform, _, err := opabuild.ParsePlatform(text)
		if err != nil {
			return err
		}
		system, processor, _ := strings.Cut(platform, "/")
		switch {
		case output != "" && system != "linux":
			return fmt.Errorf("an image for %s is not supported: container engines on macOS and Windows run images for Linux, such as linux/%s", text, processor)
		case slices.Contains(f.platforms[:i], platform):
			return fmt.Errorf("the platform %s is named twice", text)
		}
		f.platforms[i] = platform
	}
	switch {
	case output == "" && f.name != "":
		return errors.New("--image-name is for images: add --image FILE.tar")
	case len(f.platforms) > 1 && (output == "" || binary != ""):
		return errors.New("a binary is for one platform: name one platform, or write an image for all of them with --image FILE.tar and without --output")
	case compressed.MatchString(output):
		return fmt.Errorf("%s would be compressed twice, because an image's layers are compressed already: name a file that ends in .tar", output)
	}
	if len(f.platforms) == 1 {
		o.Platform = f.platforms[0]
	}
	return nil
}

var compressed = regexp.MustCompile(`(?i)\.(gz|tgz|zst)$`)

// targets returns the platforms to build for. It adds settings for a program in
// an image: the program must run without other files, and every machine must
// build the same binary.
func (f *imageFlags) targets(o *opabuild.Options, isProgram bool) ([]string, error) {
	if f.output.name == "" {
		return []string{o.Platform}, nil
	}
	if isProgram {
		if os.Getenv("CGO_ENABLED") == "" {
			o.Env = append(o.Env, "CGO_ENABLED=0")
		}
		o.Flags = append([]string{"-trimpath"}, o.Flags...)
	}
	if len(f.platforms) > 0 {
		return f.platforms, nil
	}
	p, err := opabuild.DefaultImagePlatform()
	return []string{p}, err
}

// write writes an image, and the binary if --output names a file. It prints the
// image's digest and place.
func (f *imageFlags) write(cmd *cobra.Command, what *toBuild, platforms []string, binary *outputFile) error {
	if err := f.output.outputs.check(cmd, what.inputs); err != nil {
		return err
	}
	im := ociimage.Image{Name: f.name, Program: what.name, Cmd: what.command}
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 33)
		if err != nil {
			return fmt.Errorf("invalid SOURCE_DATE_EPOCH %q: it must be a number of seconds since 1970", text)
		}
		im.Created = time.Unix(int64(seconds), 0)
	}
	if err := im.Check(); err != nil {
		return err
	}
	var programs []ociimage.Built
	for _, platform := range platforms {
		file, err := what.build(cmd.Context(), platform)
		if err == nil {
			err = binary.copy(file)
		}
		if err != nil {
			return err
		}
		built := ociimage.Built{Platform: platform, File: file}
		if built.Labels, err = what.labels(cmd.Context(), file); err != nil {
			return err
		}
		maps.DeleteFunc(built.Labels, func(_, value string) bool { return value == "" })
		if built.Notices, err = what.notices(cmd.Context(), built, cmd.ErrOrStderr()); err != nil {
			return err
		}
		programs = append(programs, built)
	}
	var digest string
	err := f.output.write(func(w io.Writer) (err error) {
		digest, err = im.Write(w, programs...)
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", digest, f.output.name)
	return err
}

// notices returns the licences of the modules in a program. progress gets a
// warning if a licence is missing.
func (t *toBuild) notices(ctx context.Context, built ociimage.Built, progress io.Writer) ([]byte, error) {
	fmt.Fprintf(progress, "reading the licences of the modules in %s for %s\n", t.name, built.Platform)
	info, err := buildinfo.ReadFile(built.File)
	if err != nil {
		return nil, err
	}
	p := contents.Program{Info: info, Folders: map[string]string{}}
	if t.programs == nil {
		p.OPA = "v" + built.Labels[ocispec.AnnotationVersion]
	}
	for _, dir := range t.inputs {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && dir != "" {
			p.Folders[modfile.ModulePath(text)] = dir
		}
	}
	notices, missing, err := p.Notices(ctx, nil)
	if missing != nil {
		fmt.Fprintf(progress, "warning: the image lacks the licences of %s\n", strings.Join(missing, ", "))
	}
	return notices, err
}

const openPolicyAgent = "Open Policy Agent"

// describe returns what the OPA in a binary is.
func describe(b *opabuild.Binary) string {
	switch {
	case b.Upstream > 0:
		return fmt.Sprintf(openPolicyAgent+" with the series of Regometer up to step %d", b.Upstream)
	case b.Plugin:
		return openPolicyAgent + " with the drop-in metrics package and the plugin of Regometer"
	case b.DropIn != "":
		return openPolicyAgent + " with the drop-in metrics package of Regometer"
	}
	return openPolicyAgent
}

// opaLabels returns the labels of an image for an opa binary.
func opaLabels(ctx context.Context, file string, o opabuild.Options) (map[string]string, error) {
	labels, b, err := ownLabels(file, "opa")
	if err != nil {
		return nil, err
	}
	labels[ocispec.AnnotationDescription] = describe(b)
	labels[ocispec.AnnotationSource] = "https://github.com/open-policy-agent/opa"
	labels[ocispec.AnnotationLicenses] = "Apache-2.0"
	labels[ocispec.AnnotationVersion], labels[ocispec.AnnotationRevision], err = opabuild.SourceOf(ctx, o)
	return labels, err
}

// programLabels returns the labels of an image for a program, with the version
// and the revision that Go recorded.
func programLabels(file, name string) (map[string]string, error) {
	labels, b, err := ownLabels(file, name)
	if err != nil {
		return nil, err
	}
	labels[opaLabel] = b.OPA
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if v := info.Main.Version; v != "(devel)" {
		labels[ocispec.AnnotationVersion] = v
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			labels[ocispec.AnnotationRevision] = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			labels[ocispec.AnnotationRevision] += "-dirty" // comes after it
		}
	}
	return labels, nil
}

// ownLabels returns a program's title and the versions of Regometer in it.
func ownLabels(file, name string) (map[string]string, *opabuild.Binary, error) {
	b, err := opabuild.Inspect(file)
	if err != nil {
		return nil, nil, err
	}
	labels := map[string]string{ocispec.AnnotationTitle: name, regometerLabel: b.Regometer}
	if b.DropIn != "" {
		labels[dropInLabel] = "sha256:" + b.DropIn
	}
	return labels, b, nil
}

// The labels that only Regometer defines.
const (
	regometerLabel = "io.github.regometer.version"
	dropInLabel    = "io.github.regometer.drop-in"
	opaLabel       = "io.github.regometer.opa" // the version of the OPA inside
)
