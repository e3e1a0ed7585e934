// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := startProgress(&b)
		time.Sleep(300 * time.Millisecond)
		p.printf("one")
		time.Sleep(3500 * time.Millisecond) // dots at 1.5, 2.5 and 3.5 s
		p.printf("two")
		time.Sleep(900 * time.Millisecond)
		p.printf("three")
		time.Sleep(2500 * time.Millisecond)
		p.stop()
		time.Sleep(5 * time.Second)
		const want = "one\n...\ntwo\nthree\n..\n"
		if got := b.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Nothing is ever silent for two seconds.
func TestProgressSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &gaps{last: time.Now()}
		p := startProgress(w)
		for i := range 50 {
			time.Sleep(time.Duration(i) * 73 * time.Millisecond)
			p.printf("%d", i)
		}
		p.stop()
		if w.longest >= 2*time.Second {
			t.Errorf("silent for %v", w.longest)
		}
	})
}

type gaps struct {
	last    time.Time
	longest time.Duration
}

func (g *gaps) Write(b []byte) (int, error) {
	g.longest = max(g.longest, time.Since(g.last))
	g.last = time.Now()
	return len(b), nil
}
