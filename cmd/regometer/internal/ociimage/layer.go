// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The files of an image that stands on nothing. The user's home is the one
// folder that it may write to.
const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\n" +
		"nonroot:x:1000:1000:nonroot:/tmp:/sbin/nologin\n"
	group = "root:x:0:\n" +
		"nonroot:x:1000:\n"
	certificatesFile = "etc/ssl/certs/ca-certificates.crt"
)

// certificates returns Mozilla's root certificates. Those that it trusts under
// a condition only are left out, since a file cannot say so.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to a buffer
		}
	}
	return b.Bytes()
}

// baseLayer returns the layer that is the same for all programs, platforms and
// versions, so that an update does not move it again.
func (w *writer) baseLayer(ctx context.Context) (v1.Layer, error) {
	file := filepath.Join(w.work, baseLayerFile)
	return writeLayer(file, func(t *tar.Writer) error {
		for _, e := range []struct {
			name    string // ends in "/" if it is a folder
			mode    int64
			content []byte
		}{
			{"etc/", 0o755, nil},
			{"etc/group", 0o644, []byte(group)},
			{"etc/passwd", 0o644, []byte(passwd)},
			{"etc/ssl/", 0o755, nil},
			{"etc/ssl/certs/", 0o755, nil},
			{certificatesFile, 0o644, certificates()},
			{"tmp/", 0o1777, nil},
		} {
			if err := addEntry(ctx, t, e.name, e.mode, int64(len(e.content)), bytes.NewReader(e.content)); err != nil {
				return err
			}
		}
		return nil
	})
}

// programLayer returns the layer with the program in it.
func (w *writer) programLayer(ctx context.Context, p v1.Platform, file string) (v1.Layer, error) {
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
		return nil, fmt.Errorf("%s needs a dynamic loader and libraries, of which the image has none: build it with CGO_ENABLED=0, or name a base image that has them", w.Program)
	}
	layer := filepath.Join(w.work, strings.ReplaceAll(p.String(), "/", "-")+".tar.gz")
	return writeLayer(layer, func(t *tar.Writer) error {
		return addEntry(ctx, t, w.Program, 0o755, info.Size(), in)
	})
}

// isDynamic reports whether a program asks the system to load it by another
// one.
func isDynamic(program io.ReaderAt) bool {
	f, err := elf.NewFile(program)
	return err == nil && slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// writeLayer writes a layer to a file.
func writeLayer(file string, add func(*tar.Writer) error) (v1.Layer, error) {
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	z := gzip.NewWriter(out)
	t := tar.NewWriter(z)
	err = add(t)
	if err == nil {
		err = t.Close()
	}
	if err == nil {
		err = z.Close()
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromFile(file, tarball.WithMediaType(types.OCILayer))
}

// addEntry adds a file, or a folder if the name ends in "/", to an archive. All
// of them are root's, and of the same time.
func addEntry(ctx context.Context, t *tar.Writer, name string, mode, size int64, content io.Reader) error {
	h := &tar.Header{Name: name, Mode: mode, Size: size, ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if strings.HasSuffix(name, "/") {
		h.Typeflag = tar.TypeDir
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(t, ctxReader{ctx, content})
	return err
}

// ociLayer returns what a layer is in an image of the OCI, which has names of
// its own for what Docker's images consist of.
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
	return "", fmt.Errorf("the base image has a layer of the type %q, which is no archive of files", media)
}

// A watchedLayer counts what is read, and stops when the context is cancelled.
type watchedLayer struct {
	v1.Layer
	w   *writer
	ctx context.Context
}

func (w *writer) watched(ctx context.Context, l v1.Layer) v1.Layer { return watchedLayer{l, w, ctx} }

func (l watchedLayer) Compressed() (io.ReadCloser, error) {
	r, err := l.Layer.Compressed()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(ctxReader{l.ctx, r}, l), r}, nil
}

// Write counts.
func (l watchedLayer) Write(p []byte) (int, error) {
	l.w.written.Add(int64(len(p)))
	return len(p), nil
}

// A ctxReader is a reader until the context is cancelled.
type ctxReader struct {
	ctx context.Context
	io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
