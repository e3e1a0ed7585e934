// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestDecompress(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("a line of a log\n"), 100_000)
	var gz, zst bytes.Buffer
	encoder, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{gzip.NewWriter(&gz), gzip.NewWriter(&gz), encoder} { // two members
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		file []byte
		want int // 0: an error
	}{
		{"log.gz", gz.Bytes(), 2 * len(text)},
		{"log.zst", zst.Bytes(), len(text)},
		{"cut.gz", gz.Bytes()[:gz.Len()-1], 0},
		{"cut.zst", zst.Bytes()[:zst.Len()-1], 0},
		{"text.gz", text, 0},
	} {
		name := filepath.Join(t.TempDir(), test.name)
		if err := os.WriteFile(name, test.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := decompress(name); (err != nil) != (test.want == 0) || err == nil && n != int64(test.want) {
			t.Errorf("%s: %d bytes, %v, want %d", test.name, n, err, test.want)
		}
	}
}
