// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package register_test

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	_ "github.com/regometer/regometer/opa/plugin/register"
)

// The import alone registers the plugin, and keeps http.send.
func Example() {
	fmt.Println(topdown.GetBuiltin(ast.HTTPSend.Name) != nil)
	// Output: true
}
