// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := newProgress(&b)
		fmt.Fprintln(p, "one")
		time.Sleep(3500 * time.Millisecond)
		fmt.Fprintln(p, "two")
		fmt.Fprintln(p, "three")
		time.Sleep(2500 * time.Millisecond)
		p.stop()
		time.Sleep(5 * time.Second)
		if got, want := b.String(), "one\n...\ntwo\nthree\n..\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
