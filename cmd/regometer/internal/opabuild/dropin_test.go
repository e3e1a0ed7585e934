// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestLoadDropIn(t *testing.T) {
	d := loadDropIn()
	if d["metrics.go"] == nil || d["timer_test.go"] == nil || d[path.Base(dropInFile)] == nil {
		t.Errorf("no metrics.go, no tests, or no %s, by which Inspect finds the drop-in", dropInFile)
	}
	d = d.withoutTests()
	for name, text := range d {
		if strings.HasSuffix(name, "_test.go") || !strings.Contains(string(text), "package metrics") {
			t.Errorf("%s should not be in it", name)
		}
	}
	h := DropInHash()
	if h != d.hash() || len(h) != 64 {
		t.Errorf("DropInHash() = %q", h)
	}
	d["x.go"] = nil
	if d.hash() == h {
		t.Error("another file does not change the hash")
	}
}

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name         string
		theirs, ours string // the files besides metrics.go; = is the same text
		want         string // the files that change: - is removed, + is written
	}{
		{"OPA as it is", "metrics_test.go metrics_bench_test.go sample.go sample_test.go", "timer.go", "+metrics.go -sample.go -sample_test.go +timer.go"},
		{"before sample.go", "metrics_test.go", "timer.go", "+metrics.go +timer.go"},
		{"our file has the name of theirs", "sample.go sample_test.go", "sample.go", "+metrics.go +sample.go -sample_test.go"},
		{"patched already", "=timer.go", "=timer.go", "+metrics.go"},
		{"our file has a test in their tree", "=timer.go timer_test.go", "=timer.go", "+metrics.go"},
		{"our test has the name of one that leaves", "sample.go sample_test.go", "sample_test.go", "+metrics.go -sample.go +sample_test.go"},
	} {
		files := func(side, names string) map[string][]byte {
			all := map[string][]byte{}
			for name := range strings.FieldsSeq("metrics.go " + names) {
				if name, same := strings.CutPrefix(name, "="); same {
					all[name] = []byte("same")
				} else {
					all[name] = []byte(side)
				}
			}
			return all
		}
		now := files("theirs", c.theirs)
		r := dropIn(files("ours", c.ours)).replace(now)
		var got []string
		for _, name := range slices.Sorted(maps.Keys(r)) {
			if r[name] == nil {
				got = append(got, "-"+name)
			} else {
				got = append(got, "+"+name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
