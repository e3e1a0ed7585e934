// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// descriptor is what follows from a metric's kind and name. It is immutable
// and shared by all collections, so that a key is formatted and escaped once.
type descriptor struct {
	name string
	key  string // as in [Metrics.All]
	json string // the key as a JSON string, and a colon
	hash uint64 // of kind and name
	kind Kind
	// known marks the names that OPA itself records: they stay interned.
	known bool
}

// The interned descriptors: a set-associative cache, so that it is bounded
// whatever names there are, and needs no lock. OPA's own names are never
// replaced; the others replace one another.
const (
	internSets = 512
	internWays = 4
	// Longer names are formatted each time they first appear in a
	// collection; interned, they could hold more memory than they are worth.
	maxInternedName = 128
)

var (
	nameSeed = maphash.MakeSeed()
	interned [internSets][internWays]atomic.Pointer[descriptor]
)

// hashName hashes a metric's kind and name.
func hashName(kind Kind, name string) uint64 {
	return maphash.String(nameSeed, name) + uint64(kind)*0x9e3779b97f4a7c15
}

// describe returns the descriptor of a metric, whose hash is h.
func describe(kind Kind, name string, h uint64) *descriptor {
	set := &interned[h%internSets]
	for i := range set {
		d := set[i].Load()
		if d != nil && d.hash == h && d.kind == kind && d.name == name {
			return d
		}
	}
	d := newDescriptor(kind, name, h)
	if len(name) <= maxInternedName {
		intern(d)
	}
	return d
}

// intern remembers d in its set: in a free place, or in that of another name
// that is not one of OPA's own.
func intern(d *descriptor) {
	set := &interned[d.hash%internSets]
	for i := range set {
		if set[i].CompareAndSwap(nil, d) {
			return
		}
	}
	first := d.hash / internSets
	for i := range uint64(internWays) {
		slot := &set[(first+i)%internWays]
		if old := slot.Load(); !old.known && slot.CompareAndSwap(old, d) {
			return
		}
	}
}

// newDescriptor formats the keys of a metric. It keeps nothing of name's
// bytes, which may be part of a large buffer of the caller's.
func newDescriptor(kind Kind, name string, h uint64) *descriptor {
	prefix, suffix := "timer_", "_ns"
	switch kind {
	case KindCounter:
		prefix, suffix = "counter_", ""
	case KindHistogram:
		prefix, suffix = "histogram_", ""
	}
	d := &descriptor{kind: kind, hash: h}
	if plainJSON(name) {
		d.json = `"` + prefix + name + suffix + `":`
		d.key = d.json[1 : len(d.json)-2]
		d.name = d.key[len(prefix) : len(prefix)+len(name)]
		return d
	}
	d.key = prefix + name + suffix
	d.name = d.key[len(prefix) : len(prefix)+len(name)]
	quoted, err := json.Marshal(d.key)
	if err != nil { // cannot happen: any string can be marshalled
		panic(err)
	}
	d.json = string(quoted) + ":"
	return d
}

// plainJSON reports whether s is within a JSON string as it is.
func plainJSON(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			return false
		}
	}
	return true
}

// The names that OPA records.
var (
	knownTimers = [...]string{
		BundleRequest, ServerHandler, SDKDecisionEval, RegoQueryCompile,
		RegoQueryEval, RegoQueryParse, RegoModuleParse, RegoDataParse,
		RegoModuleCompile, RegoPartialEval, RegoInputParse, RegoLoadFiles,
		RegoLoadBundles, RegoExternalResolve, CompilePrepPartial,
		CompileEvalConstraints, CompileTranslateQueries,
		CompileExtractAnnotationsUnknowns, CompileExtractAnnotationsMask,
		CompileEvalMaskRule,
		"rego_builtin_http_send", "server_read_bytes",
		"wasm_pool_acquire", "wasm_pool_release", "wasm_vm_eval",
		"wasm_vm_eval_call", "wasm_vm_eval_execute",
		"wasm_vm_eval_prepare_input", "wasm_vm_eval_prepare_result",
	}
	knownCounters = [...]string{
		ServerQueryCacheHit,
		"eval_op_base_cache_hit", "eval_op_base_cache_miss",
		"eval_op_comprehension_cache_build", "eval_op_comprehension_cache_hit",
		"eval_op_comprehension_cache_miss", "eval_op_comprehension_cache_skip",
		"eval_op_virtual_cache_hit", "eval_op_virtual_cache_miss",
		"rego_builtin_http_send_interquery_cache_hits",
		"rego_builtin_http_send_network_requests",
		"rego_builtin_glob_interquery_value_cache_hits",
		"rego_builtin_regex_interquery_value_cache_hits",
	}
	// Instrumented operations have a timer and a histogram each.
	knownOperations = [...]string{
		"eval_op_builtin_call", "eval_op_external_rule_source",
		"eval_op_plug", "eval_op_resolve", "eval_op_rule_index",
		"partial_op_copy_propagation", "partial_op_save_set_contains",
		"partial_op_save_set_contains_rec", "partial_op_save_unify",
	}
)

func init() {
	know := func(kind Kind, names []string) {
		for _, name := range names {
			d := newDescriptor(kind, name, hashName(kind, name))
			d.name = name // a constant: the same bytes as the caller's
			d.known = true
			intern(d)
		}
	}
	know(KindTimer, knownTimers[:])
	know(KindCounter, knownCounters[:])
	know(KindTimer, knownOperations[:])
	know(KindHistogram, knownOperations[:])
}
