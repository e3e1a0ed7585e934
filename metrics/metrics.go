// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "encoding/json"

// Names of metrics that Open Policy Agent records.
const (
	BundleRequest                     = "bundle_request"
	ServerHandler                     = "server_handler"
	ServerQueryCacheHit               = "server_query_cache_hit"
	SDKDecisionEval                   = "sdk_decision_eval"
	RegoQueryCompile                  = "rego_query_compile"
	RegoQueryEval                     = "rego_query_eval"
	RegoQueryParse                    = "rego_query_parse"
	RegoModuleParse                   = "rego_module_parse"
	RegoDataParse                     = "rego_data_parse"
	RegoModuleCompile                 = "rego_module_compile"
	RegoPartialEval                   = "rego_partial_eval"
	RegoInputParse                    = "rego_input_parse"
	RegoLoadFiles                     = "rego_load_files"
	RegoLoadBundles                   = "rego_load_bundles"
	RegoExternalResolve               = "rego_external_resolve"
	CompilePrepPartial                = "compile_prep_partial"
	CompileEvalConstraints            = "compile_eval_constraints"
	CompileTranslateQueries           = "compile_translate_queries"
	CompileExtractAnnotationsUnknowns = "compile_extract_annotations_unknowns"
	CompileExtractAnnotationsMask     = "compile_extract_annotations_mask"
	CompileEvalMaskRule               = "compile_eval_mask_rule"
)

// Info describes the implementation behind a [Metrics] collection.
type Info struct {
	Name string `json:"name"` // unique, human-readable
}

// Metrics is a collection of named timers, histograms and counters, usually
// those of one decision.
//
// A metric appears in the output once it has been looked up. The same name
// gives the same handle until [Metrics.Clear]. Two handles of a kind are equal
// if and only if they are handles of the same metric. Callers may keep a handle
// to avoid further look-ups. All methods may be called from any goroutine.
type Metrics interface {
	Info() Info
	// Timer returns the timer with this name. Its key is "timer_<name>_ns".
	Timer(name string) Timer
	// Histogram returns the histogram with this name. Its key is
	// "histogram_<name>".
	Histogram(name string) Histogram
	// Counter returns the counter with this name. Its key is
	// "counter_<name>".
	Counter(name string) Counter
	// All returns the metrics by key: an int64 (nanoseconds) for a timer, a
	// uint64 for a counter, and for a histogram the map that
	// [Histogram.Value] describes. The caller owns the map and its content.
	All() map[string]any
	// Clear removes all metrics. Older handles still work, but the collection
	// no longer reports them.
	Clear()
	// MarshalJSON returns the bytes that encoding/json returns for All.
	json.Marshaler
}

// TimerMetrics is implemented by collections that can return only their timers,
// in the form of [Metrics.All].
type TimerMetrics interface {
	Timers() map[string]any
}

// Timer accumulates elapsed time, in nanoseconds of the monotonic clock.
// All methods may be called from any goroutine.
type Timer interface {
	// Value returns what Int64 returns, as an any.
	Value() any
	// Int64 returns the time that all calls of Stop so far have accumulated,
	// in nanoseconds. It wraps on overflow.
	Int64() int64
	// Start starts the timer. If the timer is running, Start restarts it and
	// drops the time since the earlier Start.
	Start()
	// Stop stops the timer, adds the time since Start to the accumulated
	// time, and returns the time since Start, in nanoseconds. It returns 0
	// if the timer is not running.
	Stop() int64
}

// Histogram summarizes the distribution of its values.
// All methods may be called from any goroutine.
type Histogram interface {
	// Value returns a new map[string]any, which the caller owns: "count",
	// "min" and "max" as int64; "mean", "stddev" (of the population),
	// "median", "75%", "90%", "95%", "99%", "99.9%" and "99.99%" as float64.
	//
	// The summary is exact for up to 1,028 values. With more values, count is
	// the number of all updates, and the other fields describe a sample of
	// 1,028 values. The sample favours recent values, by a factor of e every
	// 67 seconds.
	Value() any
	// Update adds a value.
	Update(int64)
}

// Counter counts events. All methods may be called from any goroutine.
type Counter interface {
	// Value returns the count, as a uint64 in an any.
	Value() any
	// Incr adds one.
	Incr()
	// Add adds n. The count wraps on overflow.
	Add(n uint64)
}

// Kind is the kind of a metric.
type Kind uint8

// The kinds of metrics.
const (
	// KindOther is the kind of a value from another implementation that fits
	// none of the kinds below.
	KindOther Kind = iota
	KindCounter
	KindHistogram
	KindTimer
)

// String returns "timer", "histogram", "counter" or "other".
func (k Kind) String() string {
	switch k {
	case KindCounter:
		return "counter"
	case KindHistogram:
		return "histogram"
	case KindTimer:
		return "timer"
	default:
		return "other"
	}
}
