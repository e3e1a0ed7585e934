// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
)

const root = "../../.."

// With these variables set the test binary stands in for the tool, which starts
// a child and then ends or waits, or for the child, which connects to an
// address and waits.
const (
	asTool  = "REGOMETER_TEST_TOOL" // exit, fail or wait
	asChild = "REGOMETER_TEST_CHILD"
)

func TestMain(m *testing.M) {
	address, behaviour := os.Getenv(asChild), os.Getenv(asTool)
	switch {
	case behaviour != "":
		os.Exit(standIn(behaviour))
	case address != "":
		conn, err := net.Dial("tcp", address)
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString("ready\n")
		_, _ = conn.Read(make([]byte, 1)) // until the test ends
		return
	}
	os.Exit(m.Run())
}

// standIn starts a child, and leaves it behind.
func standIn(behaviour string) (status int) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), asTool+"=")
	ready, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		panic(err)
	}
	_, _ = bufio.NewReader(ready).ReadString('\n')
	switch behaviour {
	case "wait":
		_ = child.Wait()
	case "fail":
		return 1
	}
	return 0
}

// Nothing that the tool started outlives it, however it ends.
func TestGroup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no process groups")
	}
	for behaviour, wantErr := range map[string]bool{"exit": false, "fail": true, "wait": true} {
		t.Run(behaviour, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			g := gremlins{dir: t.TempDir(), wanted: regexp.MustCompile(""), stdout: io.Discard, stderr: t.Output()}
			if err := os.Symlink(os.Args[0], filepath.Join(g.dir, "gremlins")); err != nil {
				t.Fatal(err)
			}
			t.Setenv(asTool, behaviour)
			t.Setenv(asChild, listener.Addr().String())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := g.run(ctx, ".")
				ended <- err
			}()
			child, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer child.Close()
			if behaviour == "wait" {
				cancel()
			}
			if err := <-ended; (err != nil) != wantErr {
				t.Errorf("the tool's run returned %v", err)
			}
			if err := child.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := child.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a child of the tool is still running")
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for args, want := range map[string]int{"--help": 0, "": 2, "metrics": 2, "-tool x@v1": 2, "-tool x@v1 -files ( metrics": 2, "-nonsense": 2} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &stdout, &stderr); status != want || stderr.Len() == 0 {
			t.Errorf("%s: status %d, want %d\n%s", args, status, want, &stderr)
		}
	}
}

// What the tool prints is counted, and a survivor is known by its code.
func TestScore(t *testing.T) {
	t.Chdir(root)
	const output = `Starting...
      KILLED CONDITIONALS_NEGATION at main_test.go:1:2
   TIMED OUT INVERT_LOOPCTRL at main_test.go:1:2
       LIVED ARITHMETIC_BASE at main_test.go:4:1
       LIVED INVERT_LOGICAL at main_test.go:4:1
 NOT COVERED INVERT_LOGICAL at main_test.go:2:1
  NOT VIABLE INVERT_LOGICAL at main_test.go:2:1
Mutation testing completed in 3 seconds
`
	found, err := parseMutants("bench/project/mutants", strings.NewReader(output))
	if err != nil || len(found) != 6 {
		t.Fatalf("%v, %v", found, err)
	}
	s := rate("p", found, map[string]bool{"bench/project/mutants/main_test.go | INVERT_LOGICAL | package main": true})
	if percent, ok := s.percent(); s.killed != 1 || s.timedOut != 1 || s.lived != 2 || s.uncovered != 1 || percent != 50 || !ok {
		t.Errorf("%+v, %v %%", s, percent)
	}
	if len(s.unexplained) != 1 || s.unexplained[0].String() != "bench/project/mutants/main_test.go:4 | ARITHMETIC_BASE | package main" {
		t.Errorf("unexplained: %v", s.unexplained)
	}
	if s.status(50) != 0 || s.status(50.1) != 1 || rate("p", nil, nil).status(0) != 1 {
		t.Error("a score that is too low, or none, is not told from one that is enough")
	}
}

// Each explanation is of code that is there.
func TestExplanations(t *testing.T) {
	t.Chdir(root)
	known, err := readExplanations(explanations)
	if err != nil {
		t.Fatal(err)
	}
	for survivor := range known {
		fields := strings.SplitN(survivor, " | ", 3)
		text, err := os.ReadFile(fields[0])
		code := regexp.MustCompile(`(?m)^\t*` + regexp.QuoteMeta(fields[len(fields)-1]) + `$`)
		if err != nil || len(fields) != 3 || !code.Match(text) {
			t.Errorf("%s: no such line: %q", explanations, survivor)
		}
	}
}

func TestReadExplanations(t *testing.T) {
	name := filepath.Join(t.TempDir(), "explained.txt")
	for text, want := range map[string]bool{
		"":                                   true,
		"# comment\na | B | c\n\td":          true,
		"a | B | c\n\td\n\na | B | d\n\te\n": true,
		"a | B | c\n":                        false,
		"a | B | c\nb | B | c\n\td":          false,
		"\td\n":                              false,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if known, err := readExplanations(name); (err == nil) != want || known["a | B | c"] != (want && text != "") {
			t.Errorf("%q: %v, %v", text, known, err)
		}
	}
}

// A copy of the module prom finds the root module where it is.
func TestStandalone(t *testing.T) {
	t.Chdir(root)
	g := gremlins{dir: t.TempDir()}
	if name, err := g.standalone("rollup"); name != "" || err != nil {
		t.Errorf("rollup: %q, %v", name, err)
	}
	name, err := g.standalone("prom")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Replace) == 0 {
		t.Error("nothing is replaced")
	}
	for _, r := range file.Replace {
		if _, err := os.Stat(filepath.Join(r.New.Path, "go.mod")); err != nil || !filepath.IsAbs(r.New.Path) {
			t.Errorf("%s is replaced by %s: %v", r.Old.Path, r.New.Path, err)
		}
	}
}
