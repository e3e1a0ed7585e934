// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// line returns a decision in a line.
func line(id int) string { return strings.Trim(events(fmt.Sprint(id), 1), "[]") + "\n" }

func TestPipe(t *testing.T) {
	t.Parallel()
	c := newCollector(Options{})
	text := "OPA starts\n" + line(1) + `{"decision_id":"x","path":"p"}` + "\n" + strings.TrimSuffix(line(3), "\n")
	noError(c.ReadPipe(iotest.OneByteReader(strings.NewReader(text))))
	check(t, c, tally{"decisions": 3, "event_problems no_metrics": 1, "servers": 1})
	err := c.ReadPipe(io.MultiReader(strings.NewReader(line(4)), iotest.ErrReader(io.ErrClosedPipe)))
	if n := tallyOf(c)["decisions"]; n != 4 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v decisions count, and the error of a pipe is %v", n, err)
	}
	long := strings.NewReader(`{"decision_id":"x","path":"p","input":"` + strings.Repeat("x", largeBuffer) + `"}` + "\n")
	room := 0
	noError(c.ReadPipe(readerFunc(func(p []byte) (int, error) {
		room = len(p)
		return long.Read(p)
	})))
	if room != usualBuffer {
		t.Errorf("after a long event, the buffer has %d bytes", room)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
