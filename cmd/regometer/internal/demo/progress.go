// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress writes a dot after each second in which nothing else was written.
type progress struct {
	mu    sync.Mutex
	w     io.Writer // nil after stop
	timer *time.Timer
	dots  bool // the current line consists of dots
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(time.Second, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.w == nil {
			return
		}
		fmt.Fprint(p.w, ".")
		p.dots = true
		p.timer.Reset(time.Second)
	})
	return p
}

func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dots {
		fmt.Fprintln(p.w)
		p.dots = false
	}
	p.timer.Reset(time.Second)
	return p.w.Write(text)
}

// stop ends the dots.
func (p *progress) stop() {
	fmt.Fprint(p, "")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.w = nil // a dot may be waiting for the lock
}
