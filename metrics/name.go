// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// The catalog holds the descriptors of names that recur. It is a hash table
// with open addressing. Names are never removed, so that a collection can refer
// to a name by its place. A name enters when it appears for the second time,
// unless another name has replaced it among the candidates. So names that are
// used once stay out.
const (
	catalogBits  = 12
	maxPlaces    = 1 << catalogBits // the size of the catalog's table
	maxCatalog   = maxPlaces / 2    // limits the names in the catalog
	maxKnownName = 128              // limits the bytes of a name in the catalog
)

var (
	nameSeed = maphash.MakeSeed()
	// catalog is read without a lock, because the writer stores the hash at a
	// place before the descriptor.
	catalog [maxPlaces]struct {
		hash       uint64
		descriptor atomic.Pointer[descriptor]
	}
	catalogMu   sync.Mutex // guards adding to the catalog
	catalogSize atomic.Int32
	// candidates holds the hashes of names that have appeared once. A new hash
	// takes a random place in its set. So names that share a set enter the
	// catalog sooner or later, even if they appear by turns.
	candidates [1 << 9][4]atomic.Uint64
)

// hashName returns the hash of a metric's kind and name. The lowest bits are
// the kind, which kindOf returns. The other bits depend on the kind too.
func hashName(kind Kind, name string) uint64 {
	h := maphash.String(nameSeed, name) + uint64(kind)*0x9e3779b97f4a7c15
	return h<<kindBits | uint64(kind)
}

const kindBits = 2

func kindOf(h uint64) Kind { return Kind(h % (1 << kindBits)) }

// identify returns the hash of a metric. For a metric that OPA records, it
// returns the descriptor too.
func identify(kind Kind, name string) (uint64, *descriptor) {
	if d := wellKnown(kind, name); d != nil {
		return d.hash, d
	}
	return hashName(kind, name), nil
}

// noteSeen notes that a metric has appeared in a collection. A metric that has
// appeared before enters the catalog. noteSeen returns the metric's descriptor
// in the catalog, or nil if the catalog lacks the metric.
func noteSeen(name string, h uint64) *descriptor {
	if d, _ := findCatalogued(name, h); d != nil {
		return d
	}
	if len(name) > maxKnownName || catalogSize.Load() == maxCatalog {
		return nil
	}
	set := &candidates[h>>kindBits%uint64(len(candidates))]
	for i := range set {
		if set[i].Load() == h {
			return enterCatalog(name, h)
		}
	}
	set[rand.Uint32()%uint32(len(set))].Store(h)
	return nil
}

// findCatalogued returns the descriptor of a metric in the catalog, and its
// place. If the catalog lacks the metric, it returns nil and the place where
// the metric would be.
func findCatalogued(name string, h uint64) (*descriptor, uint64) {
	for i := h >> kindBits; ; i++ {
		place := i % maxPlaces
		d := catalog[place].descriptor.Load()
		if d == nil || catalog[place].hash == h && d.name == name {
			return d, place
		}
	}
}

// enterCatalog returns the descriptor of a metric in the catalog. It adds the
// metric if necessary. It returns nil if the catalog is full.
func enterCatalog(name string, h uint64) *descriptor {
	catalogMu.Lock()
	defer catalogMu.Unlock()
	d, place := findCatalogued(name, h)
	if d != nil { // another goroutine was faster
		return d
	}
	if catalogSize.Load() == maxCatalog {
		return nil
	}
	d = new(descriptor)
	d.format(kindOf(h), name)
	d.hash, d.id = h, uint32(place)+1
	catalog[place].hash = h
	catalog[place].descriptor.Store(d)
	catalogSize.Add(1)
	return d
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
			d := enterCatalog(name, hashName(kind, name))
			d.name = name // the constant itself, because wellKnown compares addresses
			all = append(all, d)
		}
	}
	enter(KindTimer, knownTimers[:])
	enter(KindCounter, knownCounters[:])
	enter(KindTimer, knownOperations[:])
	enter(KindHistogram, knownOperations[:])
	setWellKnown(all)
}
