// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/regometer/regometer/internal/app/outfile"
	"github.com/regometer/regometer/internal/app/parquetlog"
)

// A parquetFile is the file of --parquet. It takes its place when it is
// complete.
type parquetFile struct {
	*parquetlog.Writer
	output *output
	file   *outfile.File
}

func newParquetFile(o *output) (*parquetFile, error) {
	file, err := o.create()
	if err != nil {
		return nil, err
	}
	return &parquetFile{parquetlog.NewWriter(file), o, file}, nil
}

// finish completes the file and puts it in its place.
func (f *parquetFile) finish() error {
	if err := f.Close(); err != nil {
		return fmt.Errorf("%s: %w", f.output.flag, err)
	}
	return f.output.commit(f.file)
}
