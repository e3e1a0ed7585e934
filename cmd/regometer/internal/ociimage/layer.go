// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
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

// The files of an image without a base. The user may write to the user's home
// alone.
const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\n" +
		"nonroot:x:1000:1000:nonroot:/tmp:/sbin/nologin\n"
	group = "root:x:0:\n" +
		"nonroot:x:1000:\n"
	certificatesFile = "etc/ssl/certs/ca-certificates.crt"
)

// certificates returns Mozilla's root certificates. It leaves out those that
// Mozilla trusts under a condition, since a file cannot state the condition.
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
// So an update does not move it again.
func filesLayer() (v1.Layer, error) {
	return newLayer(func(t *tar.Writer) (err error) {
		for _, e := range []struct {
			name    string
			mode    int64
			content string
		}{
			{"etc/", 0o755, ""},
			{"etc/group", 0o644, group},
			{"etc/passwd", 0o644, passwd},
			{"etc/ssl/", 0o755, ""},
			{"etc/ssl/certs/", 0o755, ""},
			{certificatesFile, 0o644, string(certificates())},
			{"tmp/", 0o1777, ""},
		} {
			err = cmp.Or(err, addEntry(t, e.name, e.mode, int64(len(e.content)), strings.NewReader(e.content)))
		}
		return err
	})
}

// programLayer returns the layer with the program.
func (w *writer) programLayer(ctx context.Context, file string) (v1.Layer, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if w.Base == "" && isDynamic(in) {
		return nil, fmt.Errorf("%s needs a dynamic loader and libraries, and the image has none: build it with CGO_ENABLED=0, or name a base image that has them", w.Program)
	}
	return newLayer(func(t *tar.Writer) error {
		return addEntry(t, w.Program, 0o755, info.Size(), ctxReader{in, ctx})
	})
}

// isDynamic reports whether another program has to load the program.
func isDynamic(program io.ReaderAt) bool {
	f, err := elf.NewFile(program)
	return err == nil && slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
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

// ociLayer returns the OCI's media type of a layer. Docker's images have other
// names for the same types.
func ociLayer(l v1.Layer) (types.MediaType, error) {
	media, err := l.MediaType()
	if err != nil {
		return "", err
	}
	switch media {
	case types.DockerLayer:
		return types.OCILayer, nil
	case types.DockerUncompressedLayer:
		return types.OCIUncompressedLayer, nil
	case types.OCILayer, types.OCIUncompressedLayer, types.OCILayerZStd:
		return media, nil
	}
	return "", fmt.Errorf("the base image has a layer of the type %q, which is not an archive of files", media)
}

// A ctxReader stops when the context is cancelled.
type ctxReader struct {
	io.Reader
	ctx context.Context
}

func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
