// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"hash/maphash"
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
	id   uint32 // the place in the catalog and 1, or 0 if it is not there
}

// The catalog holds the descriptors of the names that recur: a hash table with
// open addressing to which names are added, without a lock, until it holds
// maxCatalog, and never removed, so that a collection can refer to a name by its
// place. To be added a name must appear twice before others take its place among
// the recent ones: names that are made up for one use stay out.
const (
	catalogBits = 12
	maxCatalog  = 1 << (catalogBits - 1)
	// Longer names are not remembered, or they could hold much memory.
	maxKnownName = 128
)

var (
	nameSeed    = maphash.MakeSeed()
	catalog     [1 << catalogBits]atomic.Pointer[descriptor]
	catalogSize atomic.Int32
	// recent has descriptors that are not in the catalog, by hash, the newest
	// of each set first.
	recent [1 << 9][4]atomic.Pointer[descriptor]
)

// hashName hashes a metric's kind and name. Of equal names, the hashes differ
// if the kinds do.
func hashName(kind Kind, name string) uint64 {
	return maphash.String(nameSeed, name) + uint64(kind)*0x9e3779b97f4a7c15
}

// describe returns the descriptor of a metric.
func describe(kind Kind, name string) *descriptor {
	if d := wellKnown(kind, name); d != nil {
		return d
	}
	return describeHashed(kind, name, hashName(kind, name))
}

// describeHashed does so by the hash of a metric that is not well known.
func describeHashed(kind Kind, name string, h uint64) *descriptor {
	for i := h; ; i++ {
		d := catalog[i%uint64(len(catalog))].Load()
		if d == nil {
			break
		}
		if d.hash == h && d.name == name {
			return d
		}
	}
	set := &recent[h%uint64(len(recent))]
	for i := range set {
		d := set[i].Load()
		if d == nil || d.hash != h || d.name != name {
			continue
		}
		if catalogSize.Load() < maxCatalog {
			catalogued := *d // d itself is in use elsewhere
			return catalogued.enter()
		}
		return d
	}
	d := newDescriptor(kind, name, h)
	if len(name) <= maxKnownName {
		for i, next := 0, d; i < len(set) && next != nil; i++ {
			next = set[i].Swap(next)
		}
	}
	return d
}

// enter adds d to the catalog and returns the descriptor to use: that which
// another goroutine has added meanwhile, or d. If there is no room any more d
// stays without an id.
func (d *descriptor) enter() *descriptor {
	if catalogSize.Add(1) > maxCatalog {
		catalogSize.Add(-1)
		return d
	}
	for i := d.hash; ; i++ {
		place := i % uint64(len(catalog))
		d.id = uint32(place) + 1
		if catalog[place].CompareAndSwap(nil, d) {
			return d
		}
		if other := catalog[place].Load(); other.hash == d.hash && other.name == d.name {
			catalogSize.Add(-1)
			return other
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
	if isPlainJSON(name) {
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

// isPlainJSON reports whether s stands in a JSON string as it is.
func isPlainJSON(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
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
		"external_lookup_compile_module", "disk_read",
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
		"disk_read_keys", "disk_read_bytes", "disk_written_keys", "disk_deleted_keys",
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
	var all []*descriptor
	enter := func(kind Kind, names []string) {
		for _, name := range names {
			d := newDescriptor(kind, name, hashName(kind, name))
			d.name = name // a constant, with the address that callers have
			all = append(all, d.enter())
		}
	}
	enter(KindTimer, knownTimers[:])
	enter(KindCounter, knownCounters[:])
	enter(KindTimer, knownOperations[:])
	enter(KindHistogram, knownOperations[:])
	setWellKnown(all)
}

// sameTiny reports whether a == b and both have one to three bytes. Comparing
// such strings is a call in Go, which takes longer than this.
func sameTiny(a, b string) bool {
	n := len(a)
	return 1 <= n && n <= 3 && n == len(b) && a[0] == b[0] && a[n/2] == b[n/2] && a[n-1] == b[n-1]
}
