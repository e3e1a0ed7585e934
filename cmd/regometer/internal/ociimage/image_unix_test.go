// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ociimage

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Neither the folder, nor the day, nor the umask is in an image.
func TestReproducible(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	var archives [][]byte
	for i, name := range []string{"x.tar", "y.tar"} {
		syscall.Umask([]int{0o077, 0o002}[i])
		im := program(t, filepath.Join(t.TempDir(), name), "linux/amd64", "linux/arm64")
		build := im.Build
		im.Build = func(ctx context.Context, platform string) (string, map[string]string, error) {
			file, labels, err := build(ctx, platform)
			day := time.Now().AddDate(0, 0, i)
			return file, labels, errors.Join(err, os.Chtimes(file, day, day))
		}
		must(im.Write(t.Context()))
		archives = append(archives, must(os.ReadFile(im.Output)))
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the archives differ")
	}
}
