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
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/regometer/regometer/internal/app/gotool"
)

// opaModule is OPA's module path, and metricsDir where the package is that
// the drop-in replaces.
const opaModule = "github.com/open-policy-agent/opa"

const (
	metricsPath = opaModule + "/v1/metrics"
	metricsDir  = "v1" + string(filepath.Separator) + "metrics"
)

// A source is an OPA source tree, not necessarily here yet.
type source struct {
	name    string // for messages
	version string // to download, or ""
	dir     string // a user's folder, or ""; never written to
	content string // identifies the content, for the key in the cache
}

// findSource tells a folder from a version: what has a path separator, starts
// with a dot or is the name of a folder here is a folder.
func findSource(ctx context.Context, opa string) (source, error) {
	if opa == "" {
		opa = NewestVersion
	}
	if info, err := os.Stat(opa); strings.ContainsAny(opa, `/\`) || opa[0] == '.' || err == nil && info.IsDir() {
		if err == nil && !info.IsDir() {
			return source{}, fmt.Errorf("%s is not a folder", opa)
		}
		if err != nil {
			return source{}, fmt.Errorf("no folder with OPA's source: %w", err)
		}
		return folderSource(ctx, opa)
	}
	if opa[0] >= '0' && opa[0] <= '9' {
		opa = "v" + opa
	}
	// This needs no network if the module is in Go's cache.
	if exactVersion.MatchString(opa) {
		if _, err := checkRange(opa); err != nil {
			return source{}, err
		}
		return source{name: "OPA " + opa, version: opa, content: "module " + opa}, nil
	}
	// "latest", a branch or a commit: ask for what it stands for now.
	m, err := downloadOPA(ctx, opa)
	if err != nil {
		return source{}, err
	}
	return source{name: "OPA " + m.Version, version: m.Version, content: "module " + m.Version}, nil
}

func folderSource(ctx context.Context, dir string) (source, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return source{}, err
	}
	if err := checkTree(dir); err != nil {
		return source{}, err
	}
	hash, err := hashTree(ctx, dir)
	if err != nil {
		return source{}, err
	}
	return source{name: "OPA in " + dir, dir: dir, content: "folder " + hash}, nil
}

// checkCopy returns an error if the user's folder changed after its content
// was identified: the copy must not be taken for that content.
func (s source) checkCopy(ctx context.Context, copied string) error {
	if s.dir == "" {
		return nil // the module cache does not change
	}
	hash, err := hashTree(ctx, copied)
	if err == nil && s.content != "folder "+hash {
		err = fmt.Errorf("%s changed while it was copied: run this again", s.dir)
	}
	return err
}

// copyWith copies the tree that is in the folder from, with a drop-in in it,
// nil for none, to the folder dir, which does not exist yet.
func (s source) copyWith(ctx context.Context, d dropIn, dir, from string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := copyTree(ctx, dir, from); err != nil {
		return fmt.Errorf("copying %s: %w", s.name, err)
	}
	if err := s.checkCopy(ctx, dir); err != nil || d == nil {
		return err
	}
	now, err := goFiles(filepath.Join(dir, metricsDir))
	if err != nil {
		return err
	}
	return difference(now, d.replace(now)).apply(filepath.Join(dir, metricsDir))
}

// local returns the folder that holds the tree, downloading it if need be.
func (s source) local(ctx context.Context) (string, error) {
	if s.dir != "" {
		return s.dir, nil
	}
	m, err := downloadOPA(ctx, s.version)
	if err != nil {
		return "", err
	}
	return m.Dir, checkTree(m.Dir)
}

// A module is what `go mod download -json` prints.
type module struct{ Version, Dir, Error string }

// downloadOPA gets a release of OPA. Who named a folder does not come here, and
// need not be told to.
func downloadOPA(ctx context.Context, version string) (module, error) {
	m, err := download(ctx, "OPA", opaModule, version)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nOr name a folder that holds OPA's source: --opa DIR", err)
	}
	return m, err
}

// download gets a module, called what in messages.
func download(ctx context.Context, what, path, version string) (module, error) {
	var m module
	// Away from any go.mod: the user's own must neither matter nor change.
	dir, err := os.MkdirTemp("", "regometer-")
	if err != nil {
		return m, withHint(err)
	}
	defer os.RemoveAll(dir)
	out, err := gotool.Command{Dir: dir, Args: []string{"mod", "download", "-json", path + "@" + version}}.Output(ctx)
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil {
		return m, errors.Join(err, fmt.Errorf("go mod download printed something else than JSON: %w", jsonErr))
	}
	if m.Error != "" {
		text := fmt.Sprintf("cannot get %s %s: %s", what, version, m.Error)
		if h := gotool.Hint(m.Error); h != "" {
			text += "\n" + h
		}
		return m, errors.New(text)
	}
	return m, err
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

// localReplace matches a replacement of a module by a folder outside the
// tree.
var localReplace = regexp.MustCompile(`(?m)^[ \t]*(?:replace[ \t]+)?[^\s/]\S*(?:[ \t]+v\S+)?[ \t]+=>[ \t]*"?(\.\.(?:[/\\]\S*)?|/\S*|[A-Za-z]:\\\S*)`)

// checkTree returns an error unless dir is the root of an OPA source tree
// that can be copied and built elsewhere.
func checkTree(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not the root of an OPA source tree: it has no go.mod", dir)
	}
	if err != nil {
		return err
	}
	if m := moduleLine.FindSubmatch(mod); m == nil || string(m[1]) != opaModule {
		return fmt.Errorf("%s is not the root of an OPA source tree: its go.mod is not that of module %s", dir, opaModule)
	}
	if info, err := os.Stat(filepath.Join(dir, metricsDir)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s has no folder %s: the drop-in replaces that package, which OPA has since %s", dir, metricsDir, OldestVersion)
	}
	return nil
}

// checkCopyable returns an error if a copy of the tree would not build for
// want of what is outside it.
func checkCopyable(dir string) error {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	if m := localReplace.FindSubmatch(mod); m != nil {
		return fmt.Errorf("%s replaces a module by the folder %s, outside the tree: the build works on a copy and does not find it. Move it into the tree, or replace by a version",
			filepath.Join(dir, "go.mod"), m[1])
	}
	return nil
}

// skipped reports whether a folder is no part of the source.
func skipped(name string) bool { return name == ".git" || name == "node_modules" }

// An entry is a file or folder of a source tree.
type entry struct {
	rel  string      // its path, relative to the tree's root
	path string      // where its content is: links are followed
	mode fs.FileMode // of what a link leads to
	link string      // where a link to a folder leads to, relative to the root; "" for no link
}

// walk calls f for all that a source tree consists of, in order.
//
// A copy must not lead back to what it was copied from, since it is written to.
// So a link to a file counts as a file with that content, wherever it is. One
// to a folder is not followed, which also keeps it from going round in circles.
// One that leads nowhere, as editors leave them, is nothing.
func walk(ctx context.Context, dir string, f func(entry) error) error {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if path == root {
			return nil
		}
		if skipped(d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		e := entry{path: path}
		if e.rel, err = filepath.Rel(root, path); err != nil {
			return err
		}
		info, err := os.Stat(path)
		isLink := d.Type()&fs.ModeSymlink != 0
		if err != nil {
			if isLink && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP)) {
				return nil
			}
			return err
		}
		if e.mode = info.Mode(); isLink && e.mode.IsDir() {
			to, err := filepath.EvalSymlinks(path)
			if err != nil {
				return err
			}
			if e.link, err = filepath.Rel(root, to); err != nil {
				e.link = to // on another drive
			}
		}
		if !e.mode.IsDir() && !e.mode.IsRegular() {
			return nil // a socket, a device
		}
		return f(e)
	})
}

// checkLink refuses a link to a folder outside of the tree, which a copy of the
// tree would lead to as well. What is there is not copied: it may be anything,
// of any size.
func (e entry) checkLink() error {
	if e.link == "" || filepath.IsLocal(e.link) {
		return nil
	}
	return fmt.Errorf("%s is a link to the folder %s, outside of the tree, which alone is copied and built: put the folder itself in its place, or remove the link", e.path, e.link)
}

func hashTree(ctx context.Context, dir string) (string, error) {
	h := sha256.New()
	err := walk(ctx, dir, func(e entry) error {
		switch {
		case e.link != "":
			fmt.Fprintf(h, "%q -> %q\n", e.rel, e.link)
			return e.checkLink()
		case e.mode.IsDir():
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
	return hex.EncodeToString(h.Sum(nil)), err
}

// copyTree copies a source tree into the folder to, all of it writable.
func copyTree(ctx context.Context, to, from string) error {
	return walk(ctx, from, func(e entry) error {
		dst := filepath.Join(to, e.rel)
		switch {
		case e.link != "":
			if err := e.checkLink(); err != nil {
				return err
			}
			target, err := filepath.Rel(filepath.Dir(dst), filepath.Join(to, e.link))
			if err != nil {
				return err
			}
			return os.Symlink(target, dst)
		case e.mode.IsDir():
			return os.Mkdir(dst, 0o755)
		}
		in, err := os.Open(e.path)
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, e.mode.Perm()|0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, out.Close())
	})
}

// SourceOf returns the version of the OPA that [Build] would build, without the
// "v", and what its source is in its repository: the tag of a release, the
// commit of a checkout, marked if files differ from it, or "" for a folder that
// is no checkout.
func SourceOf(ctx context.Context, o Options) (version, revision string, err error) {
	s, err := findSource(ctx, o.opa())
	if err != nil || s.dir == "" {
		return strings.TrimPrefix(s.version, "v"), s.version, err
	}
	revision, _ = commit(ctx, s.dir, false)
	version, err = treeVersion(s.dir)
	return version, revision, err
}

// commit returns what Go would record of a git checkout, for `opa version`:
// the commit, marked if the tree differs from it, and its time. Both are
// empty if dir is not a checkout's root or git is missing. Go cannot record
// them itself: what it builds is a copy, without the Git folder.
func commit(ctx context.Context, dir string, changed bool) (revision, timestamp string) {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return "", ""
	}
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "TZ=UTC", "GIT_OPTIONAL_LOCKS=0")
		out, err := cmd.Output()
		return string(bytes.TrimSpace(out)), err
	}
	head, err := git("show", "--no-patch", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%H %cd", "HEAD")
	if err != nil {
		return "", ""
	}
	revision, timestamp, _ = strings.Cut(head, " ")
	if status, err := git("status", "--porcelain"); changed || err != nil || status != "" {
		revision += "-dirty"
	}
	return revision, timestamp
}
