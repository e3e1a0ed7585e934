// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/outfile"
)

// The cache folder holds
//
//	bin/<key>/opa      finished binaries: they appear by one rename, so that
//	                   what is there is whole
//	bin/<key>/opa.sum  the checksum of what was put there
//	build/             the source tree of the build that is under way
//	verify/            the trees of the verification that is under way
//	trees/, tree/      source trees for users' programs: see trees.go
//	*.lock             held by whoever works in the folder of that name; the
//	                   system lets go of it when the process ends, however
//
// A folder of work is emptied by the next one who gets the lock, so that what
// a killed process left behind is never used.
type cache struct{ dir string }

// openCache returns the cache in $REGOMETER_CACHE or, by default, in
// "regometer" under the user's cache folder.
func openCache() (cache, error) {
	dir := os.Getenv("REGOMETER_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return cache{}, fmt.Errorf("no cache folder: %w (or set REGOMETER_CACHE)", err)
		}
		dir = filepath.Join(base, "regometer")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return cache{}, err
	}
	if strings.ContainsAny(dir, "\r\n") {
		return cache{}, fmt.Errorf("no cache folder: Go cannot build in %q, for the line break in its name (set REGOMETER_CACHE to another one)", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cache{}, fmt.Errorf("no cache folder: %w (set REGOMETER_CACHE to one that you may write to)", err)
	}
	return cache{dir}, nil
}

// binary returns the path of the binary with this key, and whether it is there
// and whole. damage says why not, if there is one. Asking marks it as used.
//
// The whole file is read each time: a disk's faults change neither size nor
// time, and the system reads it to run it anyway.
func (c cache) binary(key, name string) (file string, ok bool, damage error) {
	dir := filepath.Join(c.dir, "bin", key)
	file = filepath.Join(dir, name)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file, false, nil
	}
	if err == nil {
		err = checkBinary(file, info)
	}
	if err != nil {
		return file, false, err
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // an older mark only lets it be pruned sooner
	return file, true, nil
}

// checkBinary returns what is wrong with a binary in the cache.
func checkBinary(file string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s", file, outfile.Kind(info.Mode()))
	case info.Mode()&0o100 == 0 && runtime.GOOS != "windows": // where no file has this bit
		return fmt.Errorf("%s may not be run", file)
	}
	want, err := os.ReadFile(file + sumSuffix)
	if err != nil {
		return err
	}
	sum, err := sumOf(file)
	if err == nil && sum != string(want) {
		err = fmt.Errorf("%s is not what was put there", file)
	}
	return err
}

const sumSuffix = ".sum"

// sumOf returns the CRC-32C and the size of a file. It is there for damage: who
// may write to the cache could change a SHA-256 too, which takes five times as
// long whenever OPA is started.
func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	size, err := io.Copy(h, f)
	return fmt.Sprintf("%08x %d\n", h.Sum32(), size), err
}

// add moves a finished binary into the cache, in the place of a damaged one if
// there is one, and prunes older ones. The caller holds the lock.
func (c cache) add(key, name, file string) (string, error) {
	dir := filepath.Join(c.dir, "bin", key)
	to := filepath.Join(dir, name)
	if err := removeAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := syncFile(file); err != nil {
		return "", err
	}
	sum, err := sumOf(file)
	if err == nil {
		err = outfile.Write(to+sumSuffix, []byte(sum))
	}
	if err == nil {
		err = os.Rename(file, to)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	c.prune()
	return to, nil
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Pruning keeps the binaries used last, and all that someone may be about to
// start: between the look into the cache and the exec no lock is held, since
// `regometer opa` becomes the binary.
const (
	keepBinaries = 6
	keepFor      = time.Hour
)

// prune removes old binaries, about 100 MB each. What cannot be removed (one
// that runs, on Windows) stays until the next time.
func (c cache) prune() { c.pruneFolder("bin", keepBinaries, keepFor) }

// pruneFolder removes the folders in one of the cache that were not used for
// some time, but for those used last.
func (c cache) pruneFolder(name string, keep int, unused time.Duration) {
	dir := filepath.Join(c.dir, name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for i, info := range infos {
		if i >= keep && time.Since(info.ModTime()) > unused {
			_ = removeAll(filepath.Join(dir, info.Name()))
		}
	}
}

// workDir waits for the lock of the working folder with this name and returns
// the folder, empty. Builds one after another are no slower, as each uses all
// processors, and a second one often finds what the first has built. release
// empties it again and lets go of the lock. waiting is called once if another
// process has the lock.
func (c cache) workDir(ctx context.Context, name string, waiting func()) (dir string, release func() error, err error) {
	unlock, err := c.lock(ctx, name, waiting)
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(c.dir, name)
	err = removeAll(dir)
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		unlock()
		return "", nil, err
	}
	return dir, func() error {
		defer unlock()
		return removeAll(dir)
	}, nil
}

// lock gets the lock of this name, waiting for it if need be.
func (c cache) lock(ctx context.Context, name string, waiting func()) (unlock func(), err error) {
	file := filepath.Join(c.dir, name+".lock")
	for first := true; ; first = false {
		unlock, err := tryLock(file)
		if err == nil {
			return unlock, nil
		}
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("cannot lock %s: %w", file, err)
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// errLocked is what tryLock returns if another process, or another call in
// this one, holds the lock.
var errLocked = errors.New("locked")

// removeAll is os.RemoveAll for trees that hold folders without write
// permission, as tests leave them.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
