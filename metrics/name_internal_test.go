// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestDescriptorIsWhatEncodingJSONWrites(t *testing.T) {
	names := []string{"", "plain", "ns", "_", "a b", "\"", "\\", "<>&", "\u2028\u2029", "\x00\x1f\x7f", "\xff\xfe", "é", "日本", strings.Repeat("x", 1000)}
	for c := range 256 {
		names = append(names, string([]byte{byte(c)}), "a"+string([]byte{byte(c)})+"b")
	}
	formats := map[Kind]string{KindTimer: "timer_%s_ns", KindCounter: "counter_%s", KindHistogram: "histogram_%s"}
	for kind, format := range formats {
		for _, name := range names {
			d := newDescriptor(kind, name, 1)
			key := fmt.Sprintf(format, name)
			quoted, _ := json.Marshal(key)
			if d.name != name || d.key != key || d.json != string(quoted)+":" {
				t.Errorf("%v %q: name %q, key %q, JSON %q", kind, name, d.name, d.key, d.json)
			}
		}
	}
}

// Names that appear once do not enter the catalog, and those that do are no more
// than it may hold, so that OPA's own are found whatever others come.
func TestCatalogIsBounded(t *testing.T) {
	// In a process of its own: the catalog is full afterwards.
	const inChild = "REGOMETER_TEST_CATALOG"
	if os.Getenv(inChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCatalogIsBounded$")
		cmd.Env = append(os.Environ(), inChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	before := catalogSize.Load()
	for i := range 100_000 {
		describe(KindTimer, fmt.Sprint("one-off ", i))
	}
	if n := catalogSize.Load() - before; n > 10 {
		t.Errorf("%d of 100,000 one-off names have entered the catalog", n)
	}
	describe(KindTimer, "recurring")
	d := describe(KindTimer, "recurring")
	if d.id == 0 || describe(KindTimer, "recurring") != d {
		t.Error("a name that recurs has not entered the catalog")
	}
	long := strings.Repeat("x", maxKnownName+1)
	for i := range 2 * maxCatalog {
		for range 3 {
			describe(KindTimer, fmt.Sprint("recurring ", i))
			describe(KindTimer, long)
		}
	}
	entries := 0
	for i := range catalog {
		if d := catalog[i].Load(); d != nil {
			entries++
			if d.name == long {
				t.Error("a long name has entered the catalog")
			}
		}
	}
	if entries != maxCatalog || catalogSize.Load() != maxCatalog {
		t.Errorf("%d entries, size %d, want %d", entries, catalogSize.Load(), maxCatalog)
	}
	check := func(kind Kind, names []string) {
		for _, name := range names {
			if d := describe(kind, strings.Clone(name)); d.id == 0 || d.name != name || d.kind != kind {
				t.Errorf("%v %q is not in the catalog", kind, name)
			}
			if d := wellKnown(kind, strings.Clone(name)); d != nil {
				t.Errorf("%v %q is found by another address", kind, name)
			}
		}
	}
	check(KindTimer, knownTimers[:])
	check(KindCounter, knownCounters[:])
	check(KindTimer, knownOperations[:])
	check(KindHistogram, knownOperations[:])
}
