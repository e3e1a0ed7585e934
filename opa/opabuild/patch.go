// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/outfile"
)

// A Change is what [Patch] or [Revert] does to one file.
type Change struct {
	Path   string // relative to the tree's root
	Action string // "add", "replace", "remove" or "restore"
}

// A PatchResult is what [Patch] or [Revert] did, or would do.
type PatchResult struct {
	Changes []Change // none if there is nothing to do
	Notes   []string // warnings, and what is left to do by hand
}

// Patch puts the drop-in into the OPA source tree in dir, as OPA's
// maintainers would commit it: it changes files in v1/metrics alone. If the
// tree holds the drop-in already, it does nothing; if it holds an earlier
// one, that is brought up to date. With dryRun it only says what it would do.
//
// What was there is recorded, for [Revert]: inside the Git folder of a
// checkout, so that it is not committed, else in .regometer-patch.json. A
// record that tells of nothing in the tree any more, as after `git reset` and
// `git clean`, is forgotten. Files of an earlier drop-in that were edited since
// are not overwritten: that is an error which names them.
func Patch(ctx context.Context, dir string, dryRun bool) (PatchResult, error) {
	d, err := loadFiles()
	if err != nil {
		return PatchResult{}, err
	}
	return patch(ctx, dir, dryRun, d)
}

func patch(ctx context.Context, dir string, dryRun bool, d dropIn) (PatchResult, error) {
	var result PatchResult
	p, err := openPatch(dir, dryRun)
	if err != nil {
		return result, err
	}
	warning, err := checkRange(p.version)
	if err != nil {
		return result, err
	}
	if warning != "" {
		result.Notes = append(result.Notes, warning)
	}
	target := map[string]string{"GOOS": runtime.GOOS, "GOARCH": runtime.GOARCH}
	if err := checkNeeds(ctx, "OPA in "+p.root, p.root, d, target); err != nil {
		return result, err
	}
	d, note, err := d.upstream(p.root, p.record.wrote)
	if err != nil {
		return result, err
	}
	if note != "" {
		result.Notes = append(result.Notes, note)
	}
	r, err := d.plan(p.dir, p.record.wrote)
	if err != nil {
		return result, err
	}
	// The plan is compared with what is there and noted, file by file, before
	// any of it is carried out.
	for _, name := range slices.Sorted(maps.Keys(r)) {
		now, err := p.state(name)
		if err != nil {
			return result, err
		}
		action := "replace"
		switch {
		case r[name] == nil:
			action = "remove"
		case now == nil:
			action = "add"
		}
		result.Changes = append(result.Changes, p.change(name, action))
		p.record.note(p.dir, name, now, r[name])
	}
	unused, err := unusedModules(p.root, r)
	if err != nil {
		return result, err
	}
	for _, m := range unused {
		result.Notes = append(result.Notes, "go.mod requires "+m+", which nothing imports any more: run `go mod tidy`")
	}
	if dryRun || len(r) == 0 {
		return result, nil
	}
	return result, withHint(p.put(r))
}

// put carries out what the record tells of.
func (p *patchedTree) put(r replacement) error {
	// The record is written before the first change, so that a patch cut
	// short can be finished or taken back.
	if err := p.save(); err != nil {
		return fmt.Errorf("nothing was changed, for want of a record to revert by: %w", err)
	}
	err := r.apply(p.dir)
	if err == nil {
		err = p.reconcileRecord()
	}
	if err == nil {
		err = p.save()
	}
	return p.unfinished("the patch", err)
}

// unfinished says what to do about a change of the tree that was cut short.
// Whatever it was, the record tells of it.
func (p *patchedTree) unfinished(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of %s is not finished: %w\nRun it again to finish it, or `regometer patch --revert` to have OPA's own files again", what, p.root, err)
}

// Revert takes the drop-in out of a tree that [Patch] changed: v1/metrics
// then holds the very bytes that it held before. Edits made since are not
// thrown away: they are an error which names the files. With dryRun it only
// says what it would do.
func Revert(dir string, dryRun bool) (PatchResult, error) {
	d, err := loadFiles()
	if err != nil {
		return PatchResult{}, err
	}
	return revert(dir, dryRun, d)
}

func revert(dir string, dryRun bool, d dropIn) (PatchResult, error) {
	var result PatchResult
	p, err := openPatch(dir, dryRun)
	if err != nil {
		return result, err
	}
	if len(p.record.Files) == 0 { // for all that it tells, the tree is not patched
		// It may be by a commit: then the drop-in has nothing to replace.
		if d, _, err = d.upstream(p.root, nil); err != nil {
			return result, err
		}
		if r, err := d.plan(p.dir, nil); err != nil || len(r) > 0 {
			return result, err
		}
		return result, fmt.Errorf("%s holds the drop-in, but %s, the record of what was there before, is missing: take it from your version control", p.dir, p.recordFile)
	}
	r := replacement{}
	for _, name := range slices.Sorted(maps.Keys(p.record.Files)) {
		now, err := p.state(name)
		if err != nil {
			return result, err
		}
		old := p.record.Files[name].Original
		switch {
		case same(now, old):
			continue
		case old == nil:
			result.Changes = append(result.Changes, p.change(name, "remove"))
		default:
			result.Changes = append(result.Changes, p.change(name, "restore"))
		}
		r[name] = old
	}
	if dryRun {
		return result, nil
	}
	err = r.apply(p.dir)
	for name, f := range p.record.Files {
		if err == nil && f.Original != nil {
			err = os.Chmod(filepath.Join(p.dir, name), f.Mode)
		}
	}
	if err == nil {
		err = os.Remove(p.recordFile)
	}
	return result, withHint(p.unfinished("the way back", err))
}

// A patchedTree is an OPA source tree with what is recorded of its patch.
type patchedTree struct {
	root, dir  string // the tree's root and its v1/metrics, without links
	version    string // OPA's
	recordFile string
	record     patchRecord
}

// openPatch reads the record of the tree in dir, if there is one that tells of
// what is in the tree, and makes sure that none of the files was edited since.
// But for a dry run, it removes what a killed process left.
func openPatch(dir string, dryRun bool) (*patchedTree, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := checkTree(root); err != nil {
		return nil, err
	}
	p := &patchedTree{root: root}
	if p.dir, err = metricsInside(root); err != nil {
		return nil, err
	}
	// Root may write to the module cache all the same, and must not.
	if info, err := os.Stat(p.dir); err != nil || info.Mode().Perm()&0o200 == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s is read-only, as in Go's module cache: patch a copy or a checkout", p.dir))
	}
	if p.version, err = treeVersion(root); err != nil {
		return nil, err
	}
	if p.recordFile, err = recordFile(root); err != nil {
		return nil, err
	}
	if err := p.readRecord(); err != nil {
		return nil, err
	}
	if err := p.checkRecord(); err != nil || dryRun {
		return p, err
	}
	return p, errors.Join(outfile.RemoveTemps(p.dir), outfile.RemoveTemps(filepath.Dir(p.recordFile)))
}

// metricsInside returns where v1/metrics of the tree in root is. It may be a
// link, but not one by which the patch would change what is outside of the
// tree.
func metricsInside(root string) (string, error) {
	inside, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(root, metricsDir))
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(inside, dir); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is in %s, outside of the tree: put the folder itself in the place of the link", filepath.Join(root, metricsDir), dir)
	}
	return dir, nil
}

func (p *patchedTree) readRecord() error {
	text, err := readRegular(p.recordFile)
	if err != nil {
		return err
	}
	if text != nil {
		if err := json.Unmarshal(text, &p.record); err != nil {
			return fmt.Errorf("%s: %w", p.recordFile, err)
		}
	}
	if p.record.Files == nil {
		p.record.Files = map[string]*patchedFile{}
	}
	for name, f := range p.record.Files {
		if name != filepath.Base(name) || f == nil {
			return fmt.Errorf("%s names the file %q, outside %s", p.recordFile, name, p.dir)
		}
	}
	return nil
}

// checkRecord holds the record against the tree, which decides: the record lies
// in the Git folder, where it outlives a reset and stays when another commit is
// checked out.
func (p *patchedTree) checkRecord() error {
	another := p.record.OPA != "" && p.record.OPA != p.version
	patched := false
	var edited []string
	for _, name := range slices.Sorted(maps.Keys(p.record.Files)) {
		now, err := p.state(name)
		if err != nil {
			return err
		}
		f := p.record.Files[name]
		switch {
		case same(now, f.Original), now == nil: // nothing is lost where there is nothing
		case slices.Contains(f.Wrote, hashOf(now)):
			patched = true
		default:
			edited = append(edited, filepath.Join(metricsDir, name))
			// All may be edited, by a tool for example: a file that this OPA
			// did not have is the drop-in's all the same.
			patched = patched || f.Original == nil && !another
		}
	}
	switch {
	case !patched && (another || len(edited) > 0):
		// Nothing of ours is here: these are OPA's files, of another commit.
		p.record = patchRecord{Files: map[string]*patchedFile{}}
	case another:
		return fmt.Errorf("%s holds the drop-in that was put into OPA %s, and this is OPA %s: bring that folder back by your version control (git checkout and git clean), then run this again",
			p.dir, p.record.OPA, p.version)
	case len(edited) > 0:
		return fmt.Errorf("edited since the drop-in was put in, and not touched:\n  %s\nMove the edits away, then run this again. If they are OPA's own, of another commit, remove the rest of the drop-in first: git clean -f %s",
			strings.Join(edited, "\n  "), filepath.ToSlash(metricsDir))
	}
	p.record.OPA = p.version
	return nil
}

// recordFile returns where the record of a tree's patch is kept: in its Git
// folder, if that is one. Nothing is written to any other folder that a file
// called .git happens to name.
func recordFile(root string) (string, error) {
	beside := filepath.Join(root, ".regometer-patch.json")
	git := filepath.Join(root, ".git")
	info, err := os.Stat(git)
	if errors.Is(err, fs.ErrNotExist) {
		return beside, nil
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() { // a worktree or submodule: the file names the folder
		text, err := os.ReadFile(git)
		if err != nil {
			return "", err
		}
		to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if !ok {
			return "", fmt.Errorf("%s is not a Git folder, nor does it name one", git)
		}
		if git = to; !filepath.IsAbs(git) {
			git = filepath.Join(root, git)
		}
	}
	if _, err := os.Stat(filepath.Join(git, "HEAD")); err != nil {
		return beside, nil //nolint:nilerr // then it is no Git folder
	}
	return filepath.Join(git, "regometer-patch.json"), nil
}

// A patchRecord is the content of the record file. Names are those of files
// in v1/metrics.
type patchRecord struct {
	OPA   string                  `json:"opa"` // the tree's version
	Files map[string]*patchedFile `json:"files"`
}

type patchedFile struct {
	Original []byte      `json:"original"` // null: there was no such file
	Mode     fs.FileMode `json:"mode,omitempty"`
	// Wrote has the SHA-256 of what Patch wrote: of one text, or of the old
	// and the new one while they are being exchanged. By it a file of ours is
	// known from one that was edited, whatever this program's drop-in is.
	Wrote []string `json:"wrote,omitempty"`
}

// note records that a file is going to change. Both are nil for no file. What
// was there before an earlier drop-in stays the original.
func (r *patchRecord) note(dir, name string, now, next []byte) {
	f := r.Files[name]
	if f == nil {
		f = &patchedFile{Original: now}
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			f.Mode = info.Mode().Perm()
		}
		r.Files[name] = f
	}
	if next != nil {
		f.Wrote = append(f.Wrote, hashOf(next))
	}
}

// wrote reports whether Patch wrote this text into the file of that name.
func (r *patchRecord) wrote(name string, text []byte) bool {
	f := r.Files[name]
	return f != nil && slices.Contains(f.Wrote, hashOf(text))
}

// reconcileRecord brings the record in line with the finished patch: files that
// are as they were, since an earlier drop-in's left, need none.
func (p *patchedTree) reconcileRecord() error {
	for name, f := range p.record.Files {
		now, err := p.state(name)
		switch {
		case err != nil:
			return err
		case same(now, f.Original):
			delete(p.record.Files, name)
		case now == nil:
			f.Wrote = nil
		default:
			f.Wrote = []string{hashOf(now)}
		}
	}
	return nil
}

func (p *patchedTree) save() error {
	text, err := json.MarshalIndent(p.record, "", "  ")
	if err != nil {
		return err
	}
	return outfile.Write(p.recordFile, append(text, '\n'))
}

// state returns the content of a file in v1/metrics, nil if there is none.
func (p *patchedTree) state(name string) ([]byte, error) {
	return readRegular(filepath.Join(p.dir, name))
}

// readRegular returns the content of a file, nil if there is none. Of a link, a
// record could not bring back the same.
func readRegular(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s, where a file is expected", file, outfile.Kind(info.Mode()))
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

func (p *patchedTree) change(name, action string) Change {
	return Change{Path: filepath.Join(metricsDir, name), Action: action}
}

// same compares contents; nil, no file, differs from an empty file.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func hashOf(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// unusedModules returns the modules that go.mod requires for files that the
// replacement takes away, and for nothing else. It is for the user to remove
// them: `go mod tidy` needs a network, and the patch changes v1/metrics alone.
func unusedModules(root string, r replacement) ([]string, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	imports := func(file string) []string {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return nil
		}
		var paths []string
		for _, i := range f.Imports {
			if p, err := strconv.Unquote(i.Path.Value); err == nil {
				paths = append(paths, p)
			}
		}
		return paths
	}
	var gone []string // imported by files that go away, and a module
	for name := range r {
		for _, p := range imports(filepath.Join(root, metricsDir, name)) {
			// By its line in go.mod; a package below a module's root is not
			// found, and then nothing is said.
			if bytes.Contains(mod, []byte(p+" v")) && !slices.Contains(gone, p) {
				gone = append(gone, p)
			}
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	err = walk(context.Background(), root, func(e entry) error {
		if !strings.HasSuffix(e.rel, ".go") || e.mode.IsDir() {
			return nil
		}
		if _, changes := r[filepath.Base(e.rel)]; changes && filepath.Dir(e.rel) == metricsDir {
			return nil
		}
		for _, p := range imports(e.path) {
			gone = slices.DeleteFunc(gone, func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") })
		}
		return nil
	})
	slices.Sort(gone)
	return gone, err
}
