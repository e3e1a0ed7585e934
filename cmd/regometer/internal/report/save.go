// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// maxJSON limits the JSON of a saved report, in bytes, without its first line.
// It is about ten times the JSON of 65,536 groups with a few decisions each.
// maxHead limits the first line, and the memory of its lists, and maxLine the
// lists of another line. A test lowers them.
var (
	maxJSON int64   = 1 << 30
	maxHead int64   = 128 << 20
	maxLine uintptr = 64 << 20
)

// Save writes x in the form that [Load] reads: JSON compressed with zstd. It
// fails if the JSON is too large to be read.
func (x *Data) Save(w io.Writer) error {
	z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // the option is valid
	return errors.Join(x.writeJSON(z), z.Close())
}

// limitedWriter fails after left bytes.
type limitedWriter struct {
	to   io.Writer
	left int64
}

func (w *limitedWriter) Write(text []byte) (int, error) {
	if w.left -= int64(len(text)); w.left < 0 {
		return 0, errors.New("the report is too large to save: save parts of the logs, or use another --by or a lower --slowest")
	}
	return w.to.Write(text)
}

var errForeign = errors.New("is not a saved report: name a file that regometer report --save wrote, or use regometer report to read decision logs")

// savedVersion matches the beginning of a saved report's JSON.
var savedVersion = regexp.MustCompile(`^\s*\{\s*"regometer_report"\s*:\s*(\d*)`)

// Load reads a file that Save wrote, or a pipe with such content. It fails if
// the content is damaged, has another version, or is not a saved report.
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
	text, version, done, err := savedText(r)
	defer done()
	if err != nil {
		return nil, err
	}
	if version != "" && version != strconv.Itoa(formatVersion) {
		return nil, fmt.Errorf("has format version %s, but this regometer reads only version %d: use the regometer that saved it, or run regometer report --save again on the logs", version, formatVersion)
	}
	limited := &io.LimitedReader{R: text, N: maxHead + 1}
	x, err := readJSON(limited)
	switch {
	case limited.N == 0:
		return nil, errors.New("is too large")
	case err == nil:
		return x, nil
	default:
		return nil, damaged(err)
	}
}

// damaged returns the error of a damaged file.
func damaged(err error) error {
	return fmt.Errorf("is damaged (%w): copy it again from where it was saved, or save it again", err)
}

// savedText returns the JSON of a saved report of any version, the version if
// the JSON begins with one, and what must be called in the end. It reads only
// the beginning. The error is errForeign if r has anything else.
func savedText(r io.Reader) (text *bufio.Reader, version string, done func(), err error) {
	text, f, done, err := newLayer().open(context.Background(), r, true)
	switch {
	case errors.Is(err, errDamaged):
		err = damaged(err)
	case errors.As(err, new(refusalError)), err == nil && f != formatSaved:
		err = errForeign
	case err == nil:
		head, _ := text.Peek(headSize)
		version = string(savedVersion.FindSubmatch(head)[1])
	}
	return text, version, done, err
}

// IsSaved reports whether a file begins like a saved report of any version. It
// reads from the file, which should be a regular file.
func IsSaved(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	_, _, done, err := savedText(f)
	done()
	return err == nil
}

// LoadAll loads files, and those in folders, and merges them. It reads a file
// only once, even if two names or a link lead to it.
func LoadAll(files ...string) (*Data, error) {
	var all *Data
	var inputs []InputFile
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			inputs = append(inputs, InputFile{file, info})
			continue
		}
		names, _ := fs.Glob(os.DirFS(file), "*.rgm") // the pattern is valid
		for _, name := range names {
			name = filepath.Join(file, name)
			if info, err = os.Stat(name); err != nil {
				return nil, err
			}
			inputs = append(inputs, InputFile{name, info})
		}
		if names == nil {
			return nil, fmt.Errorf("the folder %s has no file .rgm: name files that regometer report --save wrote, or a folder with them", file)
		}
	}
	for _, file := range unique(inputs) {
		x, err := Load(file.Name)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = x
		} else if err := all.Merge(x); err != nil {
			return nil, fmt.Errorf("%s and %s cannot be merged: %w", files[0], file.Name, err)
		}
	}
	if all == nil {
		return nil, errors.New("no saved reports: name files that regometer report --save wrote")
	}
	return all, nil
}
