// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// line returns a decision in a line.
func line(id int) string { return strings.Trim(events(fmt.Sprint(id), 1), "[]") + "\n" }

func TestPipe(t *testing.T) {
	t.Parallel()
	c := newCollector(t, Options{})
	text := "OPA starts\n" + line(1) + line(2) + strings.TrimSuffix(line(3), "\n")
	var pass bytes.Buffer
	if err := c.ReadPipe(strings.NewReader(text), &pass); err != nil {
		t.Fatal(err)
	}
	if n := counted(t, c, "decisions"); n != 3 || pass.String() != text {
		t.Errorf("%v decisions count, and %q is passed on", n, pass.String())
	}
}

// Files are followed from their end, over rotation by renaming and by
// truncation. Files that appear later are read from their beginning.
func TestFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "a.log")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		check(err)
		_, err = f.WriteString(text)
		check(err)
		check(f.Close())
	}
	write(name, line(1)+line(2))
	c := newCollector(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { c.Follow(ctx, []string{filepath.Join(dir, "*.log*")}); close(done) }()
	expect := func(what string, want float64) {
		t.Helper()
		eventually(t, what, func() bool { return counted(t, c, "decisions") == want })
	}
	base := 0.0
	for ; base == 0; base = counted(t, c, "decisions") { // until it follows the file
		write(name, line(3))
		time.Sleep(2 * poll)
	}
	half := line(4)
	write(name, half[:40])
	write(name, half[40:])
	expect("a line that came in two parts counts", base+1)
	write(name, line(5)) // not read before the file is renamed
	check(os.Rename(name, name+".1"))
	write(name+".1", line(6)) // the writer still has it open; the pattern matches this name too
	write(name, line(7))
	expect("the renamed file and the new one count", base+4)
	check(os.Truncate(name, 0))
	time.Sleep(2 * poll) // a file that is as long again in between looks unchanged
	write(name, line(8)[:20])
	write(name, line(8)[20:])
	expect("the truncated file counts", base+5)
	write(filepath.Join(dir, "b.log"), line(9))
	expect("a new file counts", base+6)
	write(name, strings.TrimSuffix(line(10), "\n"))
	cancel()
	<-done
	if n := counted(t, c, "decisions"); n > base+7 {
		t.Errorf("%v decisions count, want at most %v", n, base+7)
	}
}
