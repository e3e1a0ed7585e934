// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A last call has the bytes of all inputs, and their total if it is known.
func TestProgressAtEnd(t *testing.T) {
	t.Parallel()
	const event = eventLine
	file := write(t, filepath.Join(t.TempDir(), "log"), strings.Repeat(event, 10))
	for _, test := range []struct {
		inputs []string
		want   Progress
	}{
		{[]string{file}, Progress{Bytes: 10 * int64(len(event)), Of: 10 * int64(len(event))}},
		{[]string{file, "-"}, Progress{Bytes: 11 * int64(len(event))}},
	} {
		var got Progress
		var mu sync.Mutex
		o := Options{Inputs: test.inputs, Stdin: strings.NewReader(event), Progress: func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			if p.Bytes >= got.Bytes {
				got = p
			}
		}}
		readAll(t, o)
		if got.Elapsed <= 0 {
			t.Errorf("it took %v", got.Elapsed)
		}
		if got.Elapsed, got.Decisions = 0, 0; got != test.want {
			t.Errorf("%q: got %+v, want %+v", test.inputs, got, test.want)
		}
	}
}

func TestProgressText(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Progress{
		"1.00 MB of 4.00 MB, 500 KB/s, 7 decisions, 6s left": {1e6, 4e6, 7, 2 * time.Second},
		"4.00 MB of 4.00 MB, 2.00 MB/s, 9 decisions":         {4e6, 4e6, 9, 2 * time.Second},
		"1.00 MB, 500 KB/s, 1 decision":                      {1e6, 0, 1, 2 * time.Second},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
