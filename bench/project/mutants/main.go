// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Mutants runs Gremlins (https://github.com/go-gremlins/gremlins) on packages
// of this repository. Gremlins changes the code in one place after the other. A
// change that the tests do not notice has survived. CONTRIBUTING.md says when
// to use it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/regometer/regometer/internal/app/procgroup"
)

const usage = `Usage, in the repository's root: go run ./bench/project/mutants -tool GREMLINS PACKAGE...

Mutates the packages in these folders. It prints the mutants that survived, and
for each package a score: of the mutants that ran, the share that the tests
noticed. The exit status is 1 if a score is too low. After Ctrl-C it prints the
results so far.

`

// explanations is the list of survivors that need no test, with the reasons.
const explanations = "bench/project/mutants/explained.txt"

const (
	least    = 85 // the lowest score that passes, in percent
	patience = 4  // a mutant's tests may take this many times their usual time
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	tool := flag.String("tool", "", "the `package@version` of Gremlins")
	flag.Parse()
	err := mutate(ctx, *tool, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
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
	// `go run` would take the GOFLAGS of the tests to itself.
	install := exec.CommandContext(ctx, "go", "install", tool)
	install.Env, install.Stderr = append(os.Environ(), "GOBIN="+dir), os.Stderr
	if err := install.Run(); err != nil {
		return fmt.Errorf("%s: %w", install, err)
	}
	var failed error
	results := ""
	for _, pkg := range packages {
		output, err := gremlins(ctx, dir, pkg)
		result, low := rate(pkg, output, string(known))
		results += result
		failed = errors.Join(failed, err, low, ctx.Err())
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Print(results)
	return failed
}

// gremlins mutates the package in a folder, and returns the output of Gremlins,
// which is installed in the folder dir. Nothing that it started outlives it.
func gremlins(ctx context.Context, dir, pkg string) (string, error) {
	// Without -E / it would also take the packages below this one.
	args := []string{"unleash", "-E", "/", "--workers", strconv.Itoa(runtime.GOMAXPROCS(0)), "--timeout-coefficient", strconv.Itoa(patience),
		"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl", "--remove-self-assignments"}
	// vet's complaints would count as failed tests. A cached first run would
	// make all others seem to hang.
	goFlags := "-count=1 -short -vet=off"
	module, err := standalone(dir, pkg)
	if err != nil {
		return "", err
	}
	if module != "" {
		goFlags += " -modfile=" + module
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "gremlins"), args...)
	var output bytes.Buffer
	cmd.Dir, cmd.Env = pkg, append(os.Environ(), "TMPDIR="+dir, "GOWORK=off", "GOFLAGS="+goFlags)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &output), os.Stderr
	cmd.WaitDelay = time.Second
	procgroup.Set(cmd)
	// Interrupted, it leaves its copies, and a second signal makes it panic.
	cmd.Cancel = func() error { procgroup.Kill(cmd); return nil }
	err = cmd.Run()
	procgroup.Kill(cmd)
	return output.String(), err
}

var replaced = regexp.MustCompile(`=> (\.)`)

// standalone writes a go.mod file for the module in the folder pkg to the
// folder dir, and returns its path, or "" if pkg has no go.mod. Gremlins copies
// the module alone, and this file says where the modules are that replace
// others.
func standalone(dir, pkg string) (string, error) {
	text, err := os.ReadFile(filepath.Join(pkg, "go.mod"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil // a package of the root module, which requires no other
	}
	sums, missing := os.ReadFile(filepath.Join(pkg, "go.sum"))
	folder, wrong := filepath.Abs(pkg)
	if err := errors.Join(err, missing, wrong); err != nil {
		return "", err
	}
	text = replaced.ReplaceAll(text, []byte("=> "+filepath.ToSlash(folder)+"/$1"))
	name := filepath.Join(dir, filepath.Base(pkg))
	return name + ".mod", errors.Join(os.WriteFile(name+".mod", text, 0o666), os.WriteFile(name+".sum", sums, 0o666))
}

var mutant = regexp.MustCompile(`(?m)^ *(KILLED|LIVED|TIMED OUT|NOT COVERED) (\w+) at (.+):(\d+):\d+$`)

// rate returns a package's score and its survivors that are not known, from the
// output of Gremlins. The error says that the score is too low.
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
		number, _ := strconv.Atoi(m[4]) // only digits match
		line := strings.TrimSpace(strings.Split(string(text)+strings.Repeat("\n", number), "\n")[number-1])
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
