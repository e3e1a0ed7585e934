// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/outfile"
)

// The cache folder holds
//
//	bin/<key>/opa        finished binaries
//	trees/<key>/opa      patched copies of OPA's source
//	trees/<key>/work-*   files of a build with the copy, while it runs
//	*/<key>/sum          the checksum of the finished file or folder
//	build/, tree/        the binary or the copy that is being made
//	verify/              temporary files of the verification that runs
//	*.lock               held by the process that works in the folder of that
//	                     name; the system releases it when the process ends
//
// A finished entry appears by one rename. The next process that gets a lock
// empties the folder, so nothing uses what a killed process left there. No
// process holds a lock while it uses an entry, which may take hours. So an
// entry is removed only if nobody has asked for it for some time.
type cache struct{ dir string }

// A store is one kind of entries in the cache.
type store struct {
	folder, work string
	keep         int           // bounds the entries that nobody has used lately
	unused       time.Duration // how long nobody must have used an entry
	waiting      string        // said while another process makes an entry
	damaged      string        // said if an entry has changed; "" = silent
}

var (
	binaries = store{"bin", "build", 6, time.Hour, "waiting for another build to end", "warning: the binary in the cache is damaged, and built again"}
	// The tests of OPA may write into their copy.
	trees = store{"trees", "tree", 3, 24 * time.Hour, "waiting for another copy of OPA's source to be made", ""}
)

// openCache returns the cache in $REGOMETER_CACHE or, by default, in
// "regometer" in the user's cache folder.
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
		return cache{}, fmt.Errorf("no cache folder: Go cannot build in %q because the name has a line break (set REGOMETER_CACHE to another folder)", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cache{}, fmt.Errorf("no cache folder: %w (set REGOMETER_CACHE to a folder that you may write to)", err)
	}
	return cache{dir}, nil
}

// get returns the path of an entry's file or folder, and marks it as used. If
// the entry is missing or has changed, make must create the file or folder. It
// may use the scratch folder, which is removed afterwards.
func (c cache) get(ctx context.Context, s store, key, name string, p progress, make func(scratch, to string) error) (string, error) {
	dir := filepath.Join(c.dir, s.folder, key)
	found := filepath.Join(dir, name)
	ok, damage := findEntry(ctx, found)
	if damage != nil && s.damaged != "" {
		p.printf("%s: %v", s.damaged, damage)
	}
	if ok {
		return found, nil
	}
	work, release, err := c.workDir(ctx, s.work, func() { p.printf("%s", s.waiting) })
	if err != nil {
		return "", withHint(err)
	}
	defer release()
	if ok, _ := findEntry(ctx, found); ok {
		return found, nil // another process has made it meanwhile
	}
	// The folder's name is new each time because a go command that outlived a
	// killed build may still write to the old one.
	scratch, err := os.MkdirTemp(work, "")
	if err != nil {
		return "", withHint(err)
	}
	entry := filepath.Join(scratch, "entry")
	if err := os.Mkdir(entry, 0o755); err != nil {
		return "", withHint(err)
	}
	if err := make(scratch, filepath.Join(entry, name)); err != nil {
		return "", withHint(err)
	}
	sum, err := hashTree(ctx, filepath.Join(entry, name), newChecksum)
	if err == nil {
		err = outfile.Write(filepath.Join(entry, "sum"), []byte(sum))
	}
	if err == nil {
		err = errors.Join(removeAll(dir), os.MkdirAll(filepath.Dir(dir), 0o755))
	}
	if err == nil {
		err = os.Rename(entry, dir)
	}
	if err != nil {
		return "", withHint(err)
	}
	c.prune(s)
	return found, nil
}

// newChecksum finds damage. A SHA-256 would take five times as long at each
// start of OPA, and whoever can write to the cache could change it too.
func newChecksum() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// findEntry reports whether an entry is there and unchanged. damage says why
// not, if there is one. All of it is read each time because a faulty disk
// changes neither size nor time.
func findEntry(ctx context.Context, file string) (ok bool, damage error) {
	dir := filepath.Dir(file)
	want, err := os.ReadFile(filepath.Join(dir, "sum"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // first, so that it stays while it is read
	if err != nil {
		return false, err
	}
	sum, err := hashTree(ctx, file, newChecksum)
	if err == nil && sum != string(want) {
		err = fmt.Errorf("%s has changed", file)
	}
	return err == nil, err
}

// besideCopy returns a new folder beside a copy of OPA's source. The caller
// removes it. Old folders of killed processes are removed first.
func besideCopy(copied string) (string, error) {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(copied), "work-*"))
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > trees.unused {
			_ = removeAll(dir)
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(copied), "work-")
	return dir, withHint(err)
}

// prune removes entries that nobody has used for some time, except the last
// ones. What cannot be removed (a binary that runs, on Windows) stays until the
// next time.
func (c cache) prune(s store) {
	dir := filepath.Join(c.dir, s.folder)
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
		if i >= s.keep && time.Since(info.ModTime()) > s.unused {
			_ = removeAll(filepath.Join(dir, info.Name()))
		}
	}
}

// workDir waits for the lock of the working folder with this name and returns
// the folder, empty. release empties it again and releases the lock. waiting is
// called once if another process holds the lock.
func (c cache) workDir(ctx context.Context, name string, waiting func()) (dir string, release func(), err error) {
	file := filepath.Join(c.dir, name+".lock")
	unlock, err := tryLock(file)
	for first := true; errors.Is(err, errLocked); first = false {
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return "", nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		unlock, err = tryLock(file)
	}
	if err != nil {
		return "", nil, fmt.Errorf("cannot lock %s: %w", file, err)
	}
	dir = filepath.Join(c.dir, name)
	if err := errors.Join(removeAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		unlock()
		return "", nil, err
	}
	return dir, func() {
		_ = removeAll(dir) // the next process empties it too
		unlock()
	}, nil
}

// errLocked is what tryLock returns if another process, or another call in
// this process, holds the lock.
var errLocked = errors.New("locked")

// removeAll is os.RemoveAll for folders that contain folders without write
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
