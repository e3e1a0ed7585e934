// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
)

// A corpus is kept small: every `go test` replays it.
const (
	mostInputs = 40
	mostBytes  = 64 << 10 // together
)

// keptPrefix begins the names of the files that thinning writes and removes. It
// leaves the others alone: a finding stays, whether it reaches anything new or
// not.
const keptPrefix = "kept-"

// An input is a file of a corpus, and what it reaches.
type input struct {
	name    string
	text    []byte
	reaches map[feature]bool
}

// A feature is that a block of code ran so many times, where the number of
// times is rounded down to a power of two, as Go's fuzzer does. Within the
// block, 0 is that it ran at all.
type feature struct {
	block string
	times int
}

// thinAll thins the corpus of each target, and prints a table.
func thinAll(ctx context.Context, targets []target, b *binaries, stdout io.Writer) error {
	var failed error
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "inputs\tkept\tbytes\tblocks beyond the seeds\tkept\t  target")
	for _, t := range targets {
		all, kept, err := thin(ctx, t, b)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", t, err))
			continue
		}
		size := 0
		for _, in := range kept {
			size += len(in.text)
		}
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t  %s\n", len(all), len(kept), size, blocks(all), blocks(kept), t)
	}
	table.Flush()
	return failed
}

func blocks(inputs []input) int {
	found := map[string]bool{}
	for _, in := range inputs {
		for f := range in.reaches {
			if f.times == 0 {
				found[f.block] = true
			}
		}
	}
	return len(found)
}

// thin replaces the kept files of a target's corpus by the choice of these and
// of Go's cache. all are those that it had the choice of, with what they reach
// that the target's other seeds do not.
func thin(ctx context.Context, t target, b *binaries) (all, kept []input, err error) {
	binary, err := b.of(ctx, t.dir, "-covermode=atomic", "-coverpkg="+allPackages)
	if err != nil {
		return nil, nil, err
	}
	cache, err := cacheOf(ctx, t.pkg)
	if err != nil {
		return nil, nil, err
	}
	found, err := filesIn(filepath.Join(cache, t.name))
	if err != nil {
		return nil, nil, err
	}
	seeds, err := filesIn(t.corpus())
	if err != nil {
		return nil, nil, err
	}
	for name, text := range seeds {
		if strings.HasPrefix(name, keptPrefix) {
			found[name] = text
			delete(seeds, name)
		}
	}
	byName := map[string]input{} // each once
	for _, text := range found {
		name := fmt.Sprintf("%s%x", keptPrefix, sha256.Sum256(text))[:len(keptPrefix)+16]
		byName[name] = input{name: name, text: text}
	}
	all = slices.SortedFunc(maps.Values(byName), func(a, b input) int { return strings.Compare(a.name, b.name) })

	m := measurement{target: t, binary: binary, dir: b.dir}
	baseline, err := m.reached(ctx, "", seeds)
	if err != nil {
		return nil, nil, err
	}
	if all, err = m.measure(ctx, all, baseline); err != nil {
		return nil, nil, err
	}
	kept = choose(all)
	return all, kept, replace(t.corpus(), kept)
}

// choose returns the inputs that together reach the most that a corpus of
// bounded size can, or nearly: the next one is always that which adds the most
// blocks, then features, then is the smallest.
func choose(all []input) (kept []input) {
	reached, room := map[feature]bool{}, mostBytes
	for len(kept) < mostInputs {
		best, bestBlocks, bestFeatures := -1, 0, 0
		for i, in := range all {
			if len(in.text) > room {
				continue
			}
			newBlocks, newFeatures := 0, 0
			for f := range in.reaches {
				if !reached[f] {
					newFeatures++
					if f.times == 0 {
						newBlocks++
					}
				}
			}
			if newFeatures == 0 || newBlocks < bestBlocks || newBlocks == bestBlocks && newFeatures < bestFeatures {
				continue
			}
			if newBlocks > bestBlocks || newFeatures > bestFeatures || len(in.text) < len(all[best].text) {
				best, bestBlocks, bestFeatures = i, newBlocks, newFeatures
			}
		}
		if best < 0 {
			break
		}
		kept = append(kept, all[best])
		room -= len(all[best].text)
		maps.Copy(reached, all[best].reaches)
	}
	return kept
}

// replace makes these the kept files of a folder.
func replace(dir string, kept []input) error {
	old, err := filesIn(dir)
	if err != nil {
		return err
	}
	for _, in := range kept {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, in.name), in.text, 0o666); err != nil {
			return err
		}
		delete(old, in.name)
	}
	for name := range old {
		if strings.HasPrefix(name, keptPrefix) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// A measurement runs a target's compiled test on single inputs.
type measurement struct {
	target target
	binary string
	dir    string // for temporary files
}

// errNotRun is of an input that the target cannot have: it was made when the
// target had other parameters.
var errNotRun = errors.New("the target has other parameters")

// measure runs each input, and returns those that the target can have, with
// what they reach beyond the baseline.
func (m measurement) measure(ctx context.Context, all []input, baseline map[feature]bool) ([]input, error) {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range all {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			in := &all[i]
			in.reaches, errs[i] = m.reached(ctx, in.name, map[string][]byte{in.name: in.text})
			for f := range baseline {
				delete(in.reaches, f)
			}
		})
	}
	running.Wait()
	var usable []input
	var failed error
	for i, in := range all {
		switch err := errs[i]; {
		case err == nil:
			usable = append(usable, in)
		case !errors.Is(err, errNotRun):
			failed = errors.Join(failed, err)
		}
	}
	return usable, failed
}

// reached runs one of these files of the corpus, or all seeds if the name is
// "", and returns what they reach.
func (m measurement) reached(ctx context.Context, name string, files map[string][]byte) (map[feature]bool, error) {
	dir, err := os.MkdirTemp(m.dir, "input-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	corpus := filepath.Join(dir, "testdata", "fuzz", m.target.name)
	if err := os.MkdirAll(corpus, 0o777); err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(corpus, name), text, 0o666); err != nil {
			return nil, err
		}
	}
	pattern, running := "^"+m.target.name+"$", m.target.name
	if name != "" {
		pattern, running = pattern+"/^"+name+"$", running+"/"+name
	}
	profile := filepath.Join(dir, "profile")
	cmd := exec.CommandContext(ctx, m.binary, "-test.run="+pattern, "-test.v", "-test.timeout=1m", "-test.coverprofile="+profile)
	cmd.Dir = dir // where it looks for testdata
	output, err := cmd.CombinedOutput()
	if !bytes.Contains(output, []byte("=== RUN   "+running+"\n")) {
		return nil, errNotRun
	}
	if err != nil {
		return nil, m.finding(name, files[name], output)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	return parseProfile(text)
}

// finding makes an input that fails part of the corpus for good, as Go's fuzzer
// does, and returns it as an error.
func (m measurement) finding(name string, text, output []byte) error {
	if name == "" {
		return fmt.Errorf("its seeds fail:\n%s", output)
	}
	path := filepath.Join(m.target.corpus(), strings.TrimPrefix(name, keptPrefix))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		return err
	}
	return fmt.Errorf("finding: %s\n%s", path, output)
}

// parseProfile returns the features of a coverage profile, of which each line
// after the first is a block, how many statements it has, and how often it ran.
func parseProfile(text []byte) (map[feature]bool, error) {
	reached := map[feature]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // the mode
		}
		times, err := strconv.ParseUint(fields[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("coverage profile: %w", err)
		}
		if times > 0 {
			reached[feature{fields[0], 0}] = true
			reached[feature{fields[0], bits.Len64(times)}] = true
		}
	}
	return reached, lines.Err()
}
