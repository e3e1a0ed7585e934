// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The files of an image without a base. The user may write only to /tmp, which
// is the user's home.
const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\n" +
		"nonroot:x:1000:1000:nonroot:/tmp:/sbin/nologin\n"
	group = "root:x:0:\n" +
		"nonroot:x:1000:\n"
)

// certificates returns Mozilla's root certificates. It leaves out certificates
// that Mozilla trusts under a condition, because the file cannot state the
// condition.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to a buffer
		}
	}
	return b.Bytes()
}

// filesLayer returns the layer that all programs, platforms and versions share.
// An update does not transfer it again.
func filesLayer() (v1.Layer, error) {
	return newLayer(func(t *tar.Writer) error {
		return errors.Join(
			addFolders(t, 0o755, "etc/"),
			addFile(t, "etc/group", 0o644, []byte(group)),
			addFile(t, "etc/passwd", 0o644, []byte(passwd)),
			addFolders(t, 0o755, "etc/ssl/", "etc/ssl/certs/"),
			addFile(t, "etc/ssl/certs/ca-certificates.crt", 0o644, certificates()),
			addFolders(t, 0o1777, "tmp/"),
			addFolders(t, 0o755, "usr/", "usr/share/", "usr/share/doc/"),
		)
	})
}

// programLayer returns the layer with the program and its licences.
func (im *Image) programLayer(b Built) (v1.Layer, error) {
	if isDynamic(b.File) {
		return nil, fmt.Errorf("%s needs a dynamic loader and libraries, but the image has none: build it with CGO_ENABLED=0, or add the binary to an image that has them", im.Program)
	}
	text, err := os.ReadFile(b.File)
	if err != nil {
		return nil, err
	}
	return newLayer(func(t *tar.Writer) error {
		folder := "usr/share/doc/" + im.Program + "/"
		return errors.Join(
			addFolders(t, 0o755, folder),
			addFile(t, folder+"THIRD-PARTY-NOTICES.txt", 0o644, b.Notices),
			addFile(t, im.Program, 0o755, text),
		)
	})
}

// isDynamic reports whether the program needs a dynamic loader.
func isDynamic(program string) bool {
	f, err := elf.Open(program)
	if err != nil {
		return false
	}
	defer f.Close()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// newLayer returns a layer in memory.
func newLayer(add func(*tar.Writer) error) (v1.Layer, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	if err := errors.Join(add(t), t.Close(), z.Close()); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// addFile adds a file to an archive. All files and folders belong to root and
// have the same time.
func addFile(t *tar.Writer, name string, mode int64, content []byte) error {
	h := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}

// addFolders adds folders to an archive. Their names end in "/".
func addFolders(t *tar.Writer, mode int64, names ...string) (err error) {
	for _, name := range names {
		err = errors.Join(err, t.WriteHeader(&tar.Header{Name: name, Mode: mode, ModTime: epoch, Typeflag: tar.TypeDir, Format: tar.FormatUSTAR}))
	}
	return err
}
