// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/stages"
)

// Stage is an entry in the table of stages.
type Stage struct {
	// Name is the timer's name, without "timer_" and "_ns". A name that ends in
	// * is a family. Timers whose names begin with it, and that have no entry
	// of their own, belong to stage Other.
	Name string

	// Parent is the stage that contains this one, or "". It may be several
	// names, separated by spaces, if any of these stages can contain this one.
	// The parents and the stages around them are ancestors. The stage's time is
	// subtracted from the innermost ancestor that the decision has.
	Parent string

	// Help says in one line what the stage measures. [New] ignores it.
	Help string
}

// The parents of more than one stage.
const (
	handler    = "server_handler"
	decision   = "sdk_decision_eval"
	loading    = "rego_load_files rego_load_bundles"
	evaluation = "rego_query_eval rego_partial_eval"
)

// defaultStages holds the timers that a supported OPA can leave in a decision's
// metrics. The server's decisions have none of the SDK's timers, so both can
// use the same chain of parents.
var defaultStages = []Stage{
	{handler, "", "the server's whole handling of a request, except reading it and writing the response"},
	{decision, handler, "the SDK's whole decision"},

	{"rego_input_parse", decision, "reading and parsing the input document"},
	{"rego_query_parse", decision, "parsing the query, and in the Compile API reading the request"},
	{"rego_load_files", decision, "loading policies and data from files, by programs that embed OPA"},
	{"rego_load_bundles", decision, "loading bundles from files, by programs that embed OPA"},
	{"rego_module_parse", loading + " " + decision, "parsing policies that are not parsed yet"},
	{"rego_data_parse", loading + " " + decision, "parsing data that is loaded from files"},
	{"rego_module_compile", decision, "compiling policies after partial evaluation"},
	{"rego_query_compile", decision, "compiling the query, which is cached for later decisions"},
	{"rego_partial_eval", decision, "evaluating the query as far as the known part of the input allows"},
	{"rego_query_eval", "compile_eval_mask_rule " + decision, "evaluating the query"},

	{"rego_builtin_http_send", evaluation, "calls of http.send, including those answered from its cache"},
	{"rego_external_resolve", evaluation, "looking for parts of the policy that are compiled to Wasm, and evaluating them"},
	{"external_lookup_compile_module", evaluation, "compiling rules that an external source supplies"},
	{"disk_read", evaluation, "reading data from the disk storage"},

	{"wasm_pool_acquire", "rego_external_resolve " + decision, "waiting for a Wasm virtual machine, or making one"},
	{"wasm_vm_eval", "rego_external_resolve " + decision, "evaluating in a Wasm virtual machine"},
	{"wasm_vm_eval_prepare_input", "wasm_vm_eval", "handing the input to the Wasm virtual machine"},
	{"wasm_vm_eval_call", "wasm_vm_eval", "running the policy compiled to Wasm"},
	{"wasm_vm_eval_execute", "wasm_vm_eval", "running a policy compiled to Wasm by an older OPA"},
	{"wasm_vm_eval_prepare_result", "wasm_vm_eval", "reading the result of a policy compiled to Wasm by an older OPA"},
	{"wasm_pool_release", "rego_external_resolve " + decision, "giving back a Wasm virtual machine"},

	{"compile_extract_annotations_unknowns", handler, "Compile API: finding the unknowns in annotations"},
	{"compile_extract_annotations_mask", handler, "Compile API: finding the mask rule in annotations"},
	{"compile_prep_partial", handler, "Compile API: preparing partial evaluation"},
	{"compile_eval_constraints", "compile_prep_partial", "Compile API: checking the targets and preparing the queries"},
	{"compile_eval_mask_rule", handler, "Compile API: evaluating the mask rule"},
	{"compile_translate_queries", handler, "Compile API: translating the result into filters"},

	{"query_compile_stage_*", "rego_query_compile", "instrumentation: steps of compiling the query"},
	{"compile_stage_*", "rego_module_compile", "instrumentation: steps of compiling policies"},
	{"eval_op_*", evaluation, "instrumentation: kinds of operations of the evaluation"},
	{"partial_op_*", "rego_partial_eval", "instrumentation: kinds of operations of partial evaluation"},
}

// defaultCounters are the counters that a supported OPA can leave in a
// decision's metrics, except those of its instrumentation.
var defaultCounters = []string{
	"server_query_cache_hit",
	"rego_builtin_http_send_interquery_cache_hits",
	"rego_builtin_http_send_network_requests",
	"rego_builtin_glob_interquery_value_cache_hits",
	"rego_builtin_regex_interquery_value_cache_hits",
	"disk_read_keys",
	"disk_read_bytes",
	"disk_written_keys",
	"disk_deleted_keys",
}

// DefaultCounters returns the counters that always have a label of their own.
// The caller owns the slice.
func DefaultCounters() []string { return slices.Clone(defaultCounters) }

// DefaultPathStages returns the stages whose durations are kept by path: the
// whole decision, and the evaluation of the policy. The caller owns the slice.
func DefaultPathStages() []string { return []string{handler, "rego_query_eval"} }

// DefaultStages returns the table of OPA's stages. The caller owns the slice.
//
// The families at its end are the timers of OPA's instrumentation, which a
// request asks for by ?instrument=true. Its counters have the same names.
func DefaultStages() []Stage { return slices.Clone(defaultStages) }

// newStageTable returns the table of the default stages and more. It fails if
// more has an invalid or a double entry, or if a parent is unknown.
func newStageTable(more []Stage) (t stages.Table, err error) {
	var entries []stages.Entry
	for _, s := range defaultStages {
		entries = append(entries, stages.Entry{Name: s.Name, Parent: s.Parent})
	}
	replaced := map[string]bool{}
	for i, s := range more {
		if err := checkName("Stages", i, s.Name); err != nil {
			return t, err
		}
		if replaced[s.Name] {
			return t, fmt.Errorf("rollup: Stages[%d]: stage %q is listed twice: remove one", i, s.Name)
		}
		replaced[s.Name] = true
		entry := stages.Entry{Name: s.Name, Parent: s.Parent}
		if at := slices.IndexFunc(entries, func(e stages.Entry) bool { return e.Name == s.Name }); at >= 0 {
			entries[at] = entry
		} else {
			entries = append(entries, entry)
		}
	}
	if t, err = stages.NewTable(entries); err != nil {
		return t, fmt.Errorf("rollup: Stages: %w", err)
	}
	return t, nil
}

// checkName returns an error if a name cannot be the label of a stage or
// counter. The name is element i of the option.
func checkName(option string, i int, name string) error {
	if name == "" || name == Other || strings.ContainsFunc(name, unicode.IsSpace) ||
		!utf8.ValidString(name) || len(name) > stages.MaxName {
		return fmt.Errorf("rollup: %s[%d]: %.80q is not a valid name: "+
			"it must have 1 to %d bytes of UTF-8, no spaces, and differ from %q", option, i, name, stages.MaxName, Other)
	}
	return nil
}

// keepByPath marks the stages with these names as kept by path. It fails if a
// name is unknown or listed twice.
func keepByPath(t stages.Table, names []string) error {
	slots := uint32(0)
	for i, name := range names {
		at := slices.IndexFunc(t.Stages, func(m *stages.Metric) bool { return m.Name == name })
		switch {
		case at < 0:
			return fmt.Errorf("rollup: PathStages[%d]: %q is not in the table of stages: use one of its names, or add a Stage", i, name)
		case t.Stages[at].PathIndex >= 0:
			return fmt.Errorf("rollup: PathStages[%d]: stage %q is listed twice: remove one", i, name)
		}
		t.Stages[at].PathIndex = i
		if slot := t.Stages[at].Slot; slot >= 0 {
			slots |= 1 << slot
		}
	}
	for _, m := range t.Stages {
		if m.PathIndex >= 0 {
			m.PathAncestors = m.Ancestors & slots
		}
	}
	return nil
}
