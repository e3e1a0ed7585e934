// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ociimage

import (
	"bytes"
	"context"
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
	var digests []string
	var archives [][]byte
	for i, mask := range []int{0o077, 0o002} {
		syscall.Umask(mask)
		file := filepath.Join(t.TempDir(), []string{"x.tar", "y.tar"}[i])
		im := program(t, file, "linux/amd64", "linux/arm64")
		build := im.Build
		im.Build = func(ctx context.Context, platform string) (Binary, error) {
			b, err := build(ctx, platform)
			if err == nil {
				day := time.Now().AddDate(0, 0, i)
				err = os.Chtimes(b.File, day, day)
			}
			return b, err
		}
		digests = append(digests, mustWrite(t, im))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, text)
	}
	if digests[0] != digests[1] || !bytes.Equal(archives[0], archives[1]) {
		t.Errorf("digests %q, archives the same: %t", digests, bytes.Equal(archives[0], archives[1]))
	}
}
