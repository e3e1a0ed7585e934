// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"strings"
	"testing"
)

// Rules are said to be unreached by the replay, not by the server.
func TestUnreachedText(t *testing.T) {
	for _, c := range []struct {
		notRepeatable uint64
		unreached     []Source
		want          bool
	}{{1, []Source{{}}, true}, {0, []Source{{}}, false}, {1, nil, false}} {
		r := &Report{Results: Results{NotRepeatable: c.notRepeatable}, Profile: &Profile{Unreached: c.unreached}}
		if got := strings.Contains(strings.Join(r.summary(), "\n"), "the server's may have reached more"); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
