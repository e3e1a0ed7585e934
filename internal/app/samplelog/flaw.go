// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/rollup"
)

// A flaw is what is wrong with an event.
type flaw int

const (
	sound flaw = iota
	cutOff
	notUTF8
	noMetrics
	floatMetric
	stringMetric
	hugeMetric
	negativeMetric
	metricTwice
	fieldTwice
	noTime
	flaws
)

// problems are how a reader calls the flaws.
var problems = [flaws]decisionlog.Problem{
	cutOff:         decisionlog.InvalidJSON,
	notUTF8:        decisionlog.InvalidUTF8,
	noMetrics:      decisionlog.NoMetrics,
	floatMetric:    decisionlog.BadMetric,
	stringMetric:   decisionlog.BadMetric,
	hugeMetric:     decisionlog.BadMetric,
	negativeMetric: decisionlog.NegativeMetric,
	metricTwice:    decisionlog.DuplicateKey,
	fieldTwice:     decisionlog.DuplicateKey,
	noTime:         decisionlog.BadTime,
}

// drawFlaw gives a decision one of the flaws that the container can have.
func drawFlaw(s *source, d *decision, f *format) {
	for {
		d.flaw = 1 + flaw(s.below(uint64(flaws-1)))
		if (d.flaw != cutOff || f.lines) && (d.flaw != notUTF8 || !f.quoted) {
			break
		}
	}
	for {
		d.at = stage(s.below(uint64(stages)))
		if d.metrics.timers[d.at] >= 0 {
			return
		}
	}
}

// readable returns the metrics that a reader finds in the event. One that is
// wrong is none, of one that is there twice the last counts.
func (d *decision) readable() numbers {
	n := d.metrics
	switch d.flaw {
	case noMetrics:
		n.clear()
	case floatMetric, stringMetric, hugeMetric, negativeMetric:
		n.timers[d.at] = -1
	}
	return n
}

// appendTimer appends the key and value of a timer, and a comma.
func (d *decision) appendTimer(b []byte, s stage) []byte {
	value := d.metrics.timers[s]
	if d.at != s {
		return appendNumber(b, timerKeys[s], value)
	}
	switch d.flaw {
	case floatMetric:
		b = appendNumber(b, timerKeys[s], value)
		return append(b[:len(b)-1], ".5,"...)
	case stringMetric:
		b = append(append(b, timerKeys[s]...), '"')
		b = appendNumber(b, "", value)
		return append(b[:len(b)-1], `",`...)
	case hugeMetric:
		return append(append(b, timerKeys[s]...), "9223372036854775808,"...)
	case negativeMetric:
		return appendNumber(b, timerKeys[s], -1-value)
	case metricTwice:
		b = appendNumber(b, timerKeys[s], value+1_000_000_000)
	}
	return appendNumber(b, timerKeys[s], value)
}

// appendDecoy appends another field of the same name if there have to be two:
// of the path, or where there is none of the id.
func (d *decision) appendDecoy(b []byte, f field) []byte {
	switch {
	case d.flaw != fieldTwice:
	case f == pathField && d.hasPath():
		b = append(b, `"path":"not/the/path",`...)
	case f == idField && !d.hasPath():
		b = append(b, `"decision_id":"00000000-0000-4000-8000-000000000000",`...)
	}
	return b
}

// hasPath reports whether the event has a field "path".
func (d *decision) hasPath() bool {
	return d.profile.name != rollup.Query && d.profile.name != allData
}
