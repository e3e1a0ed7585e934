// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/gotool"
	"github.com/regometer/regometer/internal/app/outfile"
)

// A Change is what [Patch] or [Revert] does to one file.
type Change struct {
	Path   string // relative to the tree's root
	Action string // "add", "replace", "remove" or "restore"
}

// A PatchResult is the result of [Patch] or [Revert].
type PatchResult struct {
	Changes []Change // made, or planned by a dry run
	Notes   []string // warnings, and steps that remain for the user
}

// Patch puts the drop-in into the OPA source tree in dir as OPA's maintainers
// would commit it: only files in v1/metrics change. It does nothing if the tree
// already holds this drop-in, and updates an earlier one. With dryRun it
// changes nothing. It compiles the tree with the change before it writes.
//
// Patch records the original files for [Revert]: inside the Git folder of a
// checkout, where nobody commits the record, or else in .regometer-patch.json.
// It fails, and names the files, if somebody has edited files of an earlier
// drop-in. It forgets a record if no file of the drop-in is left, as after `git
// reset` and `git clean`.
func Patch(ctx context.Context, dir string, dryRun bool, w io.Writer) (PatchResult, error) {
	return patch(ctx, dir, dryRun, loadDropIn(), compileWith, progress{w, time.Now()})
}

// A compiler runs the go command on a tree as if v1/metrics had the target's
// files.
type compiler func(ctx context.Context, p *patchedTree, target map[string][]byte, args ...string) error

func patch(ctx context.Context, dir string, dryRun bool, d dropIn, compile compiler, progress progress) (result PatchResult, err error) {
	p, err := openPatch(ctx, dir)
	if err != nil {
		return result, err
	}
	note := func(text string) {
		if text != "" {
			result.Notes = append(result.Notes, text)
		}
	}
	warning, err := checkRange(p.record.OPA)
	if err != nil {
		return result, err
	}
	note(warning)
	d, noTests, err := d.upstream(p.root)
	if err != nil {
		return result, err
	}
	target := d.replace(p.original)
	if len(p.changes(target)) > 0 {
		progress.printf("compiling OPA with the drop-in; the first time this takes a few minutes")
		if err := compile(ctx, p, target, "test", "-c", "-o", os.DevNull, "./"+metricsDir); err != nil && noTests == "" && ctx.Err() == nil {
			noTests = "this OPA does not compile with the drop-in's own tests, so they are left out"
			target = d.withoutTests().replace(p.original)
		}
		if err := compile(ctx, p, target, "build", "./..."); err != nil {
			return result, fmt.Errorf("%s does not compile with the drop-in: %w%s", p.root, err, rangeHint)
		}
	}
	note(noTests)
	if mod, err := os.ReadFile(filepath.Join(p.root, "go.mod")); err == nil && bytes.Contains(mod, []byte("rcrowley/go-metrics")) {
		note("go.mod requires github.com/rcrowley/go-metrics, which the drop-in does not import: run `go mod tidy`")
	}
	if result.Changes = p.changes(target); dryRun || len(result.Changes) == 0 {
		return result, nil
	}
	if err := p.note(target); err != nil {
		return result, fmt.Errorf("nothing was changed because the record cannot be written: %w", withHint(err))
	}
	return result, p.write(target)
}

// Revert takes the drop-in out of a tree that [Patch] changed. Afterwards
// v1/metrics has the same bytes and modes as before the patch. It fails, and
// names the files, if somebody has edited them since. With dryRun it changes
// nothing.
func Revert(ctx context.Context, dir string, dryRun bool) (PatchResult, error) {
	return revert(ctx, dir, dryRun, loadDropIn())
}

func revert(ctx context.Context, dir string, dryRun bool, d dropIn) (result PatchResult, err error) {
	p, err := openPatch(ctx, dir)
	if err != nil {
		return result, err
	}
	if len(p.record.Files) == 0 {
		// A commit may have put the drop-in there.
		if d, _, err = d.upstream(p.root); err == nil && len(p.changes(d.replace(p.now))) == 0 {
			err = fmt.Errorf("%s holds the drop-in, but %s, which records the original files, does not exist: restore them from your version control", p.dir, p.recordFile)
		}
		return result, err
	}
	result.Changes = p.changes(p.original)
	if dryRun {
		return result, nil
	}
	err = p.write(p.original)
	for name, f := range p.record.Files {
		if err == nil && f.Original != nil {
			err = os.Chmod(filepath.Join(p.dir, name), f.Mode)
		}
	}
	if err == nil {
		err = os.Remove(p.recordFile)
	}
	return result, withHint(err)
}

// A patchedTree is an OPA source tree and the record of its patch.
type patchedTree struct {
	root, dir  string // the tree's root and its v1/metrics, without links
	recordFile string
	record     patchRecord
	now        map[string][]byte // the Go files in dir by name
	original   map[string][]byte // the same files before any patch
}

// A patchRecord is the content of the record file.
type patchRecord struct {
	OPA   string                  `json:"opa"`   // the tree's version
	Files map[string]*patchedFile `json:"files"` // by name in v1/metrics
}

type patchedFile struct {
	Original []byte      `json:"original"` // null if there was no such file
	Mode     fs.FileMode `json:"mode,omitempty"`
	// Wrote has the SHA-256 of each text that Patch has put there. readRecord
	// uses it to recognise files that somebody edited.
	Wrote []string `json:"wrote,omitempty"`
}

// openPatch reads the tree and its record, and refuses trees that a patch would
// harm.
func openPatch(ctx context.Context, dir string) (*patchedTree, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := checkTree(root); err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	p := &patchedTree{root: root}
	if p.dir, err = filepath.EvalSymlinks(filepath.Join(root, metricsDir)); err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(root, p.dir); err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is in %s, outside the tree: replace the link with the folder", filepath.Join(root, metricsDir), p.dir)
	}
	if err := checkWritable(p.dir); err != nil {
		return nil, err
	}
	p.recordFile = filepath.Join(root, ".regometer-patch.json")
	git := exec.CommandContext(ctx, "git", "-C", root, "rev-parse", "--show-toplevel", "--absolute-git-dir")
	if out, err := git.Output(); err == nil {
		top, folder, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if filepath.Clean(top) == root { // the checkout is not one around this tree
			p.recordFile = filepath.Join(folder, "regometer-patch.json")
		}
	}
	if p.now, err = goFiles(p.dir); err != nil {
		return nil, err
	}
	for name := range p.now {
		file := filepath.Join(p.dir, name)
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			return nil, errors.Join(err, fmt.Errorf("%s is a link, which patch could not restore: replace it with the file", file))
		}
	}
	return p, p.readRecord()
}

// readRecord reads the record and compares it with the tree. The tree decides,
// because a record in the Git folder outlives a reset or a checkout.
func (p *patchedTree) readRecord() error {
	version, err := treeVersion(p.root)
	if err != nil {
		return err
	}
	var r patchRecord
	if text, err := os.ReadFile(p.recordFile); err == nil {
		err = json.Unmarshal(text, &r)
		for name, f := range r.Files {
			if name != filepath.Base(name) || f == nil {
				err = fmt.Errorf("it names the file %q, which is outside %s", name, p.dir)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.recordFile, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	another := r.OPA != "" && r.OPA != version
	patched := false
	var edited []string
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		f, now := r.Files[name], p.now[name]
		switch {
		case now == nil, same(now, f.Original):
		case slices.Contains(f.Wrote, hashOf(now)):
			patched = true
		default:
			edited = append(edited, filepath.Join(metricsDir, name))
			// A tool may have edited all files. A file that this OPA does not
			// have comes from the drop-in.
			patched = patched || f.Original == nil && !another
		}
	}
	p.record, p.original = patchRecord{version, map[string]*patchedFile{}}, maps.Clone(p.now)
	switch {
	case !patched && (another || len(edited) > 0):
		return nil // these are OPA's files, of another commit
	case another:
		return fmt.Errorf("%s holds the drop-in that was put into OPA %s, but this is OPA %s: restore the folder from your version control (git checkout and git clean), then run this again",
			p.dir, r.OPA, version)
	case len(edited) > 0:
		return fmt.Errorf("these files were edited after the drop-in was put in:\n  %s\nMove the edits away, then run this again. If they are OPA's own, of another commit, first remove the drop-in: git clean -f %s",
			strings.Join(edited, "\n  "), filepath.ToSlash(metricsDir))
	}
	for name, f := range r.Files {
		p.record.Files[name] = f
		if p.original[name] = f.Original; f.Original == nil {
			delete(p.original, name)
		}
	}
	return nil
}

// changes returns the changes that put the target's files into the folder.
func (p *patchedTree) changes(target map[string][]byte) (changes []Change) {
	r := difference(p.now, target)
	for _, name := range slices.Sorted(maps.Keys(r)) {
		action := "replace"
		switch {
		case r[name] == nil:
			action = "remove"
		case same(r[name], p.original[name]):
			action = "restore"
		case p.now[name] == nil:
			action = "add"
		}
		changes = append(changes, Change{filepath.Join(metricsDir, name), action})
	}
	return changes
}

// note records the change to the target's files before the change begins. So a
// patch that is cut short can be finished or reverted.
func (p *patchedTree) note(target map[string][]byte) error {
	for name, next := range difference(p.original, target) {
		f := p.record.Files[name]
		if f == nil {
			f = &patchedFile{Original: p.original[name]}
			if info, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
				f.Mode = info.Mode().Perm()
			}
			p.record.Files[name] = f
		}
		if next != nil && !slices.Contains(f.Wrote, hashOf(next)) {
			f.Wrote = append(f.Wrote, hashOf(next))
		}
	}
	text, _ := json.MarshalIndent(p.record, "", "  ") // strings and numbers
	return outfile.Write(p.recordFile, append(text, '\n'))
}

// write puts the target's files into the folder.
func (p *patchedTree) write(target map[string][]byte) error {
	err := errors.Join(outfile.RemoveTemps(p.dir), outfile.RemoveTemps(filepath.Dir(p.recordFile)), difference(p.now, target).apply(p.dir))
	if err != nil {
		return fmt.Errorf("%s is only partly changed: %w\nRun this again to finish, or `regometer patch --revert` to restore OPA's own files", p.dir, withHint(err))
	}
	return nil
}

// compileWith is the compiler of [Patch].
func compileWith(ctx context.Context, p *patchedTree, target map[string][]byte, args ...string) error {
	temp, err := os.MkdirTemp("", "regometer-")
	if err != nil {
		return withHint(err)
	}
	defer os.RemoveAll(temp)
	o := &overlay{temp, map[string]string{}}
	if err := errors.Join(o.add(p.dir, difference(p.now, target)), o.write()); err != nil {
		return withHint(err)
	}
	tags, err := buildTags(p.root)
	if err != nil {
		return err
	}
	// With -trimpath, trees in different folders share Go's build cache.
	args = slices.Concat(args[:1], []string{"-trimpath", "-overlay=" + o.file(), tags}, args[1:])
	return gotool.Command{Dir: p.root, Args: args, Env: []string{"CGO_ENABLED=0"}}.Run(ctx)
}

func hashOf(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// checkWritable returns an error if a folder is read-only, as in Go's module
// cache. Root could write there, but must not.
func checkWritable(dir string) error {
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o200 == 0 {
		return errors.Join(err, fmt.Errorf("%s is read-only, as in Go's module cache: use a copy or a checkout", dir))
	}
	return nil
}
