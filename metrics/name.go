// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// descriptor is what follows from a metric's kind and name. It is immutable;
// those in the catalog are shared by all collections, so that a key is
// formatted and escaped once.
type descriptor struct {
	name string
	key  string // as in [Metrics.All]
	json string // the key as a JSON string, and a colon
	hash uint64 // in the catalog only; see hashName
	kind Kind
	id   uint32 // the place in the catalog and 1, or 0 if it is not there
}

// The catalog holds the descriptors of the names that recur: a hash table with
// open addressing to which names are added until it holds maxCatalog, and never
// removed, so that a collection can refer to a name by its place. To be added a
// name must appear in a collection twice before others take its place among the
// candidates: names that are made up for one use stay out.
const (
	catalogBits = 12
	maxPlaces   = 1 << catalogBits
	maxCatalog  = maxPlaces / 2
	// Longer names are not remembered, or they could hold much memory.
	maxKnownName = 128
)

var (
	nameSeed = maphash.MakeSeed()
	// catalog is read without a lock: the hash at a place is written before
	// the descriptor is stored.
	catalog [maxPlaces]struct {
		hash       uint64
		descriptor atomic.Pointer[descriptor]
	}
	catalogMu   sync.Mutex // guards adding to the catalog
	catalogSize atomic.Int32
	// candidates has the hashes of names that have appeared once. A new one
	// takes any place of its set, so that names that share one and recur in
	// turns do enter the catalog sooner or later.
	candidates [1 << 9][4]atomic.Uint64
)

// hashName hashes a metric's kind and name. The kind is in the lowest bits,
// where kindOf finds it, and in the others.
func hashName(kind Kind, name string) uint64 {
	h := maphash.String(nameSeed, name) + uint64(kind)*0x9e3779b97f4a7c15
	return h<<kindBits | uint64(kind)
}

const kindBits = 2

func kindOf(h uint64) Kind { return Kind(h % (1 << kindBits)) }

// identify returns the hash of a metric, and its descriptor if it is well
// known.
func identify(kind Kind, name string) (uint64, *descriptor) {
	if d := wellKnown(kind, name); d != nil {
		return d.hash, d
	}
	return hashName(kind, name), nil
}

// meet is called when a metric that is not well known appears in a collection.
// It returns the descriptor in the catalog, which the metric enters if it has
// appeared before, or nil.
func meet(name string, h uint64) *descriptor {
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

// findCatalogued returns the descriptor of a metric in the catalog, or nil and
// the place where it would be.
func findCatalogued(name string, h uint64) (*descriptor, uint64) {
	for i := h >> kindBits; ; i++ {
		place := i % maxPlaces
		d := catalog[place].descriptor.Load()
		if d == nil || catalog[place].hash == h && d.name == name {
			return d, place
		}
	}
}

// enterCatalog adds a metric to the catalog, if it is not there. It returns nil
// if there is no room any more.
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

// descriptors makes the descriptors of metrics that lack one when they are
// read.
type descriptors struct {
	free []descriptor
	next int // how many to allocate
}

// of returns the descriptor of a metric, which is stored at the pointer.
func (s *descriptors) of(kind Kind, name string, at *atomic.Pointer[descriptor]) *descriptor {
	d := at.Load()
	if d == nil {
		if len(s.free) == 0 {
			s.next = min(max(2*s.next, 4), maxEntries)
			s.free = make([]descriptor, s.next)
		}
		d = &s.free[0]
		s.free = s.free[1:]
		d.format(kind, name)
		at.Store(d) // no matter if another reader stores an equal one
	}
	return d
}

// format makes d the descriptor of a metric. It keeps nothing of name's bytes,
// which may be part of a large buffer of the caller's.
func (d *descriptor) format(kind Kind, name string) {
	prefix, suffix := "timer_", "_ns"
	switch kind {
	case KindCounter:
		prefix, suffix = "counter_", ""
	case KindHistogram:
		prefix, suffix = "histogram_", ""
	}
	d.kind = kind
	if isPlainJSON(name) {
		d.json = `"` + prefix + name + suffix + `":`
		d.key = d.json[1 : len(d.json)-2]
		d.name = d.key[len(prefix) : len(prefix)+len(name)]
		return
	}
	d.key = prefix + name + suffix
	d.name = d.key[len(prefix) : len(prefix)+len(name)]
	quoted, err := json.Marshal(d.key)
	if err != nil { // cannot happen: any string can be marshalled
		panic(err)
	}
	d.json = string(quoted) + ":"
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
			d := enterCatalog(name, hashName(kind, name))
			d.name = name // a constant, with the address that callers have
			all = append(all, d)
		}
	}
	enter(KindTimer, knownTimers[:])
	enter(KindCounter, knownCounters[:])
	enter(KindTimer, knownOperations[:])
	enter(KindHistogram, knownOperations[:])
	setWellKnown(all)
}
