// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/regometer/regometer/internal/outfile"
	"github.com/regometer/regometer/report/parquetlog"
)

// A parquetFile is the file that --parquet names. It takes its place once it is
// whole.
type parquetFile struct {
	*parquetlog.Writer
	file *outfile.File
}

func newParquetFile(name string) (*parquetFile, error) {
	if err := mayReplaceParquet(name); err != nil {
		return nil, fmt.Errorf("--parquet: %w", err)
	}
	file, err := createOutput(name)
	if err != nil {
		return nil, fmt.Errorf("--parquet: %w", err)
	}
	return &parquetFile{parquetlog.NewWriter(file), file}, nil
}

// mayReplaceParquet returns an error if there is a file of this name that is
// something else, such as a log that was meant to be read.
func mayReplaceParquet(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err // what is no file is refused by outfile
	}
	const magic = "PAR1"
	head, err := io.ReadAll(io.LimitReader(f, int64(len(magic))))
	if err != nil {
		return err
	}
	if len(head) > 0 && !bytes.Equal(head, []byte(magic)) {
		return fmt.Errorf("%s is there, is no Parquet file, and would be replaced: name another file", name)
	}
	return nil
}

// finish writes what is left and puts the file in its place.
func (f *parquetFile) finish() error {
	err := f.Close()
	if err == nil {
		err = f.file.Replace()
	}
	if err != nil {
		return fmt.Errorf("--parquet: %w", err)
	}
	return nil
}
