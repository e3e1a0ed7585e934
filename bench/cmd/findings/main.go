// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Findings writes decision logs with and without planted faults, lets
// `regometer report` read them, and prints what it finds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

const (
	usage = "Usage: findings [flags]\n\nPlants faults in decision logs, and prints what regometer report finds.\n\n"
	// The table goes between these lines of a page.
	beginMark = "<!-- findings: make findings -->"
	endMark   = "<!-- findings: end -->"
)

type options struct {
	seeds, healthy, decisions int
	only                      *regexp.Regexp
	sizes                     []int
	command, keep, write      string
	pipe                      bool
}

func main() {
	measure.Main("findings", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	o := options{only: regexp.MustCompile(""), sizes: []int{1000, 5000, 20_000, 81_000}}
	f := flag.NewFlagSet("findings", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	f.IntVar(&o.seeds, "seeds", 3, "logs with each fault and size")
	f.IntVar(&o.healthy, "healthy", 1, "healthy logs of each kind and size")
	f.IntVar(&o.decisions, "decisions", 81_000, "decisions of a log with a fault")
	f.Func("only", "`regular expression`: only these faults and healthy logs", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	f.Func("sizes", "`list` of decisions of the healthy logs, with commas (1000,5000,20000,81000; 500000 and 2000000 take long)", func(text string) error {
		o.sizes = nil
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 {
				return errors.New("no number of decisions")
			}
			o.sizes = append(o.sizes, n)
		}
		return nil
	})
	f.StringVar(&o.command, "command", "", "the `path` of regometer, instead of building it")
	f.StringVar(&o.keep, "keep", "", "a `folder` for the logs that are not judged well")
	f.StringVar(&o.write, "write", "", "a `page`, in which to replace the table")
	f.BoolVar(&o.pipe, "pipe", false, "let the report read standard input")
	err := f.Parse(args)
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "findings")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.command == "" {
		r, err := measure.FindRepository(ctx)
		if err != nil {
			return err
		}
		o.command = filepath.Join(dir, "regometer")
		if _, err := measure.Command(ctx, r.Root, "go", "build", "-o", o.command, "./cmd/regometer"); err != nil {
			return err
		}
	}
	l := lab{options: o, log: filepath.Join(dir, "decisions.log"), stderr: stderr}
	var page strings.Builder
	if err := l.faults(ctx, &page); err != nil {
		return err
	}
	if err := l.healthyLogs(ctx, &page); err != nil {
		return err
	}
	if o.write != "" {
		return replaceTable(o.write, page.String())
	}
	_, err = io.WriteString(stdout, page.String())
	return err
}

// A lab writes one log at a time, and reads it.
type lab struct {
	options
	log    string
	stderr io.Writer
}

// seedOf gives each log a seed of its own, which does not depend on the others.
func seedOf(name string, n int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", name, n)
	return h.Sum64()
}

func (l *lab) faults(ctx context.Context, page *strings.Builder) error {
	begun := false
	for _, k := range kinds {
		for size, amount := range k.sizes {
			name := k.name + ", " + sizeNames[size]
			if !l.only.MatchString(name) {
				continue
			}
			if !begun {
				begun = true
				page.WriteString("| fault | size | found | right cause | right time | right figure | other findings |\n|---|---|--:|--:|--:|--:|---|\n")
			}
			var found, cause, timely, figure int
			others := map[string]int{}
			for n := range l.seeds {
				seed := seedOf(k.name, n)
				s := newScene(seed, l.decisions)
				// The faults name up to four paths.
				t := newTruth(s, k.plant(s, rand.New(rand.NewPCG(seed, 3)), size))
				findings, err := l.read(ctx, s, t.see)
				if err != nil {
					return fmt.Errorf("%s, seed %d: %w", name, n, err)
				}
				v := judge(t, k.rules, findings)
				found += count(v.found)
				cause += count(v.cause)
				timely += count(v.time)
				figure += count(v.figure)
				for _, rule := range v.others {
					others[rule]++
				}
				good := v.found && v.cause && v.time && v.figure && len(v.others) == 0
				if err := l.note(name, n, good, fmt.Sprintf("%+v, from %v on", v, time.Unix(0, t.start).UTC()), findings); err != nil {
					return err
				}
			}
			fmt.Fprintf(page, "| %s | %s | %d of %d | %d | %d | %d | %s |\n", k.name, amount, found, l.seeds, cause, timely, figure, listed(others))
		}
	}
	if begun {
		page.WriteString("\n")
	}
	return nil
}

func (l *lab) healthyLogs(ctx context.Context, page *strings.Builder) error {
	logs, bad := 0, 0
	for _, h := range healthyScenes {
		if l.healthy == 0 || !l.only.MatchString(h.name) {
			continue
		}
		if logs == 0 {
			page.WriteString("| healthy logs | decisions | with a fault | rules |\n|---|--:|--:|---|\n")
		}
		for _, size := range l.sizes {
			wrong := 0
			rules := map[string]int{}
			for n := range l.healthy {
				name := h.name + ", " + strconv.Itoa(size)
				seed := seedOf(name, n)
				s := newScene(seed, size)
				h.shape(s, rand.New(rand.NewPCG(seed, 3)))
				findings, err := l.read(ctx, s, func(*generator, *decision) {})
				if err != nil {
					return fmt.Errorf("%s, seed %d: %w", name, n, err)
				}
				faults := 0
				for _, f := range findings {
					if f.fault() {
						faults++
						rules[f.Rule]++
					}
				}
				wrong += count(faults > 0)
				if err := l.note(name, n, faults == 0, fmt.Sprintf("%d faults", faults), findings); err != nil {
					return err
				}
			}
			logs, bad = logs+l.healthy, bad+wrong
			fmt.Fprintf(page, "| %s | %d | %d of %d | %s |\n", h.name, size, wrong, l.healthy, listed(rules))
		}
	}
	if logs > 0 {
		low, high := wilson(bad, logs)
		fmt.Fprintf(page, "| all | | %d of %d: %.2f %% to %.2f %% with 95 %% confidence (Wilson) | |\n", bad, logs, 100*low, 100*high)
	}
	return nil
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// listed returns names with their numbers, sorted by the name.
func listed(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

// wilson returns the interval of a share with 95 % confidence.
func wilson(k, n int) (low, high float64) {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, (middle-half)/(1+z*z/m)), (middle + half) / (1 + z*z/m)
}

// read writes the log of a scene, and returns the report's findings.
func (l *lab) read(ctx context.Context, s *scene, see func(*generator, *decision)) ([]finding, error) {
	file, err := os.Create(l.log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := s.generate(file, see); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, l.command, "report", "--format", "json", l.log)
	if l.pipe {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		cmd.Args[len(cmd.Args)-1] = "-"
		pipe, err := cmd.StdinPipe() // and not the file, which the command would recognise
		if err != nil {
			return nil, err
		}
		go func() {
			_, _ = io.Copy(pipe, file) // if it fails, the number of decisions is wrong
			pipe.Close()
		}()
	}
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, problem.String())
	}
	var report struct {
		Findings []finding `json:"findings"`
	}
	err = json.Unmarshal(out, &report)
	return report.Findings, err
}

// note prints the progress, and keeps a log that was not judged well.
func (l *lab) note(name string, n int, good bool, verdict string, findings []finding) error {
	fmt.Fprintf(l.stderr, "%s, seed %d: %s\n", name, n, verdict)
	if good {
		return nil
	}
	for _, f := range findings {
		fmt.Fprintf(l.stderr, "  %s %s %v from %s\n    %s\n", f.Severity, f.Rule, f.Figures, f.From, f.Text)
	}
	if l.keep == "" {
		return nil
	}
	clean := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-")
	data, err := os.ReadFile(l.log)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.keep, fmt.Sprintf("%s-%d.log", clean, n)), data, 0o644)
}

func replaceTable(page, table string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, tail, found := strings.Cut(string(data), beginMark)
	_, tail, ended := strings.Cut(tail, endMark)
	if !found || !ended {
		return fmt.Errorf("%s lacks the lines %q and %q", page, beginMark, endMark)
	}
	return os.WriteFile(page, []byte(head+beginMark+"\n"+table+endMark+tail), 0o644)
}
