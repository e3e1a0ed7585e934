// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import "slices"

// A stage is a timer, in the order of their keys.
type stage int

const (
	evalPlug stage = iota
	evalRuleIndex
	httpSend
	resolve
	inputParse
	compile
	eval
	queryParse
	handler
	stages
)

var stageNames = [stages]string{
	"eval_op_plug", "eval_op_rule_index", "rego_builtin_http_send", "rego_external_resolve", "rego_input_parse",
	"rego_query_compile", "rego_query_eval", "rego_query_parse", "server_handler",
}

// none is no stage.
const none stage = -1

// parents says what contains a stage.
var parents = [stages]stage{eval, eval, eval, eval, handler, handler, handler, handler, none}

// stageOf returns the stage of a name, or none.
func stageOf(name string) stage { return stage(slices.Index(stageNames[:], name)) }

// A counter, in the order of their keys.
type counter int

const (
	baseCacheHit counter = iota
	baseCacheMiss
	httpCacheHits
	httpRequests
	queryCacheHit
	counters
)

var counterNames = [counters]string{
	"eval_op_base_cache_hit", "eval_op_base_cache_miss", "rego_builtin_http_send_interquery_cache_hits",
	"rego_builtin_http_send_network_requests", "server_query_cache_hit",
}

// numbers are the metrics of a decision; those that it does not have are
// negative.
type numbers struct {
	timers   [stages]int64 // in ns; 0 if unfinished
	counters [counters]int64
}

func (n *numbers) clear() {
	for i := range n.timers {
		n.timers[i] = -1
	}
	for i := range n.counters {
		n.counters[i] = -1
	}
}

// self returns for each stage what it took without what it contains. A stage
// that the decision does not have, or did not finish, contains nothing: what is
// in it is in what is around it.
func (n *numbers) self() [stages]int64 {
	self := n.timers
	for s, value := range n.timers {
		if value <= 0 {
			continue
		}
		around := parents[s]
		for around != none && n.timers[around] <= 0 {
			around = parents[around]
		}
		if around != none {
			self[around] -= value
		}
	}
	return self
}
