// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// maxJSON limits the JSON of a saved report in bytes. It is some ten times the
// JSON of 65,536 groups with a few decisions each. It is less in a test.
var maxJSON int64 = 1 << 30

// Save writes x in the form that [Load] reads: JSON compressed with zstd. It
// fails if the JSON is too large to be read.
func (x *Data) Save(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := x.writeJSON(&limitedWriter{z, maxJSON}); err != nil {
		return errors.Join(err, z.Close())
	}
	return z.Close()
}

// limitedWriter fails after left bytes.
type limitedWriter struct {
	to   io.Writer
	left int64
}

func (w *limitedWriter) Write(text []byte) (int, error) {
	if w.left -= int64(len(text)); w.left < 0 {
		return 0, fmt.Errorf("the report is too large to be saved: its JSON has more than %d bytes. Save parts of the logs, or use another --by", maxJSON)
	}
	return w.to.Write(text)
}

var (
	errForeign = errors.New("is not a saved report: merge reads what regometer report --save has written; to report decision logs, use regometer report")
	errOld     = errors.New("was written by an older regometer: run report --save again on the logs")
)

// oldMagic is the beginning of the files of older releases.
const oldMagic = "\x89RGM\r\n\x1a\n"

// Load reads a file that Save has written, or a pipe with its content. It fails
// if the content is damaged, of another version, or anything else.
func Load(file string) (*Data, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := load(f)
	if pathError := (*fs.PathError)(nil); err != nil && !errors.As(err, &pathError) {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return x, err
}

func load(r io.Reader) (*Data, error) {
	text, old, err := savedText(r)
	switch {
	case old:
		return nil, errOld
	case err != nil:
		return nil, err
	case text == nil:
		return nil, errForeign
	}
	defer text.Close()
	limited := &io.LimitedReader{R: text, N: maxJSON + 1}
	x, err := readJSON(limited)
	var other versionError
	switch {
	case err == nil:
		return x, nil
	case limited.N == 0:
		return nil, fmt.Errorf("is too large: its JSON has more than %d bytes", maxJSON)
	case errors.As(err, &other):
		return nil, other
	default:
		return nil, damaged(err)
	}
}

// damaged returns the error of a damaged file.
func damaged(err error) error {
	return fmt.Errorf("is damaged (%w): copy it again from where it was saved, or save it again", err)
}

// savedJSON is the JSON of a saved report.
type savedJSON struct {
	io.Reader
	decoder *zstd.Decoder
}

// Close releases the decoder.
func (t *savedJSON) Close() { t.decoder.Close() }

// savedText returns the JSON of a saved report, or nil if r has anything else.
// It reads only the beginning. old reports whether r is a saved report of an
// older release.
func savedText(r io.Reader) (text *savedJSON, old bool, err error) {
	content := bufio.NewReader(r)
	head, err := content.Peek(len(oldMagic))
	if string(head) == oldMagic || !bytes.HasPrefix(head, zstdMagic) {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, string(head) == oldMagic, err
	}
	z, err := zstd.NewReader(content, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20))
	if err != nil {
		return nil, false, err
	}
	beginning := bufio.NewReader(z)
	head, err = beginning.Peek(64)
	if !bytes.HasPrefix(bytes.Join(bytes.Fields(head), nil), []byte(`{"regometer_report":`)) {
		z.Close()
		if err == nil || errors.Is(err, io.EOF) {
			return nil, false, nil
		}
		return nil, false, damaged(err)
	}
	return &savedJSON{beginning, z}, false, nil
}

// IsSaved reports whether a file begins as a saved report does, of this or an
// older release. The file should be a regular one, since IsSaved reads from it.
func IsSaved(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	text, old, _ := savedText(f)
	if text != nil {
		text.Close()
	}
	return old || text != nil
}

// LoadAll loads files, and merges them. It reads a file once that is named
// twice, also through a link.
func LoadAll(files ...string) (*Data, error) {
	var all *Data
	var seen []fs.FileInfo
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(seen, func(o fs.FileInfo) bool { return os.SameFile(o, info) }) {
			continue
		}
		seen = append(seen, info)
		x, err := Load(file)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = x
		} else if err := all.Merge(x); err != nil {
			return nil, fmt.Errorf("%s and %s cannot be merged: %w", files[0], file, err)
		}
	}
	if all == nil {
		return nil, errors.New("no saved reports: name files that regometer report --save has written")
	}
	return all, nil
}
