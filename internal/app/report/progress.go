// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"github.com/regometer/regometer/internal/app/text"
)

// progressEvery is the time between calls of Options.Progress.
const progressEvery = 200 * time.Millisecond

// reportProgress calls Options.Progress until the function that it returns is
// called.
func (r *reading) reportProgress() (stop func()) {
	if r.Progress == nil {
		return func() {}
	}
	tell := func() {
		p := Progress{Bytes: r.bytes.Load(), Decisions: r.decisions.Load(), Elapsed: time.Since(r.start)}
		if !r.unknown {
			p.Of = r.of
		}
		r.Progress(p)
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				tell()
				return
			case <-ticker.C:
				tell()
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// String returns a line with the bytes read, the speed, and the time left.
func (p Progress) String() string {
	line := text.Bytes(p.Bytes)
	if p.Of > 0 {
		line += " of " + text.Bytes(p.Of)
	}
	rate := float64(p.Bytes) / max(p.Elapsed.Seconds(), 1e-9)
	line += fmt.Sprintf(", %s/s, %d decisions", text.Bytes(int64(rate)), p.Decisions)
	if p.Of > p.Bytes && rate > 0 {
		left := time.Duration(float64(p.Of-p.Bytes) / rate * float64(time.Second))
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}
