// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestQuantilesByPath(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&log, `{"path":"%sa/b","input":{"metrics":{"timer_rego_query_eval_ns":7}},"metrics":{"timer_rego_query_eval_ns":%d,"timer_server_handler_ns":0}}`+"\n",
			strings.Repeat("/", i%2), 1000-i)
	}
	log.WriteString(`{"query":"data.x = y","metrics":{"timer_server_handler_ns":5}}`) // no newline
	rows, err := quantilesByPath(strings.NewReader(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(rows)
	const want = `[{"path":"(query)","rego_external_resolve":null,"rego_input_parse":null,"rego_query_eval":null,"server_handler":[5,5,5,5]},` +
		`{"path":"a/b","rego_external_resolve":null,"rego_input_parse":null,"rego_query_eval":[500,900,990,999],"server_handler":null}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := quantilesByPath(strings.NewReader("{")); err == nil {
		t.Error("no error for a line that breaks off")
	}
}
