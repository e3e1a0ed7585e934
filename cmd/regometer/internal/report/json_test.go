// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/logread"
)

func TestWriteJSONEmpty(t *testing.T) {
	got := written(t, func(w io.Writer) error {
		return (&Report{From: logread.NoTime, To: logread.NoTime}).WriteJSON(w)
	})
	want := `{"version":1,"inputs":{"files":0,"bytes":0,"decisions":0,"other_lines":0,"problems":[],` +
		`"repeats":{"count":0,"left_out":0,"reused_ids":0,"sample":0,"without_id":0},` +
		`"gaps":{"without_time":0,"without_duration":0,"with_unreadable_metric":0,"with_hidden_result":0,"with_a_gap":0,"not_selected_without_time":0}},` +
		`"from":null,"to":null,"coverage":[],"rules_not_run":[],"findings":[],"groups":[]}` + "\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestKeyedJSON(t *testing.T) {
	for _, test := range []struct {
		by, key, want string
	}{
		{"path", "a<b", `{"path":"a<b","n":1}`},
		{`label:"\`, "a\xff", "{\"label:\\\"\\\\\":\"a\uFFFD\",\"n\":1}"},
	} {
		got := KeyedJSON(test.by, test.key, map[string]int{"n": 1}, struct{}{})
		if string(got) != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	r := sample(t)
	r.By = "hour"
	if got := written(t, func(w io.Writer) error { return r.WriteJSON(w) }); strings.Count(got, `{"hour":"`) < r.Groups.Len() {
		t.Errorf("groups by hour lack the member hour: %s", got)
	}
}
