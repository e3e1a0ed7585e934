// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics replaces OPA's package
// github.com/open-policy-agent/opa/v1/metrics in a program that embeds OPA. It
// has the same exported API with OPA's own types, but its New returns a
// Regometer collection. The program changes only this import.
//
// A program without OPA should use github.com/regometer/regometer/metrics,
// which requires no other module.
//
// The names, types, keys and JSON are those of OPA. They change only if OPA's do.
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

// New returns an empty collection, which any goroutine may use. [opa.Unwrap]
// and [opa.AppendJSON] offer more than OPA's API.
func New() Metrics { return opa.Metrics(metrics.New()) }

// NoOp returns a collection that records nothing.
func NoOp() Metrics { return opa.Metrics(metrics.NoOp()) }

// Statistics returns what the Value of a histogram with these numbers would
// return. It is exact for any number of them.
func Statistics(num ...int64) any { return metrics.Statistics(num...) }
