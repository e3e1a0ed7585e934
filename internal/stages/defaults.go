// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import "slices"

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
var defaultStages = []Entry{
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
func DefaultStages() []Entry { return slices.Clone(defaultStages) }

// errorCodes are the codes of OPA's errors that have a label of their own,
// sorted. Plugins of OPA can use other codes too.
var errorCodes = []string{
	"eval_builtin_error",
	"eval_cancel_error",
	"eval_conflict_error",
	"eval_http_send_internal_error",
	"eval_http_send_network_error",
	"eval_internal_error",
	"eval_type_error",
	"eval_with_merge_error",
	"evaluation_error",
	"internal_error",
	"invalid_operation",
	"invalid_parameter",
	"invalid_policy_or_data",
	"not_ready",
	"opa_internal_error",
	"rego_compile_error",
	"rego_parse_error",
	"rego_recursion_error",
	"rego_type_error",
	"rego_unsafe_var_error",
	"resource_conflict",
	"resource_not_found",
	"storage_internal_error",
	"storage_invalid_txn_error",
	"storage_not_found_error",
	"unauthorized",
}

// ErrorCodes returns the error codes of all supported releases of OPA, sorted.
// These codes have a label of their own. The caller owns the slice.
func ErrorCodes() []string { return slices.Clone(errorCodes) }

// ErrorTotal counts decisions of logs that ended in an error with this code.
type ErrorTotal struct {
	Code  string `json:"code"`
	Total uint64 `json:"count"`
}
