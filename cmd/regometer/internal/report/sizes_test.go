// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/groupby"
)

// sizedEvent returns an event with an input of random letters, which gzip
// cannot make much smaller than six eighths.
func sizedEvent(id, path string, letters int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	random, text := rand.New(rand.NewPCG(1, uint64(letters))), make([]byte, letters)
	for i := range text {
		text[i] = alphabet[random.IntN(len(alphabet))]
	}
	return fmt.Sprintf(`{"decision_id":%q,"path":%q,"timestamp":"2026-01-02T03:04:05Z","input":%q,"result":true,"nd_builtin_cache":{"a":1},"metrics":{}}`, id, path, text)
}

// Sizes are those of the events' JSON, by group and part, whatever wraps it, and
// also after saving and merging.
func TestSizes(t *testing.T) {
	t.Parallel()
	a, b := sizedEvent("1", "a", 100), sizedEvent("2", "b", 7)
	quoted, _ := json.Marshal(a)
	for _, log := range []string{a + "\n" + b, `[` + a + `, ` + b + `]`, `{"log":` + string(quoted) + `}` + "\n" + `{"x":` + b + `}`} {
		x := readLog(t, log, Options{})
		if err := x.Merge(saveAndLoad(t, x)); err != nil {
			t.Fatal(err)
		}
		r := saveAndLoad(t, x).Report()
		n, m := uint64(len(a)), uint64(len(b))
		want := map[string]groupby.Sizes{
			"":  {Total: 2 * (n + m), Max: n, Input: 2 * (102 + 9), Result: 4 * 4, Cache: 4 * 7},
			"a": {Total: 2 * n, Max: n, Input: 2 * 102, Result: 2 * 4, Cache: 2 * 7, Median: n},
			"b": {Total: 2 * m, Max: m, Input: 2 * 9, Result: 2 * 4, Cache: 2 * 7, Median: m},
		}
		if r.Total.Sizes != want[""] || r.Groups.Len() != 2 {
			t.Errorf("%s: got %+v, want %+v", log, r.Total.Sizes, want[""])
		}
		if r := saveAndLoad(t, readLog(t, log, Options{By: "rule:x"})).Report(); r.Total.Sizes.Total != n+m || r.Groups.Sum(0).Sizes.Total != n+m {
			t.Errorf("%s: by rule: got %+v", log, r.Total.Sizes)
		}
		for _, g := range r.Groups.Sums() {
			if g.Sizes != want[g.Key] { // each path has events of one size
				t.Errorf("%s: group %s has %+v, want %+v", log, g.Key, g.Sizes, want[g.Key])
			}
		}
	}
}

// The finding has the largest event, compressed as an upload of it alone.
func TestEventsLarge(t *testing.T) {
	t.Parallel()
	large := sizedEvent("3", "b", 50_000)
	log := strings.Join([]string{sizedEvent("1", "a", 100), sizedEvent("2", "a", 40_000), large, sizedEvent("4", "a", 33_000)}, "\n")
	var upload bytes.Buffer
	z := gzip.NewWriter(&upload)
	fmt.Fprintf(z, "[%s]", large)
	z.Close()
	x := readLog(t, log, Options{})
	want := largest{Count: 3, Path: "b", Compressed: uint64(upload.Len()), Hash: x.largest.Hash, Sizes: groupby.Sizes{
		Total: uint64(len(large)), Max: uint64(len(large)), Input: 50_002, Result: 4, Cache: 7,
	}}
	if fmt.Sprint(x.largest) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", x.largest, want)
	}
	if f := findingOf(saveAndLoad(t, x).Report(), "events_large"); f.Path != "b" || f.Figures["compressed"] != float64(upload.Len()) {
		t.Errorf("got %+v", f)
	}
	// Its bytes are many, but not after compression.
	empty := strings.Replace(large, `"input":"`, `"input":"`+strings.Repeat(" ", 100_000), 1)
	empty = empty[:100_000] + `"}`
	if f := findingOf(readLog(t, empty, Options{}).Report(), "events_large"); f.Text != "" {
		t.Errorf("got %+v", f)
	}
}

// Of events of one size, the same one counts in any order.
func TestLargestOfOneSize(t *testing.T) {
	t.Parallel()
	a, b := sizedEvent("10000001", "a", 40_000), sizedEvent("10000002", "b", 40_000)
	x, y := readLog(t, a+"\n"+b, Options{}), readLog(t, b+"\n"+a, Options{})
	merged := readLog(t, a, Options{})
	if err := merged.Merge(saveAndLoad(t, readLog(t, b, Options{}))); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.largest); got != fmt.Sprint(y.largest) || got != fmt.Sprint(merged.largest) || x.largest.Count != 2 {
		t.Errorf("got %+v, %+v and %+v", x.largest, y.largest, merged.largest)
	}
}
