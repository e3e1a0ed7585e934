// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want string // in the error
	}{
		{"-parts tests,servers", `no part "servers", there are patches, tests, benchmarks, server`},
		{"-runs 0", "at least 1"},
		{"-quick -report", "-quick keeps no figures"},
		{"all", `unexpected argument "all"`},
	} {
		if _, err := parse(strings.Fields(test.args), io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want one with %q", test.args, err, test.want)
		}
	}
	for args, parts := range map[string]int{"": 4, "-report": 0, "-quick": 2, "-parts server": 1} {
		if o, err := parse(strings.Fields(args), io.Discard); err != nil || len(o.parts) != parts {
			t.Errorf("%q gives %+v, %v", args, o, err)
		}
	}
}
