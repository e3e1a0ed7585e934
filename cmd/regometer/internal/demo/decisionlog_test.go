// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// testdata/decisions.jsonl was recorded from OPA.
func TestReadStagesOfOPA(t *testing.T) {
	t.Parallel()
	log, err := os.ReadFile("testdata/decisions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all, err := readStages(strings.NewReader(string(log)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(all["rego_query_eval"].values); n != 15 {
		t.Errorf("%d evaluations, want 15", n)
	}
	if s := all["server_handler"]; len(s.values) != 13 || s.unfinished != 2 || s.values[0] != 492308 {
		t.Errorf("server_handler %+v", s)
	}
	inBits, err := readStages(iotest.OneByteReader(strings.NewReader(string(log))))
	if err != nil || !reflect.DeepEqual(inBits, all) {
		t.Errorf("byte by byte: %v, %v", inBits, err)
	}
}

func TestReadStages(t *testing.T) {
	t.Parallel()
	const event = `{"msg":"Decision Log","labels":{},"path":"p","result":true,"metrics":`
	log := `panic: something
{"level":"error","msg":"Listener failed."}
{"level":"error","msg":"cannot write a \"Decision Log\""}
` + event + `{"timer_a_ns":9007199254740993,"counter_b":2,"histogram_c":{"count":1}}}
` + event + `{"timer_a_ns":0,"timer_d_ns":{}},"input":"` + strings.Repeat("x", 3<<20) + `"}
` + event + `{"timer_a_ns":7}`
	got, err := readStages(strings.NewReader(log))
	want := stages{"a": {values: []int64{9007199254740993}, unfinished: 1}}
	if err != nil || len(got["a"].values) != 1 || got["a"].values[0] != want["a"].values[0] || got["a"].unfinished != 1 {
		t.Errorf("%+v, %v, want %+v", got["a"], err, want["a"])
	}
	for name, s := range got {
		if name != "a" && len(s.values)+s.unfinished > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if got, err := readStages(strings.NewReader(event + `{"timer_a_ns":7}}`)); err != nil || len(got["a"].values) != 1 {
		t.Errorf("without a newline at the end: %+v, %v", got["a"], err)
	}
	broken := errors.New("broken disk")
	if _, err := readStages(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}
