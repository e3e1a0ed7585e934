// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress writes what is going on, and a dot after each second in which
// there was nothing to say. Its methods may be called from any goroutine.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	last  time.Time // of the last output
	dots  bool      // the current line consists of dots
	ended chan struct{}
}

func startProgress(w io.Writer) *progress {
	p := &progress{w: w, last: time.Now(), ended: make(chan struct{})}
	go func() {
		ticks := time.NewTicker(time.Second / 2)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				p.dot()
			case <-p.ended:
				return
			}
		}
	}()
	return p
}

// stop ends the dots. Nothing may be written afterwards.
func (p *progress) stop() {
	close(p.ended)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endDots()
}

func (p *progress) dot() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended: // stop was faster
		return
	default:
	}
	if time.Since(p.last) < time.Second {
		return
	}
	fmt.Fprint(p.w, ".")
	p.dots, p.last = true, time.Now()
}

func (p *progress) endDots() {
	if p.dots {
		fmt.Fprintln(p.w)
		p.dots = false
	}
}

// Write writes the progress of something else, such as a build.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endDots()
	p.last = time.Now()
	return p.w.Write(b)
}

func (p *progress) printf(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}
