// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestLoadDropIn(t *testing.T) {
	d, err := loadDropIn()
	if err != nil {
		t.Fatal(err)
	}
	if d["metrics.go"] == nil || d["timer_test.go"] == nil {
		t.Error("no metrics.go, or none of the tests")
	}
	d = d.withoutTests()
	for name, text := range d {
		if strings.HasSuffix(name, "_test.go") || !strings.Contains(string(text), "package metrics") {
			t.Errorf("%s should not be in it", name)
		}
	}
	h, err := DropInHash()
	if err != nil || h != d.hash() || len(h) != 64 {
		t.Errorf("DropInHash() = %q, %v", h, err)
	}
	d["x.go"] = nil
	if d.hash() == h {
		t.Error("another file does not change the hash")
	}
}

func TestReplace(t *testing.T) {
	base := func() map[string]string {
		return map[string]string{
			"metrics.go": "theirs", "metrics_test.go": "x", "metrics_bench_test.go": "x",
			"sample.go": "theirs", "sample_test.go": "x", "README": "x",
		}
	}
	d := dropIn{"metrics.go": []byte("ours"), "timer.go": []byte("ours")}
	for _, c := range []struct {
		name   string
		change func(files map[string]string, d dropIn)
		want   string // files that change; - leaves, + is written
	}{
		{"OPA as it is", func(map[string]string, dropIn) {}, "+metrics.go -sample.go -sample_test.go +timer.go"},
		{"before sample.go", func(f map[string]string, _ dropIn) { delete(f, "sample.go"); delete(f, "sample_test.go") }, "+metrics.go +timer.go"},
		{"our file has the name of theirs", func(_ map[string]string, d dropIn) { d["sample.go"] = []byte("ours") },
			"+metrics.go +sample.go -sample_test.go +timer.go"},
		{"patched already", func(f map[string]string, _ dropIn) {
			f["metrics.go"], f["timer.go"] = "ours", "ours"
			delete(f, "sample.go")
			delete(f, "sample_test.go")
		}, ""},
		{"our file has a test in their tree", func(f map[string]string, _ dropIn) { f["timer.go"], f["timer_test.go"] = "ours", "x" },
			"+metrics.go -sample.go -sample_test.go"},
		{"our test has the name of one that leaves", func(_ map[string]string, d dropIn) { d["sample_test.go"] = []byte("ours") },
			"+metrics.go -sample.go +sample_test.go +timer.go"},
	} {
		files, d := base(), maps.Clone(d)
		c.change(files, d)
		now, err := goFiles(writeTree(t, files))
		if err != nil {
			t.Fatal(err)
		}
		r := difference(now, d.replace(now))
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

func TestApply(t *testing.T) {
	dir := writeTree(t, map[string]string{"a.go": "old", "b.go": "old", "c.go": "old"})
	r := replacement{"a.go": []byte("new"), "b.go": nil, "missing.go": nil, "empty.go": {}}
	for range 2 {
		if err := r.apply(dir); err != nil {
			t.Fatal(err)
		}
		got := readTree(t, dir)
		want := map[string]string{"a.go": "-rw-r--r--\nnew", "c.go": "-rw-r--r--\nold", "empty.go": "-rw-r--r--\n"}
		if !maps.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	}
}
