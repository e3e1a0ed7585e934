// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/regometer/regometer/decisionlog"
)

// readStages collects the timers of a decision log one by one, for percentiles
// that are exact: a report has them in histograms. What is wrong with the log
// is for the report to tell.
func readStages(log io.Reader) (stages, error) {
	all := stages{}
	var byNumber []*samples
	reader := decisionlog.NewReader(decisionlog.Options{
		Metric: func(key []byte) int32 {
			name, ok := strings.CutPrefix(string(key), "timer_")
			if !ok {
				return -1
			}
			byNumber = append(byNumber, all.of(strings.TrimSuffix(name, "_ns")))
			return int32(len(byNumber) - 1)
		},
		Event: func(e *decisionlog.Event) {
			for _, m := range e.Measures {
				byNumber[m.Metric].add(m.Value)
			}
		},
		Problem: func(decisionlog.Problem, int64) {},
	})
	text, have := make([]byte, 1<<20), 0
	for {
		if have == len(text) { // a longer event
			text = slices.Concat(text, make([]byte, len(text)))
		}
		n, err := log.Read(text[have:])
		have += n
		have = copy(text, text[reader.Read(text[:have]):have])
		if errors.Is(err, io.EOF) {
			reader.Close(text[:have])
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
