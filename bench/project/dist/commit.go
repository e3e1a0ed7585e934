// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A commit is what a release is made of.
type commit struct {
	hash  string
	time  time.Time // for all that needs one
	dirty bool      // there are changes beside it
}

func (c commit) String() string {
	if c.dirty {
		return "commit " + c.hash + " with changes"
	}
	return "commit " + c.hash
}

// findCommit returns the commit that the checkout at root is of. Unless any
// will do, it must have no changes, and the version, if it is tagged, must be
// its tag.
func findCommit(ctx context.Context, root, version string, any bool) (commit, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				err = fmt.Errorf("%w\n%s", err, exit.Stderr)
			}
			err = fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out)), err
	}
	head, err := git("log", "-1", "--format=%H %ct")
	if err != nil {
		return commit{}, err
	}
	hash, seconds, _ := strings.Cut(head, " ")
	status, err := git("status", "--porcelain")
	if err != nil {
		return commit{}, err
	}
	c := commit{hash: hash, dirty: status != ""}
	if c.dirty && !any {
		return commit{}, fmt.Errorf("the checkout has changes that no commit has: commit them, or try with -dirty (make dist DISTFLAGS=-dirty)\n%s", status)
	}
	tagged, err := git("tag", "--list", version, "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)")
	if err != nil {
		return commit{}, err
	}
	if tagged != "" && tagged != hash && !any {
		return commit{}, fmt.Errorf("the tag %s is at commit %s, this checkout at %s: git checkout %s, or choose another version", version, tagged, hash, version)
	}
	what := "the commit's time"
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		what, seconds = "SOURCE_DATE_EPOCH", epoch
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return commit{}, fmt.Errorf("%s: %w", what, err)
	}
	c.time = time.Unix(unix, 0).UTC()
	return c, nil
}
