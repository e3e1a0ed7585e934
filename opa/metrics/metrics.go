// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics has the exported API of OPA's package
// github.com/open-policy-agent/opa/v1/metrics, with OPA's own types, and a New
// that returns a Regometer collection. A program that embeds OPA changes only
// this import.
//
// Without OPA, use github.com/regometer/regometer/metrics, which needs no other
// module.
package metrics

import (
	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/opa"
)

// Names of the metrics that OPA itself records. Older versions of OPA do not
// record all of them.
const (
	BundleRequest                     = metrics.BundleRequest
	ServerHandler                     = metrics.ServerHandler
	ServerQueryCacheHit               = metrics.ServerQueryCacheHit
	SDKDecisionEval                   = metrics.SDKDecisionEval
	RegoQueryCompile                  = metrics.RegoQueryCompile
	RegoQueryEval                     = metrics.RegoQueryEval
	RegoQueryParse                    = metrics.RegoQueryParse
	RegoModuleParse                   = metrics.RegoModuleParse
	RegoDataParse                     = metrics.RegoDataParse
	RegoModuleCompile                 = metrics.RegoModuleCompile
	RegoPartialEval                   = metrics.RegoPartialEval
	RegoInputParse                    = metrics.RegoInputParse
	RegoLoadFiles                     = metrics.RegoLoadFiles
	RegoLoadBundles                   = metrics.RegoLoadBundles
	RegoExternalResolve               = metrics.RegoExternalResolve
	CompilePrepPartial                = metrics.CompilePrepPartial
	CompileEvalConstraints            = metrics.CompileEvalConstraints
	CompileTranslateQueries           = metrics.CompileTranslateQueries
	CompileExtractAnnotationsUnknowns = metrics.CompileExtractAnnotationsUnknowns
	CompileExtractAnnotationsMask     = metrics.CompileExtractAnnotationsMask
	CompileEvalMaskRule               = metrics.CompileEvalMaskRule
)

type (
	// Info is OPA's description of an implementation.
	Info = opametrics.Info
	// Metrics is OPA's interface of a collection.
	Metrics = opametrics.Metrics
	// TimerMetrics is OPA's interface of collections that can return only their
	// timers.
	TimerMetrics = opametrics.TimerMetrics
	// Timer is OPA's interface of a timer.
	Timer = opametrics.Timer
	// Histogram is OPA's interface of a histogram.
	Histogram = opametrics.Histogram
	// Counter is OPA's interface of a counter.
	Counter = opametrics.Counter
)

// New returns an empty collection. It may be used from any goroutine. For
// functions beyond OPA's API, see [opa.Unwrap] and [opa.AppendJSON].
func New() Metrics { return opa.Metrics(metrics.New()) }

// NoOp returns a collection that records nothing.
func NoOp() Metrics { return opa.Metrics(metrics.NoOp()) }

// Statistics returns the Value of a histogram with these numbers.
func Statistics(num ...int64) any { return metrics.Statistics(num...) }
