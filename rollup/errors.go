// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "slices"

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

// indexOfCode returns the index of a code in errorCodes, or len(errorCodes) for
// other codes.
func indexOfCode(code string) int {
	if at, ok := slices.BinarySearch(errorCodes, code); ok {
		return at
	}
	return len(errorCodes)
}
