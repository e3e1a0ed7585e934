// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"
)

var (
	someTime    = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	someEntries = []entry{{"opa", []byte("program"), true}, {"LICENSE", []byte("text"), false}}
)

// listTar returns what is in a compressed tar file.
func listTar(t *testing.T, archive []byte) (found []string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("the compressed file has a time or a name: %v, %q", z.ModTime, z.Name)
	}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%s has an owner", h.Name)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("%s %v %v %s", h.Name, h.FileInfo().Mode(), h.ModTime.UTC(), text))
	}
}

func listZip(t *testing.T, archive []byte) (found []string) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("%s %v %v %s", f.Name, f.Mode(), f.Modified.UTC(), text))
	}
	return found
}

func TestPack(t *testing.T) {
	want := []string{
		"dir/opa -rwxr-xr-x 2026-01-02 03:04:06 +0000 UTC program",
		"dir/LICENSE -rw-r--r-- 2026-01-02 03:04:06 +0000 UTC text",
	}
	for name, list := range map[string]func(*testing.T, []byte) []string{"x.tar.gz": listTar, "x.zip": listZip} {
		first, err := pack(name, "dir", someTime, someEntries)
		if err != nil {
			t.Fatal(err)
		}
		if got := list(t, first); !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
		// In another zone, on another day.
		again, err := pack(name, "dir", someTime.In(time.FixedZone("", 7*3600)), someEntries)
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s is another the second time: %v", name, err)
		}
	}
}
