// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// Hours and days are those of UTC, wherever the report is made. The test
// changes what is local, so that it does not run in parallel with others.
func TestTimeKeys(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	time.Local = time.FixedZone("elsewhere", -7*3600)
	at := time.Date(2026, 1, 2, 3, 59, 59, 0, time.UTC).UnixNano()
	for _, test := range []struct {
		by   string
		time int64
		want string
	}{
		{"hour", at, "2026-01-02T03:00Z"}, {"hour", at + 1e9, "2026-01-02T04:00Z"}, {"day", at, "2026-01-02"},
		{"hour", -1, "1969-12-31T23:00Z"}, {"hour", logread.NoTime, "(none)"}, {"day", logread.NoTime, "(none)"},
	} {
		key, err := keyOf(test.by)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(key(&logread.Event{Time: test.time}, nil)[0]); got != test.want {
			t.Errorf("%s of %d: got %s, want %s", test.by, test.time, got, test.want)
		}
	}
}

func TestWithoutPort(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"": "", "host": "host", "host:80": "host", "10.0.0.1:80": "10.0.0.1", "[::1]:80": "::1", "[2001:db8::1]:80": "2001:db8::1",
		"::1": "::1", "2001:db8::1": "2001:db8::1", "2001:db8:0:0:0:0:0:1": "2001:db8:0:0:0:0:0:1", ":80": "", "[]:80": "", "[:80": "[",
	} {
		if got := string(withoutPort([]byte(address))); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"a", "a", true}, {"a", "a/b", true}, {"a", "ab", false}, {"a", "b/a", false},
		{"a/b", "a/b", true}, {"a/b", "a/b/c", true}, {"a/b", "a", false}, {"a/b", "a/", false},
		{"*", "a", true}, {"a/*", "a/b", true}, {"a/*", "a", false}, {"*/b", "a/b/c", true}, {"*/b", "b", false},
		{"/a/b/", "a/b", true}, {"a/*/c", "a/b/c", true}, {"a/*/c", "a/b/d", false}, {"*", "", false},
	} {
		if got := matches([]byte(test.path), test.pattern); got != test.want {
			t.Errorf("%q matches %q: got %v", test.pattern, test.path, got)
		}
	}
}

// A decision is in the group of each value that a label of its rules has. The
// totals count it once, also after saving and merging.
func TestByRule(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "decisions.log")
	log := `{"decision_id":"1","path":"a","result":{"ok":true},"rule_labels":[{"team":"x"},{"team":"y"},{"team":"x"}],"metrics":{"timer_server_handler_ns":5}}
{"decision_id":"2","path":"a","result":{"ok":false},"rule_labels":[{"team":"y"}],"metrics":{"timer_server_handler_ns":7}}
{"decision_id":"3","path":"a","result":{},"rule_labels":[{"other":"z"}],"metrics":{"timer_server_handler_ns":11}}
`
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	verdicts, err := outcome.NewVerdicts(map[string]string{"a": "result.ok"})
	if err != nil {
		t.Fatal(err)
	}
	read := func() *Data {
		x, err := Read(context.Background(), Options{Inputs: []string{file}, By: "rule:team", Verdicts: verdicts, Slowest: 3, Exact: false})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := x.Save(&b); err != nil {
			t.Fatal(err)
		}
		if x, err = load(&b); err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := read()
	if err := x.Merge(read()); err != nil {
		t.Fatal(err)
	}
	r := x.Report()
	got := fmt.Sprintln("all", r.Total.Decisions, r.Total.Time, r.Total.Outcomes)
	for i := range r.Groups.Len() {
		g := r.Groups.At(i)
		got += fmt.Sprintln(g.Key, g.Decisions, g.Time, g.Outcomes)
	}
	want := "all 6 46 [2 2 2 0 0 0]\ny 4 24 [2 2 0 0 0 0]\n(none) 2 22 [0 0 2 0 0 0]\nx 2 10 [2 0 0 0 0 0]\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if s := r.Slowest[2].Key; s != "y" {
		t.Errorf("the third slowest decision has the key %q", s)
	}
}
