// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/regometer/regometer/decisionlog"
)

func TestWriteJSONEmpty(t *testing.T) {
	got := written(t, func(w io.Writer) error {
		return WriteJSON(w, &Report{From: decisionlog.NoTime, To: decisionlog.NoTime})
	})
	want := `{"version":1,"inputs":{"files":0,"bytes":0,"decisions":0,"other_lines":0,"problems":[]},` +
		`"from":null,"to":null,"findings":[],"groups":[]}` + "\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestWriteJSONBy(t *testing.T) {
	for _, by := range []string{"path", "hour", "label:team", `label:"\`} {
		r := sample()
		r.By = by
		var read struct {
			Groups []map[string]any `json:"groups"`
		}
		if err := json.Unmarshal([]byte(written(t, func(w io.Writer) error { return WriteJSON(w, r) })), &read); err != nil {
			t.Fatal(err)
		}
		if len(read.Groups) != r.Groups.Len() {
			t.Fatalf("%d groups", len(read.Groups))
		}
		for i, g := range read.Groups {
			if want := strings.ToValidUTF8(r.Groups.At(i).Key, "\uFFFD"); g[by] != want {
				t.Errorf("by %s: %q, want %q", by, g[by], want)
			}
		}
	}
}
