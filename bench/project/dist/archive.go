// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"path"
	"strings"
	"time"
)

// An entry is a file in an archive.
type entry struct {
	name       string
	content    []byte
	executable bool
}

func (e entry) mode() fs.FileMode {
	if e.executable {
		return 0o755
	}
	return 0o644
}

// pack returns an archive, of the kind that its name ends in: .zip, or a
// compressed tar file. All entries are in the folder dir and of this time. It
// has no owners, so that the same entries give the same bytes.
func pack(name, dir string, at time.Time, entries []entry) ([]byte, error) {
	if strings.HasSuffix(name, ".zip") {
		return packZip(dir, at, entries)
	}
	return packTar(dir, at, entries)
}

func packTar(dir string, at time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		err := archive.WriteHeader(&tar.Header{
			Name: path.Join(dir, e.name), Size: int64(len(e.content)), Mode: int64(e.mode()), ModTime: at, Format: tar.FormatUSTAR,
		})
		if err != nil {
			return nil, err
		}
		if _, err := archive.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return out.Bytes(), err
}

func packZip(dir string, at time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, e := range entries {
		header := zip.FileHeader{Name: path.Join(dir, e.name), Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(e.mode())
		file, err := archive.CreateHeader(&header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}
