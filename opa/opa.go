// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package opa hands Regometer collections to an unmodified Open Policy Agent,
// version 1.0.0 or later, that a Go program embeds.
//
// OPA's interfaces and Regometer's have the same methods but are different
// types, so a collection is wrapped once, by [Metrics], and then goes wherever
// OPA takes one: rego.Metrics, rego.EvalMetrics, sdk.DecisionOptions.Metrics.
//
// A program that should change in nothing but an import can use package
// github.com/regometer/regometer/opa/metrics instead of OPA's own.
//
// OPA's HTTP server makes its own collections and cannot be given others.
// There an OPA that is built with Regometer inside helps: see the command
// regometer.
package opa

import (
	"encoding/json"
	"fmt"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/metrics"
)

// Metrics returns m as a collection for OPA. Both show the same metrics, and
// both may be used at the same time.
//
// The result is a [fmt.Stringer] and an OPA TimerMetrics if m is a
// [fmt.Stringer] and a [metrics.TimerMetrics], as the collections of
// [metrics.New] are. The results of two calls with the same m are equal. A nil
// m gives nil, for which OPA makes a collection of its own.
//
// The call allocates 16 bytes; looking a metric up through the result
// allocates nothing more than looking it up in m.
func Metrics(m metrics.Metrics) opametrics.Metrics {
	if m == nil {
		return nil
	}
	_, isStringer := m.(fmt.Stringer)
	_, hasTimers := m.(metrics.TimerMetrics)
	if isStringer && hasTimers {
		return described{plain{m}}
	}
	return plain{m}
}

// Unwrap returns the collection that [Metrics] made m of. It reports false if
// m comes from elsewhere.
func Unwrap(m opametrics.Metrics) (metrics.Metrics, bool) {
	switch m := m.(type) {
	case described:
		return m.Metrics, true
	case plain:
		return m.Metrics, true
	}
	return nil, false
}

// AppendJSON appends to dst what [json.Marshal] gives for m. It is fast if m
// was made by [Metrics], and right for any other collection, nil included.
func AppendJSON(dst []byte, m opametrics.Metrics) ([]byte, error) {
	if ours, ok := Unwrap(m); ok {
		return metrics.AppendJSON(dst, ours)
	}
	text, err := json.Marshal(m)
	return append(dst, text...), err
}

// plain adapts any collection. What it does not adapt below is the
// collection's own.
type plain struct{ metrics.Metrics }

func (p plain) Info() opametrics.Info                      { return opametrics.Info(p.Metrics.Info()) }
func (p plain) Timer(name string) opametrics.Timer         { return p.Metrics.Timer(name) }
func (p plain) Histogram(name string) opametrics.Histogram { return p.Metrics.Histogram(name) }
func (p plain) Counter(name string) opametrics.Counter     { return p.Metrics.Counter(name) }

// described adapts a collection that is a fmt.Stringer and a TimerMetrics. It
// is a type of its own because OPA asks for these methods by assertion: an
// adapter must not claim what the collection behind it lacks.
type described struct{ plain }

func (d described) String() string         { return d.Metrics.(fmt.Stringer).String() }
func (d described) Timers() map[string]any { return d.Metrics.(metrics.TimerMetrics).Timers() }
