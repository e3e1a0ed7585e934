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

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/regometer/regometer/cmd/regometer/internal/ociimage"
	"github.com/regometer/regometer/internal/app/contents"
	"github.com/regometer/regometer/internal/app/opabuild"
	"github.com/regometer/regometer/internal/app/text"
)

const buildImageHelp = `--image writes a container image without a container engine, and prints the image's
digest and name. If the name ends in .tar, the image is an archive for docker, podman
and skopeo. Otherwise it is a folder in the form of an OCI image layout. The image has
the binary, root certificates, an empty /tmp and the user 1000. With --base it has the
binary and what the base has. The same OPA, Go and regometer make the same digest
everywhere. SOURCE_DATE_EPOCH sets the image's date, which is otherwise 1970. Without
--platform the image is for Linux on this machine's processor. See
` + text.Documents + "containers.md" + "."

// imageFlags are the flags for platforms and images.
type imageFlags struct {
	output     *outputFile
	base, name string
	platforms  []string
}

// add adds the flags to a command.
func (f *imageFlags) add(cmd *cobra.Command, files *outputs) {
	f.output = files.flag(cmd, "image", "", archiveKind, "write a container image to this `file`, which ends in .tar, or to this folder")
	cmd.Flags().StringSliceVar(&f.platforms, "platform", nil, "`platforms` to build for, such as linux/amd64,linux/arm64; only one without --image")
	cmd.Flags().StringVar(&f.base, "base", "", "base `image`: its name in a registry, a file or a folder")
	cmd.Flags().StringVar(&f.name, "image-name", "", "`name` of the image after it is loaded (default the program and its version, such as \"opa:1.4.0\")")
}

// check returns an error if the flags contradict one another. If there is one
// platform, it sets o.Platform. binary is the file of --output.
func (f *imageFlags) check(ctx context.Context, o *opabuild.Options, binary string) error {
	output := f.output.name
	f.output.kind.folder = !strings.HasSuffix(output, ".tar")
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
		if err := opabuild.CheckPlatform(ctx, platform); err != nil {
			return err
		}
		f.platforms[i] = platform
	}
	switch {
	case output == "" && f.base+f.name != "":
		return errors.New("--base and --image-name are for images: add --image FILE.tar")
	case len(f.platforms) > 1 && (output == "" || binary != ""):
		return errors.New("a binary is for one platform: name one platform, or write an image for all of them with --image FILE.tar and without --output")
	case compressed.MatchString(output):
		return fmt.Errorf("%s would be compressed twice, because an image's layers are compressed already: name a file that ends in .tar, or a folder", output)
	}
	if len(f.platforms) == 1 {
		o.Platform = f.platforms[0]
	}
	return nil
}

var compressed = regexp.MustCompile(`(?i)\.(gz|tgz|zst)$`)

// targets returns the platforms to build for. It adds settings for a program in
// an image: without a base the program must run without other files, and every
// machine must build the same binary.
func (f *imageFlags) targets(o *opabuild.Options, isProgram bool) ([]string, error) {
	if f.output.name == "" {
		return []string{o.Platform}, nil
	}
	if isProgram {
		if f.base == "" && os.Getenv("CGO_ENABLED") == "" {
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
	inputs := what.inputs
	if f.base != "" {
		inputs = append(inputs, f.base) // may be a file or a folder here
	}
	if err := f.output.outputs.check(cmd, inputs); err != nil {
		return err
	}
	im := ociimage.Image{
		Output: f.output.path, Archive: !f.output.kind.folder,
		Check: func() error { return f.output.flagged(f.output.checkAgain()) },
		Name:  f.name, Platforms: platforms, Base: f.base, Program: what.name, Cmd: what.command,
		Build: func(ctx context.Context, platform string) (built ociimage.Built, err error) {
			if built.File, err = what.build(ctx, platform); err == nil {
				err = binary.copy(built.File)
			}
			if err != nil {
				return built, err
			}
			if built.Labels, err = what.labels(ctx, built.File); err != nil {
				return built, err
			}
			maps.DeleteFunc(built.Labels, func(_, value string) bool { return value == "" })
			built.Documents, err = what.documents(ctx, &built, platform, cmd.ErrOrStderr())
			return built, err
		},
		Progress: cmd.ErrOrStderr(),
	}
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 33)
		if err != nil {
			return fmt.Errorf("invalid SOURCE_DATE_EPOCH %q: it must be a number of seconds since 1970", text)
		}
		im.Created = time.Unix(int64(seconds), 0)
	}
	digest, err := im.Write(cmd.Context())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", digest, f.output.name)
	return err
}

// documents returns the licences of the modules in a program, and its bill of
// materials. progress gets a warning if a licence is missing.
func (t *toBuild) documents(ctx context.Context, built *ociimage.Built, platform string, progress io.Writer) ([]ociimage.Document, error) {
	fmt.Fprintf(progress, "reading the licences of the modules in %s for %s\n", t.name, platform)
	info, err := buildinfo.ReadFile(built.File)
	if err != nil {
		return nil, err
	}
	b, err := opabuild.Inspect(built.File)
	if err != nil {
		return nil, err
	}
	p := contents.Program{
		Name: t.name, Version: built.Labels[ociimage.VersionLabel], Platform: platform,
		Description: built.Labels[ociimage.DescriptionLabel], Regometer: ownVersion(), Info: info, Folders: map[string]string{},
	}
	if description := describe(b); description != openPolicyAgent {
		p.Changes = "regometer " + b.Regometer + " built " + description
	}
	if t.programs == nil {
		p.OPA = "v" + p.Version
	}
	for _, dir := range t.inputs {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && dir != "" {
			p.Folders[modfile.ModulePath(text)] = dir
		}
	}
	notices, bill, missing, err := p.Documents(ctx, nil)
	if missing != nil {
		fmt.Fprintf(progress, "warning: the image lacks the licences of %s\n", strings.Join(missing, ", "))
	}
	return []ociimage.Document{
		{Name: "THIRD-PARTY-NOTICES.txt", Type: "application/vnd.regometer.notices", Text: notices},
		{Name: "sbom.cdx.json", Type: "application/vnd.cyclonedx+json", Text: bill},
	}, err
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
	labels[ociimage.DescriptionLabel] = describe(b)
	labels[ociimage.SourceLabel] = "https://github.com/open-policy-agent/opa"
	labels[ociimage.LicensesLabel] = "Apache-2.0"
	labels[ociimage.VersionLabel], labels[ociimage.RevisionLabel], err = opabuild.SourceOf(ctx, o)
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

// ownLabels returns a program's title and the versions of Regometer in it.
func ownLabels(file, name string) (map[string]string, *opabuild.Binary, error) {
	b, err := opabuild.Inspect(file)
	if err != nil {
		return nil, nil, err
	}
	labels := map[string]string{ociimage.TitleLabel: name, regometerLabel: b.Regometer}
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
