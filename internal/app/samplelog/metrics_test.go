// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import "testing"

// TestSelf: what a stage took is taken from the nearest that contains it, is
// there, and was finished.
func TestSelf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                                           string
		handler, eval, resolve, parse                  int64
		selfHandler, selfEval, selfResolve, selfParsed int64
	}{
		{"all", 100, 60, 5, 20, 20, 55, 5, 20},
		{"no evaluation", 100, -1, 5, 20, 75, -1, 5, 20},
		{"evaluation not finished", 100, 0, 5, 20, 75, 0, 5, 20},
		{"handler not finished", 0, 60, 5, 20, 0, 55, 5, 20},
		{"neither", -1, -1, 5, 20, -1, -1, 5, 20},
	} {
		var n numbers
		n.clear()
		n.timers[handler], n.timers[eval], n.timers[resolve], n.timers[inputParse] = test.handler, test.eval, test.resolve, test.parse
		got := n.self()
		for _, want := range []struct {
			stage stage
			self  int64
		}{
			{handler, test.selfHandler}, {eval, test.selfEval}, {resolve, test.selfResolve}, {inputParse, test.selfParsed}, {compile, -1},
		} {
			if got[want.stage] != want.self {
				t.Errorf("%s: %s took %d itself, want %d", test.name, stageNames[want.stage], got[want.stage], want.self)
			}
		}
	}
}
