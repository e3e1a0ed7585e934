// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import "strings"

// Kind is the kind of a metric.
type Kind uint8

// The kinds. A Timer has the name of a stage. Neither is all other metrics.
const (
	Neither Kind = iota
	Timer
	Counter

	Kinds
)

// Metric describes a stage or a counter.
type Metric struct {
	Kind   Kind
	Name   string
	Column int // where its values are kept

	// Overflows says that its values are kept in OtherColumn because there is
	// no room.
	Overflows bool

	// Ancestors are the slots of the stages that may contain this one, nearest
	// first. PathAncestors are the ones that are kept by path.
	Ancestors, PathAncestors []int
	Slot                     int // its own among the stages that contain others, or -1
	PathIndex                int // its own among those kept by path, or -1
}

// OtherColumn is the column of the metrics without their own label.
const OtherColumn = 0

// NewMetric returns a metric that contains nothing and is in nothing.
func NewMetric(k Kind, name string, column int) *Metric {
	return &Metric{Kind: k, Name: name, Column: column, Slot: -1, PathIndex: -1}
}

// MaxName limits the bytes of a name or path that becomes a label, so that
// clients cannot take much memory.
const MaxName = 1024

// Valid returns a name with U+FFFD for invalid UTF-8, which Prometheus refuses.
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

// Split returns the kind and the name of a key, or Neither.
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
