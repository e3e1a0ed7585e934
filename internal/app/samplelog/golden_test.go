// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/samplelog"
)

var update = flag.Bool("update", false, "write the golden file")

// TestDeterminism: the same options give the same bytes, on every machine and
// with every version of Go.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, container := range samplelog.Containers() {
		o := everything(container)
		o.EventBytes = 1500
		text, truth := write(t, o)
		again, _ := write(t, o)
		if again != text {
			t.Errorf("%s: another text of the same options", container)
		}
		o.Seed++
		if other, _ := write(t, o); other == text {
			t.Errorf("%s: the same text of another seed", container)
		}
		fmt.Fprintf(&b, "%-17s text %x truth %x\n", container, sha256.Sum256([]byte(text)), sha256.Sum256([]byte(indent(t, truth))))
	}
	const golden = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("other logs than those of %s; if that is meant, run the test with -update:\n%s", golden, b.String())
	}
}
