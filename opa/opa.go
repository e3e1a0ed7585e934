// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package opa passes Regometer's collections to an unmodified Open Policy Agent
// (OPA) that a Go program embeds. It supports OPA 1.0.0 and later. A module
// that does not require OPA yet needs both:
//
//	go get github.com/regometer/regometer/opa@latest github.com/open-policy-agent/opa@latest
//
// Without the second, Go selects OPA 1.0.0.
//
// OPA's interfaces and Regometer's have the same methods, but are different
// types. So [Metrics] wraps a collection once. OPA takes the result everywhere,
// for example in rego.Metrics, rego.EvalMetrics and
// sdk.DecisionOptions.Metrics.
//
// To change only an import, use package
// github.com/regometer/regometer/opa/metrics instead of OPA's v1/metrics.
//
// OPA's HTTP server makes its own collections, and accepts no others. For a
// server, build OPA with Regometer inside, see the command regometer.
//
// Before 1.0, names may change. An unmodified OPA always takes the collections.
package opa

import (
	"encoding/json"
	"fmt"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/metrics"
)

// Metrics returns m as a collection for OPA. Both have the same metrics, and
// may be used at the same time.
//
// The result is a [fmt.Stringer] and an OPA TimerMetrics if m is a
// [fmt.Stringer] and a [metrics.TimerMetrics], like the collections of
// [metrics.New]. The results of two calls with the same m are equal. If m
// cannot be compared, comparing them panics, as comparing m with itself does.
// For a nil m, Metrics returns nil, so OPA makes its own collection.
//
// A call allocates 16 bytes. A look-up through the result allocates no more
// than a look-up in m.
func Metrics(m metrics.Metrics) opametrics.Metrics {
	switch m {
	case nil:
		return nil
	case metrics.NoOp():
		return noOpInstance
	}
	_, isStringer := m.(fmt.Stringer)
	_, hasTimers := m.(metrics.TimerMetrics)
	if isStringer && hasTimers {
		return described{plain{m}}
	}
	return plain{m}
}

// Unwrap returns the collection that [Metrics] wrapped. It returns false if m
// does not come from Metrics.
func Unwrap(m opametrics.Metrics) (metrics.Metrics, bool) {
	switch m := m.(type) {
	case described:
		return m.Metrics, true
	case plain:
		return m.Metrics, true
	case *noOp:
		return metrics.NoOp(), true
	}
	return nil, false
}

// AppendJSON appends to dst the JSON that [json.Marshal] returns for m, and
// returns the result. It is fast if m comes from [Metrics], and correct for any
// other collection and for nil. It fails if json.Marshal fails, and then
// returns dst unchanged.
func AppendJSON(dst []byte, m opametrics.Metrics) ([]byte, error) {
	if ours, ok := Unwrap(m); ok {
		return metrics.AppendJSON(dst, ours)
	}
	text, err := json.Marshal(m)
	return append(dst, text...), err
}

// plain adapts any collection. It defines only the methods whose types differ.
type plain struct{ metrics.Metrics }

func (p plain) Info() opametrics.Info                      { return opametrics.Info(p.Metrics.Info()) }
func (p plain) Timer(name string) opametrics.Timer         { return p.Metrics.Timer(name) }
func (p plain) Histogram(name string) opametrics.Histogram { return p.Metrics.Histogram(name) }
func (p plain) Counter(name string) opametrics.Counter     { return p.Metrics.Counter(name) }

// described adapts a collection that is a fmt.Stringer and a TimerMetrics. It
// is a separate type, because OPA looks for these methods by type assertion. An
// adapter must not have methods that its collection lacks.
type described struct{ plain }

func (d described) String() string         { return d.Metrics.(fmt.Stringer).String() }
func (d described) Timers() map[string]any { return d.Metrics.(metrics.TimerMetrics).Timers() }

// noOp adapts [metrics.NoOp]. Package fmt prints it as OPA's, but of a plain it
// would print the address inside.
type noOp struct{}

var noOpInstance = &noOp{}

func (*noOp) Info() opametrics.Info                      { return plain{metrics.NoOp()}.Info() }
func (*noOp) Timer(name string) opametrics.Timer         { return metrics.NoOp().Timer(name) }
func (*noOp) Histogram(name string) opametrics.Histogram { return metrics.NoOp().Histogram(name) }
func (*noOp) Counter(name string) opametrics.Counter     { return metrics.NoOp().Counter(name) }
func (*noOp) All() map[string]any                        { return metrics.NoOp().All() }
func (*noOp) Clear()                                     {}
func (*noOp) MarshalJSON() ([]byte, error)               { return metrics.NoOp().MarshalJSON() }
