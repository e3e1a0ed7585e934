// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/outfile"
)

// A StepPatch is a step as git hands it on.
type StepPatch struct {
	Step Step
	File string // what `git am` takes
	// Added and Deleted are lines as `git diff --numstat` counts them, without
	// those of tests.
	Added, Deleted int
}

// WritePatches writes steps as `git format-patch` does into the folder dir, in
// the place of the patches that are there. tree is the source of OPA that they
// are for, which is only read. `git am` puts them into a checkout of that OPA;
// for the line Signed-off-by, which OPA asks for, `git am --signoff` takes the
// name of who sends them.
//
// The author is the one that git is told of here; if there is none, a line on
// progress says so, and the patches name a placeholder. All else depends on
// tree and steps alone.
func WritePatches(ctx context.Context, tree, dir string, steps []Step, progress io.Writer) ([]StepPatch, error) {
	if err := checkTree(tree); err != nil {
		return nil, err
	}
	states, err := applied(os.DirFS(tree), steps)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "regometer-")
	if err != nil {
		return nil, withHint(err)
	}
	defer os.RemoveAll(temp)
	g, err := newPatchRepository(ctx, temp, progress)
	if err != nil {
		return nil, err
	}
	// Of OPA, what the steps change.
	before := replacement{}
	for _, s := range steps {
		for _, name := range s.Paths() {
			text, err := fs.ReadFile(os.DirFS(tree), name)
			if err == nil {
				before[name] = text
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	if err := g.commit(ctx, before, "OPA", "--allow-empty"); err != nil {
		return nil, err
	}
	var patches []StepPatch
	for i, s := range steps {
		p := StepPatch{Step: s}
		if err = g.commit(ctx, states[i], strings.TrimSpace(s.Title+"\n\n"+s.Body)+"\n"); err == nil {
			p.Added, p.Deleted, err = g.lines(ctx)
		}
		if err != nil {
			return nil, s.errorf("%w", err)
		}
		patches = append(patches, p)
	}
	files, err := g.patches(ctx, len(steps))
	if err != nil {
		return nil, err
	}
	if err := removePatches(dir); err != nil {
		return nil, withHint(err)
	}
	for i, file := range files {
		patches[i].File = filepath.Join(dir, filepath.Base(file))
		if err := outfile.Copy(patches[i].File, file, 0o644); err != nil {
			return nil, withHint(err)
		}
	}
	return patches, nil
}

var patchFile = regexp.MustCompile(`^\d{4}-.*\.patch$`)

// removePatches makes the folder, if need be, and removes the patches in it:
// those of an earlier series might be sent with the new ones.
func removePatches(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if patchFile.MatchString(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// A patchRepository is a git repository that lives as long as it takes to write
// patches.
type patchRepository struct {
	dir, out string // its folder, and the one for the patches
	env      []string
}

// patchDate is when all commits were made, for all that the patches tell: they
// depend on what they change alone.
const patchDate = "2026-01-01T00:00:00Z"

func newPatchRepository(ctx context.Context, temp string, progress io.Writer) (*patchRepository, error) {
	g := &patchRepository{dir: filepath.Join(temp, "opa"), out: filepath.Join(temp, "out")}
	name, email, err := author(ctx)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name, email = "Your Name", "you@example.com"
		if progress != nil {
			fmt.Fprintf(progress, "warning: git knows no user.name and user.email here: the author of the patches is %s <%s>\n", name, email)
		}
	}
	// The user's settings and attributes would change what the patches look
	// like.
	g.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	g.env = append(g.env, "HOME="+temp, "XDG_CONFIG_HOME="+temp, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+email, "GIT_AUTHOR_DATE="+patchDate,
		"GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+email, "GIT_COMMITTER_DATE="+patchDate)
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, withHint(err)
	}
	_, err = g.git(ctx, "", "init", "--quiet", "--template=")
	return g, err
}

var identity = regexp.MustCompile(`^(.+) <(.+)> \d+ [+-]\d+\n$`)

// author returns who git takes for the author of a commit that is made here;
// name is "" if nobody told it.
func author(ctx context.Context) (name, email string, err error) {
	out, err := exec.CommandContext(ctx, "git", "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT").Output()
	var exit *exec.ExitError
	if m := identity.FindSubmatch(out); err == nil && m != nil {
		return string(m[1]), string(m[2]), nil
	}
	if err != nil && !errors.As(err, &exit) {
		return "", "", fmt.Errorf("patches are written by git: %w", err)
	}
	return "", "", ctx.Err()
}

// git runs a git command and returns what it prints.
func (g *patchRepository) git(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = g.dir, g.env, strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, bytes.TrimSpace(append(stdout.Bytes(), stderr.Bytes()...)))
	}
	return stdout.String(), nil
}

// commit commits files as they are to be.
func (g *patchRepository) commit(ctx context.Context, files replacement, message string, flags ...string) error {
	for name := range files {
		if err := os.MkdirAll(filepath.Join(g.dir, path.Dir(name)), 0o755); err != nil {
			return withHint(err)
		}
	}
	if err := files.apply(g.dir); err != nil {
		return withHint(err)
	}
	if _, err := g.git(ctx, "", "add", "--all"); err != nil {
		return err
	}
	_, err := g.git(ctx, message, append([]string{"commit", "--quiet", "--cleanup=verbatim", "--file=-"}, flags...)...)
	return err
}

// lines returns how many lines the last commit adds and deletes, tests apart.
func (g *patchRepository) lines(ctx context.Context) (added, deleted int, err error) {
	out, err := g.git(ctx, "", "show", "--numstat", "--format=")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(out) {
		var a, d int
		var name string
		if _, err := fmt.Sscan(line, &a, &d, &name); err != nil {
			return 0, 0, fmt.Errorf("git show printed %q: %w", line, err)
		}
		if !isTest(name) {
			added, deleted = added+a, deleted+d
		}
	}
	return added, deleted, nil
}

// patches writes the last n commits, and returns the files.
func (g *patchRepository) patches(ctx context.Context, n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	// Neither git's version nor the names of commits that nobody has are of
	// interest.
	out, err := g.git(ctx, "", "format-patch", "--no-signature", "--zero-commit", "--full-index",
		"--output-directory="+g.out, "-"+strconv.Itoa(n))
	files := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if err == nil && len(files) != n {
		err = fmt.Errorf("git format-patch wrote %q for %d commits", files, n)
	}
	return files, err
}
