// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Mutants runs Gremlins (https://github.com/go-gremlins/gremlins) on packages
// of this repository. Gremlins changes the code in one place after another. A
// change that the tests do not notice has survived. CONTRIBUTING.md says when
// to use it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/bench/project"
	"github.com/regometer/regometer/internal/app/procgroup"
)

const usage = `Usage, in the repository's root: go run ./bench/project/mutants GREMLINS PACKAGE...

Mutates the packages in these folders. GREMLINS is the path and the version of
Gremlins, such as github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0. The
command prints the mutants that survived, and a score for each package: the share
of the mutants that the tests noticed, among those that ran. The exit status is 1
if a score is too low. After Ctrl-C it prints the results so far.
`

// explanations lists the survivors that need no test, with the reasons.
const explanations = "bench/project/mutants/explained.txt"

const (
	least    = 85 // the least score, in percent
	patience = 4  // limits the time of a mutant's tests, as a multiple of their usual time
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	measure.Main("mutants", func(ctx context.Context) error { return mutate(ctx, os.Args[1], os.Args[2:]) })
}

func mutate(ctx context.Context, tool string, packages []string) error {
	known, err := os.ReadFile(explanations)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "regometer-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// `go run` would apply the tests' GOFLAGS to itself.
	if _, err := measure.Run(ctx, os.Stderr, ".", []string{"GOBIN=" + dir}, "go", "install", tool); err != nil {
		return err
	}
	var failed error
	results := ""
	for _, pkg := range packages {
		output, err := gremlins(ctx, dir, pkg)
		result, low := rate(pkg, output, string(known))
		results += result
		failed = errors.Join(failed, err, low)
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Print(results)
	return failed
}

// testedBy names the packages whose tests are those of a package without tests.
var testedBy = map[string]string{"internal/grid": "exphist", "internal/stages": "rollup"}

// gremlins mutates the package in a folder, and returns the output of Gremlins,
// which is installed in the folder dir. It ends everything that Gremlins
// started.
func gremlins(ctx context.Context, dir, pkg string) (string, error) {
	// Without -E / Gremlins would also mutate the packages below this one.
	args := []string{"unleash", "-E", "/", "--workers", strconv.Itoa(runtime.GOMAXPROCS(0)), "--timeout-coefficient", strconv.Itoa(patience),
		"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl", "--remove-self-assignments"}
	// vet's complaints would count as failed tests. A first run from the cache
	// would make all others seem to hang.
	const goFlags = "-count=1 -short -vet=off"
	tested := cmp.Or(testedBy[pkg], pkg)
	if tested != pkg {
		args = append(args, "--integration", "--coverpkg", "./"+pkg)
	}
	root := filepath.Join(dir, filepath.Base(pkg)+"-alone")
	if err := copyTested(ctx, root, tested); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "gremlins"), args...)
	var output bytes.Buffer
	cmd.Dir, cmd.Env = filepath.Join(root, pkg), append(os.Environ(), "TMPDIR="+dir, "GOWORK=off", "GOFLAGS="+goFlags)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &output), os.Stderr
	cmd.WaitDelay = time.Second
	procgroup.Set(cmd)
	// An interrupted Gremlins leaves its copies, and a second signal makes it
	// panic.
	cmd.Cancel = func() error { procgroup.Kill(cmd); return nil }
	err := cmd.Run()
	procgroup.Kill(cmd)
	return output.String(), err
}

// copyTested copies the repository to the folder to, and removes the tests of
// other packages from the copy. Gremlins copies one module of it again, which
// must find the root module in the first copy.
func copyTested(ctx context.Context, to, tested string) error {
	if err := project.Copy(ctx, ".", to); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(to, tested, "go.mod")); err == nil {
		edit := "-replace=" + measure.RootModule + "=" + to
		if _, err := measure.Command(ctx, filepath.Join(to, tested), "go", "mod", "edit", edit); err != nil {
			return err
		}
	}
	return filepath.WalkDir(to, func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, "_test.go") && filepath.Dir(name) != filepath.Join(to, tested) {
			return os.Remove(name)
		}
		return err
	})
}

var mutant = regexp.MustCompile(`(?m)^ *(KILLED|LIVED|TIMED OUT|NOT COVERED) (\w+) at (.+):(\d+):\d+$`)

// rate returns a package's score and its unexplained survivors, from the output
// of Gremlins. It fails if the score is too low.
func rate(pkg, output, known string) (result string, err error) {
	count := map[string]int{}
	explained := 0
	for _, m := range mutant.FindAllStringSubmatch(output, -1) {
		status, kind, file := m[1], m[2], filepath.ToSlash(filepath.Join(pkg, m[3]))
		if count[status]++; status != "LIVED" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		number, _ := strconv.Atoi(m[4]) // digits
		line := strings.TrimSpace(strings.Split(string(text), "\n")[number-1])
		if strings.Contains("\n"+known, fmt.Sprintf("\n%s | %s | %s\n\t", file, kind, line)) {
			explained++
		} else {
			result += fmt.Sprintf("%s:%d | %s | %s\n", file, number, kind, line)
		}
	}
	noticed, survived := count["KILLED"]+count["TIMED OUT"], count["LIVED"]
	score := 100 * float64(noticed) / float64(max(noticed+survived, 1))
	result = fmt.Sprintf("\n%s: %.1f %%: %d killed, %d timed out, %d survived, %d of them explained; %d not covered\n%s",
		pkg, score, count["KILLED"], count["TIMED OUT"], survived, explained, count["NOT COVERED"], result)
	if score < least {
		err = fmt.Errorf("the score of %s is below %d %%", pkg, least)
	}
	return result, err
}
