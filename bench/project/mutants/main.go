// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Mutants runs a mutation tool on packages of this repository: it changes the
// code in one place after the other, and a change that the tests do not see has
// survived. CONTRIBUTING.md says when to use it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/regometer/regometer/internal/app/procgroup"
)

const usage = `Usage, in the repository's root: go run ./bench/project/mutants [flags] PACKAGE...

Mutates the packages in these folders, and prints which mutants survived and a
score by package: of the mutants that were run, the share that the tests saw. The
exit status is 1 if a score is too low. Ctrl-C ends it with the table so far.

`

// explanations is the list of survivors that need no test, and why.
const explanations = "bench/project/mutants/explained.txt"

const (
	least    = 85 // the lowest score that is enough, in percent
	patience = 4  // a mutant's tests are ended after so many times what they take without it
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	tool := flags.String("tool", "", "the `package@version` of gremlins")
	files := flags.String("files", "", "only files whose name matches this `regexp`")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2 // flags has told
	}
	wanted, err := regexp.Compile(*files)
	if err != nil || *tool == "" || flags.NArg() == 0 {
		fmt.Fprintln(stderr, "mutants: -tool and at least one package are needed, and -files must be a regular expression; see -help")
		return 2
	}
	known, err := readExplanations(explanations)
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	}
	dir, err := os.MkdirTemp("", "regometer-mutants-")
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	g := gremlins{dir: dir, wanted: wanted, stdout: stdout, stderr: stderr}
	if err := g.install(ctx, *tool); err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	}
	var scores []score
	for _, pkg := range flags.Args() {
		start := time.Now()
		found, err := g.run(ctx, filepath.Clean(pkg))
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(stderr, "mutants: %s: %v\n", pkg, err)
			status = 1
		}
		s := rate(filepath.Clean(pkg), found, known)
		s.elapsed = time.Since(start)
		if scores = append(scores, s); ctx.Err() != nil {
			break
		}
	}
	for _, s := range scores {
		if len(s.unexplained) > 0 {
			fmt.Fprintf(stdout, "\nSurvivors in %s that %s does not explain:\n", s.pkg, explanations)
		}
		for _, m := range s.unexplained {
			fmt.Fprintln(stdout, m)
		}
		status = max(status, s.status(least))
	}
	printScores(stdout, scores)
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "mutants: interrupted")
		return 130
	}
	return status
}

// gremlins is the tool, https://github.com/go-gremlins/gremlins.
type gremlins struct {
	dir            string // for temporary files
	wanted         *regexp.Regexp
	stdout, stderr io.Writer
}

// install builds the tool. It cannot be run by `go run`, which would take its
// GOFLAGS to itself.
func (g gremlins) install(ctx context.Context, tool string) error {
	cmd := exec.CommandContext(ctx, "go", "install", tool)
	cmd.Env = append(os.Environ(), "GOBIN="+g.dir)
	cmd.Stderr = g.stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return nil
}

// run mutates the package in a folder, and returns the mutants.
func (g gremlins) run(ctx context.Context, pkg string) ([]mutant, error) {
	entries, err := os.ReadDir(pkg)
	if err != nil {
		return nil, err
	}
	// It looks for code below the package too: other packages, which have a run
	// of their own.
	args := []string{"unleash", "-E", "/", "--workers", fmt.Sprint(runtime.GOMAXPROCS(0)), "--timeout-coefficient", fmt.Sprint(patience),
		"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl", "--remove-self-assignments"}
	for _, e := range entries {
		if !g.wanted.MatchString(e.Name()) {
			args = append(args, "-E", "^"+regexp.QuoteMeta(e.Name())+"$")
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(g.dir, "gremlins"), args...)
	// Without vet, whose complaints would count as failed tests, and without
	// the cache: the tool takes the time of the first run for that of the
	// others.
	flags := "-count=1 -short -vet=off"
	if file, err := g.standalone(pkg); err != nil {
		return nil, err
	} else if file != "" {
		flags += " -modfile=" + file
	}
	// Interrupted, it leaves its copies of the module, and a second signal, as
	// Ctrl-C and we send it, makes it panic: we kill it, and remove them. What
	// it started goes with it, whichever way it ends.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+flags, "TMPDIR="+g.dir)
	var output bytes.Buffer
	cmd.Dir, cmd.Stderr = pkg, g.stderr
	cmd.Stdout = io.MultiWriter(g.stdout, &output)
	cmd.WaitDelay = time.Second
	procgroup.Set(cmd)
	cmd.Cancel = func() error { procgroup.Kill(cmd); return nil }
	err = cmd.Run()
	procgroup.Kill(cmd)
	found, parsing := parseMutants(pkg, &output)
	return found, errors.Join(err, parsing)
}

// standalone returns the path of a go.mod file by which a copy of a module can
// be tested elsewhere, or "" if it needs none. The tool copies the module
// alone.
func (g gremlins) standalone(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil // a package of the root module, which requires no other
	}
	if err != nil {
		return "", err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return "", err
	}
	for _, r := range file.Replace {
		target, err := filepath.Abs(filepath.Join(dir, r.New.Path))
		if err != nil {
			return "", err
		}
		if err := file.AddReplace(r.Old.Path, r.Old.Version, target, ""); err != nil {
			return "", err
		}
	}
	if text, err = file.Format(); err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return "", err
	}
	name := filepath.Join(g.dir, strings.ReplaceAll(dir, string(filepath.Separator), "-"))
	return name + ".mod", errors.Join(os.WriteFile(name+".mod", text, 0o666), os.WriteFile(name+".sum", sums, 0o666))
}

// A mutant is a change of the code in one place.
type mutant struct {
	file   string // such as exphist/grid.go
	kind   string // such as CONDITIONALS_BOUNDARY
	line   string
	code   string // the line's text before it
	status string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%s | %s | %s", m.file, m.line, m.kind, m.code)
}

// explained is what an explanation names: no line's number, which would move.
func (m mutant) explained() string { return m.file + " | " + m.kind + " | " + m.code }

var mutantLine = regexp.MustCompile(`^ *(KILLED|LIVED|TIMED OUT|NOT COVERED|NOT VIABLE) (\w+) at (.+):(\d+):\d+$`)

// parseMutants reads what the tool prints. Its report would come at the end
// only.
func parseMutants(pkg string, output io.Reader) (found []mutant, err error) {
	lines := map[string][]string{}
	for s := bufio.NewScanner(output); s.Scan(); {
		fields := mutantLine.FindStringSubmatch(s.Text())
		if fields == nil {
			continue
		}
		m := mutant{file: path.Join(filepath.ToSlash(pkg), fields[3]), kind: fields[2], line: fields[4], status: fields[1]}
		if lines[m.file] == nil {
			text, err := os.ReadFile(filepath.FromSlash(m.file))
			if err != nil {
				return nil, err
			}
			lines[m.file] = strings.Split(string(text), "\n")
		}
		var n int
		if _, err := fmt.Sscan(m.line, &n); err != nil || n > len(lines[m.file]) {
			return nil, fmt.Errorf("no line %s of %s", m.line, m.file)
		}
		m.code = strings.TrimSpace(lines[m.file][n-1])
		found = append(found, m)
	}
	return found, nil
}

// readExplanations returns the first lines of pairs: a survivor as it is
// printed, without the line's number, and indented below it why it needs no
// test.
func readExplanations(name string) (map[string]bool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	known, last := map[string]bool{}, ""
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			if last == "" {
				return nil, fmt.Errorf("%s:%d: an explanation without a survivor", name, i+1)
			}
			known[last], last = true, ""
		case last != "":
			return nil, fmt.Errorf("%s:%d: a survivor without an explanation: write one in a line that begins with a tab", name, i)
		default:
			last = line
		}
	}
	if last != "" {
		return nil, fmt.Errorf("%s: the last survivor has no explanation", name)
	}
	return known, nil
}

// A score is what the mutants of a package came to.
type score struct {
	pkg                                string
	killed, timedOut, lived, uncovered int
	unexplained                        []mutant // of those that lived
	elapsed                            time.Duration
}

func rate(pkg string, found []mutant, known map[string]bool) score {
	s := score{pkg: pkg}
	for _, m := range found {
		switch m.status {
		case "KILLED":
			s.killed++
		case "TIMED OUT":
			s.timedOut++
		case "NOT COVERED":
			s.uncovered++
		case "LIVED":
			s.lived++
			if !known[m.explained()] {
				s.unexplained = append(s.unexplained, m)
			}
		}
	}
	return s
}

// percent returns the score, explained survivors included. There is none if
// nothing was run.
func (s score) percent() (percent float64, ok bool) {
	seen := s.killed + s.timedOut
	return 100 * float64(seen) / float64(max(seen+s.lived, 1)), seen+s.lived > 0
}

func (s score) status(least float64) int {
	if percent, ok := s.percent(); !ok || percent < least {
		return 1
	}
	return 0
}

func printScores(w io.Writer, scores []score) {
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "killed\ttimed out\tsurvived\texplained\tnot covered\tscore\ttime\t  package")
	for _, s := range scores {
		text := "none"
		if percent, ok := s.percent(); ok {
			text = fmt.Sprintf("%.1f %%", percent)
		}
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t%s\t%v\t  %s\n",
			s.killed, s.timedOut, s.lived, s.lived-len(s.unexplained), s.uncovered, text, s.elapsed.Round(time.Second), s.pkg)
	}
	table.Flush()
}
