// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Findings writes decision logs with and without planted faults, lets
// `regometer report` read them, and prints what it finds.
package main

import (
	"cmp"
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
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

const (
	// The table goes between these lines of a page.
	beginMark = "<!-- findings: make findings -->"
	endMark   = "<!-- findings: end -->"
)

type options struct {
	seeds, healthy, decisions int
	only                      *regexp.Regexp
	sizes                     []size
	command, keep, write      string
}

func main() {
	measure.Main("findings", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	o := options{only: regexp.MustCompile(""), sizes: sizes("%v", 1000, 5000, 20_000, 81_000)}
	f := flag.NewFlagSet("findings", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.seeds, "seeds", 3, "logs with each fault and size")
	f.IntVar(&o.healthy, "healthy", 1, "healthy logs of each kind and size")
	f.IntVar(&o.decisions, "decisions", 81_000, "decisions of a log with a fault")
	f.Func("only", "`regular expression`: only these faults and healthy logs", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	f.Func("sizes", "`list` of decisions of the healthy logs, with commas (1000,5000,20000,81000; 500000 and 2000000 take long)", func(text string) error {
		var list []float64
		err := json.Unmarshal([]byte("["+text+"]"), &list)
		o.sizes = sizes("%v", list...)
		return err
	})
	f.StringVar(&o.command, "command", "", "the `path` of regometer, instead of building it")
	f.StringVar(&o.keep, "keep", "", "a `folder` for the logs that are not judged well; the progress has their names")
	f.StringVar(&o.write, "write", "", "a `page`, in which to replace the table")
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
		root, err := measure.Root(ctx)
		if err != nil {
			return err
		}
		o.command = filepath.Join(dir, "regometer")
		if _, err := measure.Run(ctx, io.Discard, root, nil, "go", "build", "-o", o.command, "./cmd/regometer"); err != nil {
			return err
		}
	}
	l := lab{o, cmp.Or(o.keep, dir), stderr}
	tables, err := l.tables(ctx, slices.Concat(faults, healthyKinds(o.sizes)))
	switch {
	case err != nil:
		return err
	case o.write != "":
		return replaceTable(o.write, tables)
	}
	_, err = io.WriteString(stdout, tables)
	return err
}

// A lab writes one log at a time, and reads it.
type lab struct {
	options
	dir    string
	stderr io.Writer
}

// tables returns a table of the faults, with a cell for each size, and a
// paragraph on the healthy logs.
func (l *lab) tables(ctx context.Context, kinds []kind) (string, error) {
	var faulty strings.Builder
	var healthy, wrong []string
	logs, bad := 0, 0
	for i := range kinds {
		k := &kinds[i]
		n := l.seeds
		if k.rules == nil {
			n = l.healthy
		}
		var cells []string
		for _, z := range k.sizes {
			if n == 0 || !l.only.MatchString(k.name+", "+z.text) {
				continue
			}
			s, err := l.score(ctx, k, z, n)
			if err != nil {
				return "", err
			}
			others := ""
			if len(s.others) > 0 {
				others = ", and " + listed(s.others)
			}
			cells = append(cells, fmt.Sprintf("%s: %d of %d%s%s", z.text, s.found, n, s.less(), others))
			if k.rules == nil {
				logs, bad = logs+n, bad+s.wrong
			}
			if k.rules == nil && s.wrong > 0 {
				wrong = append(wrong, fmt.Sprintf("%s of %s decisions: %d of %d%s", k.name, z.text, s.wrong, n, others))
			}
		}
		switch {
		case cells == nil:
		case k.rules == nil:
			healthy = append(healthy, k.name)
		default:
			fmt.Fprintf(&faulty, "| %s | %s |\n", k.name, strings.Join(cells, " | "))
		}
	}
	var text string
	if faulty.Len() > 0 {
		text = "| fault | size: found | size: found | size: found |\n|---|---|---|---|\n" + faulty.String() + "\n"
	}
	if logs > 0 {
		low, high := wilson(float64(bad)/float64(logs), float64(logs))
		text += fmt.Sprintf("Of %d healthy logs, %d have a fault: %.2f %% to %.2f %% with 95 %% confidence (Wilson). They are: %s.\n",
			logs, bad, 100*low, 100*high, strings.Join(healthy, "; "))
	}
	if wrong != nil {
		text += "These have a fault: " + strings.Join(wrong, "; ") + ".\n"
	}
	return text, nil
}

// A score counts the verdicts on the logs of one line of a table.
type score struct {
	found, cause, time, figure, judged, wrong int
	others                                    map[string]int
}

// less says in how many of the logs in which a fault is found less is right.
func (c *score) less() string {
	var less []string
	for _, right := range []struct {
		what  string
		n, of int
	}{{"cause", c.cause, c.found}, {"time", c.time, c.found}, {"figures", c.figure, c.judged}} {
		if right.n < right.of {
			less = append(less, fmt.Sprintf("%s %d", right.what, right.n))
		}
	}
	if less == nil {
		return ""
	}
	return " (" + strings.Join(less, ", ") + ")"
}

func (l *lab) score(ctx context.Context, k *kind, z size, logs int) (score, error) {
	c := score{others: map[string]int{}}
	for n := range logs {
		name := fmt.Sprintf("%s, %s, seed %d", k.name, z.text, n)
		// Each log has a seed of its own, which does not depend on the others.
		h := fnv.New64a()
		fmt.Fprint(h, name)
		s := newScene(h.Sum64(), l.decisions)
		t := &truth{kind: k, scene: s, planted: k.plant(s, rand.New(rand.NewPCG(s.seed, 3)), z.value)}
		file := filepath.Join(l.dir, fmt.Sprintf("%x.log", s.seed))
		findings, err := l.read(ctx, t, file)
		if err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}
		v := judge(t, findings)
		c.found += count(v.found)
		c.cause += count(v.cause)
		c.time += count(v.time)
		c.figure += count(v.figure)
		c.judged += count(v.judged)
		c.wrong += count(len(v.others) > 0)
		for _, rule := range v.others {
			c.others[rule]++
		}
		fmt.Fprintf(l.stderr, "%s, %s: %+v, from %v on\n", name, filepath.Base(file), v, time.Unix(0, t.at(t.begin)).UTC())
		good := len(v.others) == 0 && (k.rules == nil || v.found && v.cause && v.time && (v.figure || !v.judged))
		for _, f := range findings {
			if !good {
				fmt.Fprintf(l.stderr, "  %s %s %v from %s\n    %s\n", f.Severity, f.Rule, f.Figures, f.From, f.Text)
			}
		}
		if good || l.keep == "" {
			err = os.Remove(file)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// listed returns names with their numbers, sorted by the name.
func listed(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

// read writes the log of a scene, and returns the report's findings.
func (l *lab) read(ctx context.Context, t *truth, name string) ([]finding, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.generate(file, t.see), file.Close()); err != nil {
		return nil, err
	}
	out, err := measure.Run(ctx, io.Discard, "", nil, l.command, "report", "--format", "json", name)
	if err != nil {
		return nil, err
	}
	var report struct{ Findings []finding }
	err = json.Unmarshal([]byte(out), &report)
	return report.Findings, err
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

// wilson returns the 95 % interval of a share of n independent logs (Wilson
// 1927). Package contrast of the command has it too, which no other module can
// import.
func wilson(share, n float64) (low, high float64) {
	const z2 = 1.959964 * 1.959964
	middle, half := (share+z2/2/n)/(1+z2/n), math.Sqrt(z2*(share*(1-share)/n+z2/4/n/n))/(1+z2/n)
	return max(0, middle-half), min(1, middle+half)
}
