// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"testing"
)

func readCSV(t *testing.T, r *Report) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(written(t, func(w io.Writer) error { return WriteCSV(w, r) }))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestWriteCSV(t *testing.T) {
	r := reportOf(
		groupOf("a,\"b\"\nc", [6]uint64{1, 2, 3, 4, 5, 6}, stageOf("s", 7, 7)),
		groupOf("bare", [6]uint64{1}))
	r.By = "label:team"
	r.Groups.At(0).Stages[0].Unfinished = 9
	want := [][]string{
		strings.Split("label:team,decisions,allowed,denied,result,undefined,error,cancelled,"+
			"stage,count,unfinished,sum_ns,self_ns,min_ns,max_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns", ","),
		append([]string{"a,\"b\"\nc"}, strings.Split("21,1,2,3,4,5,6,s,2,9,14,14,7,7,7,7,7,7,7", ",")...),
		strings.Split("bare,1,1,0,0,0,0,0,,,,,,,,,,,,", ","),
	}
	if got := readCSV(t, r); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestCSVFormulas(t *testing.T) {
	for _, s := range []string{"=1+1", "+1", "-1", "@x", "\t=1", "\r=1"} {
		if got := csvText(s); got != "'"+s {
			t.Errorf("%q: %q", s, got)
		}
	}
	for _, s := range []string{"", "a=1", "rbac/allow", "(query)", "é", "1"} {
		if got := csvText(s); got != s {
			t.Errorf("%q: %q", s, got)
		}
	}
	r := reportOf(groupOf("=key", [6]uint64{1}, stageOf("=stage", 1)))
	r.By = "=by"
	for _, row := range readCSV(t, r) {
		for _, cell := range row {
			if strings.HasPrefix(cell, "=") {
				t.Errorf("cell %q", cell)
			}
		}
	}
}
