// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"
)

func TestCheckOptions(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	inputs := []string{"log"}
	for _, test := range []struct {
		o    Options
		want string // part of the error, "" if there is none
	}{
		{Options{}, "no decision logs"},
		{Options{Inputs: inputs}, ""},
		{Options{Inputs: inputs, Since: at, Until: at.Add(1)}, ""},
		{Options{Inputs: inputs, Since: at, Until: at}, "is not before"},
		{Options{Inputs: inputs, Since: at.Add(1), Until: at}, "is not before"},
		{Options{Inputs: inputs, Paths: []string{"a", "/"}}, `"/" is empty`},
		{Options{Inputs: inputs, By: "label:"}, `"label:"`},
		{Options{Inputs: inputs, By: "label:a"}, ""},
		{Options{Inputs: inputs, Outcomes: map[string]string{"a": "granted"}}, "--outcome a: invalid rule"},
	} {
		if err := test.o.Check(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got error %v, want %q", test.o, err, test.want)
		}
	}
}
