// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"

	"github.com/regometer/regometer/opa/metrics"
)

func Example() {
	m := metrics.New() // a value of OPA's type
	m.Counter(metrics.ServerQueryCacheHit).Incr()
	m.Timer(metrics.RegoQueryEval).Start()
	fmt.Println(m.All())
	// Output: map[counter_server_query_cache_hit:1 timer_rego_query_eval_ns:0]
}
