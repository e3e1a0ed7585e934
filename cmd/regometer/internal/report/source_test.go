// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

func gzipped(texts ...string) []byte {
	var b bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&b)
		w.Write([]byte(text)) //nolint:errcheck // a buffer takes all
		w.Close()
	}
	return b.Bytes()
}

func zstandard(text string) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll([]byte(text), nil)
}

// layerText returns the text of a file, which may be compressed, and the error
// that ends it.
func layerText(t *testing.T, l *layer, file io.Reader) ([]byte, error) {
	t.Helper()
	text, _, done, err := l.open(t.Context(), file, false)
	defer done()
	if err != nil {
		t.Fatal(err)
	}
	return io.ReadAll(text)
}

func TestDecompressed(t *testing.T) {
	t.Parallel()
	// Larger than what is read ahead, and not compressible to nothing.
	r := rand.New(rand.NewPCG(1, 2))
	large := make([]byte, 3<<20)
	for i := range large {
		large[i] = 'a' + byte(r.Uint32()%16)
	}
	two := gzipped("first\n", "second\n")
	l := newLayer() // which a file before does not change
	for _, test := range []struct {
		what    string
		file    []byte
		want    string
		damaged bool
	}{
		{"nothing", nil, "", false},
		{"one byte", []byte("{"), "{", false},
		{"plain", large, string(large), false},
		{"gzip", gzipped(string(large)), string(large), false},
		{"members", two, "first\nsecond\n", false},
		{"empty members", gzipped("", "a", "", "b", ""), "ab", false},
		{"zeros behind", append(gzipped("a"), make([]byte, 512)...), "a", true},
		{"text behind", append(gzipped("a"), "text"...), "a", true},
		{"zstd", zstandard(string(large)), string(large), false},
		{"two frames", append(zstandard("a"), zstandard("b")...), "ab", false},
		{"bzip2", bzip2Sample, "first\nsecond\n", false},
		{"two streams", append(bzip2Sample, bzip2Sample...), "first\nsecond\nfirst\nsecond\n", false},
		{"lz4", lz4Of(t, string(large), "b"), string(large) + "b", false},
		{"two lz4 frames", append(lz4Of(t, "a"), lz4Of(t, "b")...), "ab", false},
		{"UTF-16", []byte("\xff\xfea\x00\xe4\x00\x3d\xd8\x00\xde"), "aä😀", false},
		{"UTF-16, big first", gzipped("\xfe\xff\x00a\x00\xe4"), "aä", false},
		{"the end is missing", two[:len(two)-10], "first\nsecond\n"[:6], true},
		{"only a header", gzipped("a")[:12], "", true},
		{"gzip behind a damaged file", two, "first\nsecond\n", false},
		{"lz4, text behind the frame", append(lz4Of(t, "a"), "text"...), "a", true},
		{"zstd, the end is missing", zstandard(string(large))[:1<<20], "", true},
	} {
		got, err := layerText(t, l, iotest.HalfReader(bytes.NewReader(test.file)))
		if errors.Is(err, problemError{Damaged}) != test.damaged || err != nil && !test.damaged {
			t.Errorf("%s: got error %v", test.what, err)
		}
		if !strings.HasPrefix(string(got), test.want) || !test.damaged && len(got) != len(test.want) {
			t.Errorf("%s: got %d bytes, %.40q, want %d", test.what, len(got), got, len(test.want))
		}
	}
}

// The goroutine that reads ahead ends with its context, also if nobody takes
// its blocks.
func TestReadAheadEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	text, _ := readAhead(ctx, strings.NewReader(strings.Repeat("a", 10<<20)), func() { close(done) })
	if _, err := text.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	if _, err := io.ReadAll(text); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}
