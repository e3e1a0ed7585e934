// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestQuote: shells give back the bytes of each text, and outputs do not change
// the words of visible text.
func TestQuote(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "-", "--", "-n", "a b", "a\nb", "\n", "'", "''", "a'b\"c", `\`, `\'`, "$(touch x);id", "`id`", "!!", "!$", "*", "?", "[a]", "{a,b}",
		"~", "~root", "=ls", "a=b", "#", "&", "|", "<x>", "%s", "\x1b[2J", "\xff'\xfe", "\r\n\t", "é世\u202e", strings.Repeat("'", 1000)}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(1 + r.IntN(255))
			if r.IntN(2) == 0 {
				b[i] = "'\"\\ $`!*-a\n"[r.IntN(11)]
			}
		}
		texts = append(texts, string(b))
	}
	script := "printf '%s\\0'"
	for _, s := range texts {
		word := Quote(s)
		if script += " " + word; Visible(s) == s && Visible(word) != word {
			t.Errorf("%q is written as %q", word, Visible(word))
		}
	}
	for _, shell := range []string{"sh", "bash"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("not tried: %v", err)
			continue
		}
		cmd := exec.Command(shell)
		cmd.Stdin = strings.NewReader(script + "\n")
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", shell, err)
		}
		got := strings.Split(string(bytes.TrimSuffix(out, []byte{0})), "\x00")
		if !slices.Equal(got, texts) {
			for i := range min(len(got), len(texts)) {
				if got[i] != texts[i] {
					t.Fatalf("%s: %q is %q", shell, texts[i], got[i])
				}
			}
			t.Fatalf("%s: %d texts, want %d", shell, len(got), len(texts))
		}
	}
}
