// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
)

// opaModule is OPA's module path. The drop-in replaces the package metrics.
const (
	opaModule   = "github.com/open-policy-agent/opa"
	metricsDir  = "v1/metrics"
	metricsPath = opaModule + "/" + metricsDir
)

// dropInFile is a file of the drop-in that OPA's own package lacks. A binary
// names the files of its functions. This program must not contain the name.
var dropInFile = path.Join("/", metricsDir, "collection.go")

// A source is an OPA source tree.
type source struct {
	name    string // for messages
	version string // to download, or ""
	dir     string // its folder, which nothing writes to; "" if it is not downloaded yet
	content string // identifies the content, for keys in the cache
}

// IsFolder reports whether the name of an OPA is that of a folder: it has a
// path separator, begins with a dot, or a folder with this name exists here.
// Otherwise the name is a version.
func IsFolder(opa string) bool {
	info, err := os.Stat(opa)
	return strings.ContainsAny(opa, `/\`) || strings.HasPrefix(opa, ".") || err == nil && info.IsDir()
}

// findSource finds an OPA.
func findSource(ctx context.Context, opa string) (source, error) {
	if opa == "" {
		opa = NewestVersion
	}
	if IsFolder(opa) {
		return folderSource(ctx, opa)
	}
	if opa[0] >= '0' && opa[0] <= '9' {
		opa = "v" + opa
	}
	// This needs no network if the module is in Go's cache.
	if exactVersion.MatchString(opa) {
		_, err := checkRange(opa)
		return source{name: "OPA " + opa, version: opa, content: "module " + opa}, err
	}
	// Ask for the current version of "latest", a branch or a commit.
	m, err := downloadOPA(ctx, opa)
	return source{name: "OPA " + m.Version, version: m.Version, content: "module " + m.Version}, err
}

// folderSource returns the source in a user's folder.
func folderSource(ctx context.Context, dir string) (source, error) {
	if err := checkTree(dir); err != nil {
		return source{}, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return source{}, err
	}
	hash, err := hashTree(ctx, dir)
	return source{name: "OPA in " + dir, dir: dir, content: "folder " + hash}, err
}

// fetch downloads the source if necessary, checks it, and returns its version
// and a warning if the drop-in is not tested with this version.
func (s *source) fetch(ctx context.Context) (version, warning string, err error) {
	if s.dir == "" {
		m, err := downloadOPA(ctx, s.version)
		if err == nil {
			s.dir, err = m.Dir, checkTree(m.Dir)
		}
		if err != nil {
			return "", "", err
		}
	}
	if version, err = treeVersion(s.dir); err != nil {
		return "", "", err
	}
	warning, err = checkRange(version)
	return version, warning, err
}

// write writes a copy of the source, or what a build reads of a release, with a
// change to a new folder.
func (s source) write(ctx context.Context, to string, change replacement, whole bool, p progress) error {
	p.printf("copying %s", s.name)
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	if err := copyTree(ctx, to, s.dir, whole || s.version == ""); err != nil {
		return fmt.Errorf("copying %s: %w", s.name, err)
	}
	if s.version == "" { // a key in the cache must identify one content
		hash, err := hashTree(ctx, to)
		if err == nil && s.content != "folder "+hash {
			err = fmt.Errorf("%s changed while it was copied: run this again", s.dir)
		}
		if err != nil {
			return err
		}
	}
	return change.apply(to)
}

// A module is the output of `go mod download -json`.
type module struct{ Version, Dir, Error string }

// downloadOPA downloads a release of OPA.
func downloadOPA(ctx context.Context, version string) (module, error) {
	m, err := download(ctx, "OPA", opaModule, version)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nOr name a folder that holds OPA's source: --opa DIR", err)
	}
	return m, err
}

// download downloads a module. what names it in messages.
func download(ctx context.Context, what, path, version string) (module, error) {
	var m module
	// No go.mod is near: the user's must have no effect and must not change.
	dir, err := os.MkdirTemp("", "regometer-")
	if err != nil {
		return m, withHint(err)
	}
	defer os.RemoveAll(dir)
	out, err := gotool.Command{Dir: dir, Args: []string{"mod", "download", "-json", path + "@" + version}}.Output(ctx)
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil {
		return m, errors.Join(err, fmt.Errorf("go mod download printed no JSON: %w", jsonErr))
	}
	if m.Error != "" {
		return m, withHint(fmt.Errorf("cannot get %s %s: %s", what, version, m.Error))
	}
	return m, err
}

// checkTree returns an error unless dir is the root of an OPA source tree.
func checkTree(dir string) error {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return fmt.Errorf("%s is not the root of an OPA source tree: %w", dir, err)
	}
	if modfile.ModulePath(mod) != opaModule {
		return fmt.Errorf("%s is not the root of an OPA source tree: its go.mod is not of the module %s", dir, opaModule)
	}
	if _, err := os.Stat(filepath.Join(dir, metricsDir)); err != nil {
		return fmt.Errorf("this OPA has no package %s, which the drop-in replaces: use OPA %s or later (%w)", metricsDir, OldestVersion, err)
	}
	return nil
}

// checkOriginal returns an error if OPA's source has the drop-in already. A
// verification would compare the drop-in with itself.
func checkOriginal(dir string) error {
	_, err := os.Stat(filepath.Join(dir, dropInFile))
	if err == nil {
		err = fmt.Errorf("%s has the drop-in already: use go test, or name OPA's own source", dir)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// An entry is a file or folder of a source tree.
type entry struct {
	rel  string      // its path, relative to the tree's root
	path string      // the path of its content
	mode fs.FileMode // a link to a file has the mode of that file
}

// walk calls f for each file and folder of a source tree, in order.
//
// Builds and tests write to a copy, so it must not lead back to the original. A
// link to a file therefore counts as a file with that content. walk ignores
// links to folders, which may lead anywhere or in a circle, and links that lead
// nowhere, such as those that editors leave.
func walk(ctx context.Context, dir string, f func(entry) error) error {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if path == root && d.IsDir() {
			return nil
		}
		if d.Name() == ".git" || d.Name() == "node_modules" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		isLink := d.Type()&fs.ModeSymlink != 0
		info, err := os.Stat(path)
		if err != nil {
			if isLink {
				return nil
			}
			return err
		}
		if info.IsDir() && isLink || !info.IsDir() && !info.Mode().IsRegular() {
			return nil // a link to a folder, a socket, a device
		}
		return f(entry{rel, path, info.Mode()})
	})
}

// hashTree returns a hash of a source tree.
func hashTree(ctx context.Context, dir string) (string, error) {
	h := sha256.New()
	err := walk(ctx, dir, func(e entry) error {
		if e.mode.IsDir() {
			return nil
		}
		file := sha256.New()
		in, err := os.Open(e.path)
		if err != nil {
			return err
		}
		defer in.Close()
		if _, err := io.Copy(file, in); err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %t %x\n", e.rel, e.mode&0o100 != 0, file.Sum(nil))
		return nil
	})
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// copyTree copies a source tree into the folder to, and makes all of it
// writable. If whole is false, it leaves out the folders that no build reads,
// which have three of four files of OPA.
func copyTree(ctx context.Context, to, from string, whole bool) error {
	return walk(ctx, from, func(e entry) error {
		if !whole && e.mode.IsDir() && (e.rel == "docs" || filepath.Base(e.rel) == "testdata") {
			return fs.SkipDir
		}
		dst := filepath.Join(to, e.rel)
		if e.mode.IsDir() {
			return os.Mkdir(dst, 0o755)
		}
		text, err := os.ReadFile(e.path)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, text, e.mode.Perm()|0o600)
	})
}

// commit returns the tag of a release, or the commit of a git checkout, with a
// mark if the tree differs from it. It is empty if the source is neither, or git
// is missing. OPA shows it in `opa version`. Go cannot record it itself, because it
// builds a copy without the Git folder.
func (s source) commit(ctx context.Context, changed bool) string {
	revision := s.version
	if _, err := os.Lstat(filepath.Join(s.dir, ".git")); s.version == "" && err == nil {
		git := func(args ...string) string {
			cmd := exec.CommandContext(ctx, "git", append([]string{"-C", s.dir}, args...)...)
			cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
			out, _ := cmd.Output() // empty if git fails
			return string(bytes.TrimSpace(out))
		}
		revision = git("rev-parse", "--verify", "--quiet", "HEAD")
		changed = changed || git("status", "--porcelain") != ""
	}
	if changed && revision != "" {
		revision += "-dirty"
	}
	return revision
}

// withHint adds a remedy to an error of the file system, if it knows one.
func withHint(err error) error {
	if err == nil {
		return nil
	}
	if h := gotool.Hint(err.Error()); h != "" && !strings.Contains(err.Error(), h) {
		return fmt.Errorf("%w\n%s", err, h)
	}
	return err
}

// progress writes lines with the time since start.
type progress struct {
	w     io.Writer
	start time.Time
}

func (p progress) printf(format string, args ...any) {
	if p.w != nil {
		fmt.Fprintf(p.w, "[%5.1fs] %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
	}
}
