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
	"strings"

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
	certificatesFile = "etc/ssl/certs/ca-certificates.crt"
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
func filesLayer() ([]v1.Layer, error) {
	layer, err := newLayer(func(t *tar.Writer) error {
		add := func(name string, mode int64, content string) error {
			return addEntry(t, name, mode, int64(len(content)), strings.NewReader(content))
		}
		return errors.Join(
			add("etc/", 0o755, ""),
			add("etc/group", 0o644, group),
			add("etc/passwd", 0o644, passwd),
			add("etc/ssl/", 0o755, ""),
			add("etc/ssl/certs/", 0o755, ""),
			add(certificatesFile, 0o644, string(certificates())),
			add("tmp/", 0o1777, ""),
			add("usr/", 0o755, ""),
			add("usr/share/", 0o755, ""),
			add("usr/share/doc/", 0o755, ""),
		)
	})
	return []v1.Layer{layer}, err
}

// programLayer returns the layer with the program and its documents.
func (w *writer) programLayer(built *Built) (v1.Layer, error) {
	if w.Base == "" && isDynamic(built.File) {
		return nil, fmt.Errorf("%s needs a dynamic loader and libraries, but the image has none: build it with CGO_ENABLED=0, or name a base image that has them", w.Program)
	}
	return newLayer(func(t *tar.Writer) error {
		folder := "usr/share/doc/" + w.Program + "/"
		err := addEntry(t, folder, 0o755, 0, strings.NewReader(""))
		for _, d := range built.Documents {
			err = errors.Join(err, addEntry(t, folder+d.Name, 0o644, int64(len(d.Text)), bytes.NewReader(d.Text)))
		}
		return errors.Join(err, addFile(t, built.File, w.Program, 0o755))
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

// addEntry adds a file, or a folder if the name ends in "/", to an archive. All
// entries belong to root and have the same time.
func addEntry(t *tar.Writer, name string, mode, size int64, content io.Reader) error {
	h := &tar.Header{Name: name, Mode: mode, Size: size, ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if strings.HasSuffix(name, "/") {
		h.Typeflag = tar.TypeDir
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(t, content)
	return err
}

// addFile adds a file of this machine to an archive.
func addFile(t *tar.Writer, file, name string, mode int64) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return addEntry(t, name, mode, info.Size(), in)
}

// ociTypes has the OCI's media type for each media type of a layer. Docker's
// images have other names for the same types.
var ociTypes = map[types.MediaType]types.MediaType{
	types.DockerLayer:             types.OCILayer,
	types.DockerUncompressedLayer: types.OCIUncompressedLayer,
	types.OCILayer:                types.OCILayer,
	types.OCIUncompressedLayer:    types.OCIUncompressedLayer,
	types.OCILayerZStd:            types.OCILayerZStd,
}
