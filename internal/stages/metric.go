// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import "strings"

// Kind is the kind of a metric.
type Kind uint8

// The kinds. A Timer measures a stage. Neither stands for all other metrics.
const (
	Neither Kind = iota
	Timer
	Counter

	Kinds // the number of kinds
)

// Metric describes a stage or a counter.
type Metric struct {
	Kind   Kind
	Name   string
	Column int // the place of its values

	// Overflows marks a metric whose values are kept in OtherColumn because
	// there is no room.
	Overflows bool

	// Ancestors has a bit for the slot of each stage that may contain this one.
	// PathAncestors has those of the stages that are kept by path.
	Ancestors, PathAncestors uint32
	Slot                     int // the index among the stages that contain others, inner ones first, or -1
	PathIndex                int // the index among the stages that are kept by path, or -1
}

// OtherColumn is the column of the metrics without a label of their own.
const OtherColumn = 0

// NewMetric returns a metric that contains no stages and is inside no stage.
func NewMetric(k Kind, name string, column int) *Metric {
	return &Metric{Kind: k, Name: name, Column: column, Slot: -1, PathIndex: -1}
}

// MaxName limits the bytes of a name or path that becomes a label, so that
// clients cannot make the program use much memory.
const MaxName = 1024

// Valid replaces invalid UTF-8 in a name by U+FFFD, because Prometheus refuses
// it.
func Valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// TimerSuffix ends the key of a timer.
const TimerSuffix = "_ns"

const (
	timerPrefix   = "timer_"
	counterPrefix = "counter_"
)

// KeyOf returns the key of a timer or counter.
func KeyOf(k Kind, name string) string {
	if k == Counter {
		return counterPrefix + name
	}
	return timerPrefix + name + TimerSuffix
}

// Split returns the kind and the name of a metric with this key. It returns
// Neither if the key is neither a timer's nor a counter's.
func Split(key string) (Kind, string) {
	if name, ok := strings.CutPrefix(key, counterPrefix); ok {
		return Counter, name
	}
	if name, ok := strings.CutPrefix(key, timerPrefix); ok {
		if name, ok := strings.CutSuffix(name, TimerSuffix); ok {
			return Timer, name
		}
	}
	return Neither, ""
}
