// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Save writes x as [Load] reads it.
func (x *Data) Save(w io.Writer) error {
	content, err := x.AppendBinary(nil)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// errForeign is the error of a file that begins otherwise than Save's do.
var errForeign = errors.New("is no saved report: merge reads what regometer report --save has written; to report decision logs, use regometer report")

// damagedFile returns the error of a file that is not as Save wrote it.
func damagedFile(why string) error {
	return fmt.Errorf("is damaged (%s): copy it again from where it was saved, or save it again", why)
}

// maxFile is how large a file may be, which is some times what the default
// limits allow.
const maxFile = 1 << 30

// Load reads a file that Save has written, or a pipe with its content. One that
// is damaged, of a newer format, or anything else is an error that says so.
func Load(file string) (*Data, error) {
	content, err := readSaved(file)
	if err != nil {
		return nil, err
	}
	x, err := readData(content)
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return x, nil
}

// readSaved reads a file, but no more than its beginning if it is another one.
func readSaved(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, len(rgmMagic))
	n, err := io.ReadFull(f, head)
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	case string(head[:n]) != rgmMagic:
		return nil, fmt.Errorf("%s %w", file, errForeign)
	}
	content := bytes.NewBuffer(head)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		content.Grow(int(min(info.Size(), maxFile)))
	}
	if _, err := content.ReadFrom(io.LimitReader(f, maxFile)); err != nil {
		return nil, err
	}
	if content.Len() > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes: save it with fewer groups", file, maxFile)
	}
	return content.Bytes(), nil
}

// IsSaved reports whether a file begins as those that Save writes. It should be
// a regular file: from another it reads.
func IsSaved(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(rgmMagic))
	n, _ := io.ReadFull(f, head)
	return string(head[:n]) == rgmMagic
}

// LoadAll loads files, and merges them. A file that is named twice, by a link
// too, is read once.
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
