// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"maps"
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"p"}
not JSON
{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"passes\n"}
{"Action":"pass","Package":"p","Test":"A","Elapsed":1}
{"Action":"output","Package":"p","Test":"B/x","Output":"cause\n"}
{"Action":"fail","Package":"p","Test":"B/x"}
{"Action":"output","Package":"p","Test":"B","Output":"above\n"}
{"Action":"fail","Package":"p","Test":"B"}
{"Action":"pass","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Test":"C","Output":"reason\n"}
{"Action":"skip","Package":"p","Test":"C"}
{"Action":"run","Package":"p","Test":"D"}
{"Action":"output","Package":"p","Test":"D","Output":"hangs\n"}
{"Action":"output","Package":"p","Output":"FAIL p\n"}
{"Action":"fail","Package":"p","Elapsed":2.5}
`

func TestReadTestRun(t *testing.T) {
	long := `{"Action":"output","Package":"p","Test":"long","Output":"` + strings.Repeat("x", maxOutput/4) + `"}` + "\n"
	r := readTestRun([]byte(events + strings.Repeat(long, 10)))
	if want := map[string]string{"": "pass", "A": "pass", "B": "fail", "B/x": "fail", "C": "skip"}; !maps.Equal(r.results, want) {
		t.Errorf("results %v", r.results)
	}
	if s := r.side(); s != (Side{Passed: 1, Failed: 2, Skipped: 1, Seconds: 2.5}) {
		t.Errorf("side %+v", s)
	}
	if n := len(r.output["long"]); n != maxOutput {
		t.Errorf("kept %d bytes", n)
	}
	delete(r.output, "long")
	for test, want := range map[string]string{
		"B":   "above\ncause\n",
		"B/x": "cause\n",
		"":    "above\ncause\nhangs\nnot JSON\nFAIL p\n",
		"Z":   "not JSON\nFAIL p\n",
	} {
		if got := r.failureOutput(test); got != want {
			t.Errorf("output of %q: %q, want %q", test, got, want)
		}
	}
}
