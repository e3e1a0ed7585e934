// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/regometer/regometer/cmd/regometer/internal/outfile"
)

// savedVersion is the version in decimal behind savedMagic. The end of a line
// follows, and JSON, compressed with zstd. Change the version if readers of the
// old one would misread the JSON.
const savedVersion = "1"

// Save writes x in the form that [Load] reads, without the slowest decisions. No
// report is so large that Load refuses it: the ids and the sample are bounded, and
// so are the stages and counters of a group.
func (x *Data) Save(w io.Writer) error {
	_, err := io.WriteString(w, savedMagic+savedVersion+"\n")
	z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // the option is valid
	return cmp.Or(err, x.writeJSON(z), z.Close())             // the first one is the cause
}

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
	text := bufio.NewReader(r)
	head, err := text.ReadSlice('\n')
	version, isSaved := strings.CutPrefix(string(head), savedMagic)
	switch version = strings.TrimSuffix(version, "\n"); {
	case !isSaved && errors.As(err, new(*fs.PathError)):
		return nil, err
	case !isSaved:
		return nil, errors.New("is not a saved report: name a file that regometer report --save wrote, or use regometer report to read decision logs")
	case version != savedVersion:
		return nil, fmt.Errorf("has format version %.20q, but this regometer reads only version %s: use the regometer that saved it, or run regometer report --save again on the logs", version, savedVersion)
	}
	z, err := zstd.NewReader(text, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	limited := &io.LimitedReader{R: z, N: maxLine}
	x, err := readJSON(limited)
	if limited.N == 0 {
		return nil, errors.New("is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("is damaged (%w): copy it again from where it was saved, or save it again", err)
	}
	return x, nil
}

// IsSaved reports whether a file begins like a saved report of any version.
func IsSaved(file string) bool { return strings.HasPrefix(outfile.Head(file), savedMagic) }

// LoadAll loads the files that [InputFiles] finds, and merges them.
func LoadAll(inputs ...string) (all *Data, err error) {
	files, err := InputFiles(inputs)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		x, err := Load(file.Name)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = x
		} else if err := all.Merge(x); err != nil {
			return nil, fmt.Errorf("%s and %s cannot be merged: %w", files[0].Name, file.Name, err)
		}
	}
	return all, nil
}
