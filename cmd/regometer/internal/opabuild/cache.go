// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// The cache folder holds
//
//	bin/<key>/opa        finished binaries
//	trees/<key>/opa      patched copies of OPA's source
//	trees/<key>/work-*   files of a build with the copy, while it runs
//	new-bin/, new-trees/ the binary or the copy that is being made
//	verify/              temporary files of the verification that runs
//	*.lock               held by the process that works in the folder of that
//	                     name; the system releases it when the process ends
//
// A finished entry appears by one rename. The next process that gets a lock
// empties the folder, so nothing uses what a killed process left there. No
// process holds a lock while it uses an entry, which may take hours. So an
// entry is removed only if nobody has asked for it for some time.
type cache struct{ dir string }

// A store is the folder of one kind of entries in the cache.
type store string

const (
	binaries store = "bin"
	trees    store = "trees" // OPA's tests may write into their copy
)

// unused limits the time that an entry stays without being used.
const unused = 7 * 24 * time.Hour

// openCache returns the cache in $REGOMETER_CACHE or, by default, in
// "regometer" in the user's cache folder.
func openCache() (cache, error) {
	dir := os.Getenv("REGOMETER_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return cache{}, fmt.Errorf("there is no cache folder: %w: set REGOMETER_CACHE to a folder that you may write to", err)
		}
		dir = filepath.Join(base, "regometer")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return cache{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cache{}, fmt.Errorf("cannot make the cache folder: %w: set REGOMETER_CACHE to a folder that you may write to", err)
	}
	return cache{dir}, nil
}

// get returns the path of an entry's file or folder, and marks it as used. If
// the entry is missing, make must create the file or folder. It may use the
// scratch folder, which is removed afterwards.
func (c cache) get(ctx context.Context, s store, key, name string, p progress, make func(scratch, to string) error) (string, error) {
	found := filepath.Join(c.dir, string(s), key, name)
	if findEntry(found) {
		return found, nil
	}
	work, release, err := c.workDir(ctx, "new-"+string(s), p)
	if err != nil {
		return "", withHint(err)
	}
	defer release()
	if findEntry(found) {
		return found, nil // another process has made it in the meantime
	}
	if err := addEntry(work, found, make); err != nil {
		return "", withHint(err)
	}
	c.prune(s)
	return found, nil
}

// addEntry makes an entry in the folder work and moves it to its place, where
// its file or folder is found.
func addEntry(work, found string, make func(scratch, to string) error) error {
	// The folder's name is new each time because a go command that outlived a
	// killed build may still write to the old one.
	scratch, err := os.MkdirTemp(work, "")
	if err != nil {
		return err
	}
	entry, dir := filepath.Join(scratch, "entry"), filepath.Dir(found)
	to := filepath.Join(entry, filepath.Base(found))
	if err := os.Mkdir(entry, 0o755); err != nil {
		return err
	}
	if err := make(scratch, to); err != nil {
		return err
	}
	if err := errors.Join(removeAll(dir), os.MkdirAll(filepath.Dir(dir), 0o755)); err != nil {
		return err
	}
	return os.Rename(entry, dir)
}

// findEntry reports whether an entry is there, and marks it as used.
func findEntry(file string) bool {
	now := time.Now()
	_ = os.Chtimes(filepath.Dir(file), now, now) // first, so that it stays
	_, err := os.Stat(file)
	return err == nil
}

// prune removes entries that nobody has used for some time. An entry that
// cannot be removed (a binary that runs, on Windows) stays until the next time.
func (c cache) prune(s store) {
	dir := filepath.Join(c.dir, string(s))
	entries, _ := os.ReadDir(dir) // the next process tries again
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > unused {
			_ = removeAll(filepath.Join(dir, e.Name()))
		}
	}
}

// workDir waits for the lock of the working folder with this name, and returns
// the empty folder. release removes the folder and releases the lock. If
// another process holds the lock, a line of progress says so.
func (c cache) workDir(ctx context.Context, name string, p progress) (dir string, release func(), err error) {
	dir = filepath.Join(c.dir, name)
	lock := flock.New(dir+".lock", flock.SetPermissions(0o644))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		p.printf("waiting for another regometer to end its work in %s", dir)
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return "", nil, fmt.Errorf("cannot lock %s: %w", lock, err)
	}
	release = func() {
		_ = removeAll(dir) // if this fails, the next process empties it
		_ = lock.Unlock()  // fails only if the system does
	}
	if err := errors.Join(removeAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		release()
		return "", nil, err
	}
	return dir, release, nil
}

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
