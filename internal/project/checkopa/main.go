// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Checkopa tells whether OPA has a release that is newer than what Regometer
// supports, and what it needs. CONTRIBUTING.md says what to do then.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/mod/semver"

	"github.com/regometer/regometer/opa/opabuild"
)

const usage = `Usage, in the repository's root: go run ./internal/project/checkopa [OPA]

Looks at OPA's newest release, or at this version or folder with OPA's source,
without building it: at what it needs of v1/metrics that the drop-in lacks, at
what is new there, at the place of the decision hook, and at what the series for
OPA replaces. The exit status is 0 if nothing is to be done, 1 if something is,
and 2 if it could not be found out.
`

// Exit statuses beside 0.
const (
	exitToDo    = 1
	exitFailure = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	if len(args) > 1 || len(args) == 1 && strings.HasPrefix(args[0], "-") {
		fmt.Fprint(stderr, usage)
		return exitFailure
	}
	opa := ""
	if len(args) == 1 {
		opa = args[0]
	}
	done, err := check(ctx, opa, stdout)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "checkopa:", err)
		return exitFailure
	case !done:
		return exitToDo
	}
	return 0
}

// check prints what is to be done for an OPA, or for the newest release, and
// reports whether that is nothing.
func check(ctx context.Context, opa string, stdout io.Writer) (done bool, err error) {
	if opa == "" {
		if opa, err = opabuild.NewestRelease(ctx); err != nil {
			return false, err
		}
		if isKnown(opa) {
			fmt.Fprintf(stdout, "nothing newer: OPA's newest release is %s\n", opa)
			return true, nil
		}
		fmt.Fprintf(stdout, "OPA's newest release is %s\n", opa)
	}
	r, err := opabuild.ReviewOPA(ctx, opa)
	if err != nil {
		return false, err
	}
	text, done := verdict(r)
	_, err = io.WriteString(stdout, text)
	return done, err
}

// isKnown reports whether a release is none that is newer than those that are
// named as supported, and as that of the series for OPA.
func isKnown(release string) bool {
	return semver.Compare(release, opabuild.NewestVersion) <= 0 || semver.Compare(release, opabuild.UpstreamVersion) <= 0
}

// verdict returns what to print of an OPA, and whether nothing is to be done.
func verdict(r *opabuild.Review) (text string, done bool) {
	const supported = "supported are " + opabuild.OldestVersion + " to " + opabuild.NewestRange
	if r.Known && len(r.Findings) == 0 {
		return fmt.Sprintf("OPA %s fits: %s\n", r.OPA, supported), true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "OPA %s needs work: %s\n", r.OPA, supported)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	if len(r.Findings) == 0 {
		b.WriteString("- only what a build and the tests show\n")
	}
	b.WriteString("CONTRIBUTING.md tells what to do: \"Support the next OPA\".\n")
	return b.String(), false
}
