// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/logread"
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

// The keys of a field of the input or the result, in the order of the text.
func TestFieldKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxKey-1)
	var many, most []string
	for i := range maxElements + 1 {
		many = append(many, strconv.Itoa(i))
	}
	most = many[:maxElements]
	const secret = `{"input":{"user":"**","roles":["a","**"]}`
	for _, test := range []struct{ by, event, want string }{
		{"input:user", `{"input":{"user":"alice","other":{"user":"bob"}}`, "alice"},
		{"input:user", `{"input":{"user":"alice","user":"bob"}`, "bob"},
		{"input:user", `{"input":{"\u0075ser":"\u00e9\"\n"}`, "é\"\n"},
		{"input:user", `{"input":{"user":""}`, "(empty)"},
		{"input:user", `{"input":{"user":"` + long + `é"}`, long},
		{"input:user", `{"input":{"user":"` + long + "\xff" + `"}`, long},
		{"input:n", `{"input":{"n":"1"}`, "1"},
		{"input:n", `{"input":{"n": 1 }`, "1"},
		{"input:n", `{"input":{"n":1.0}`, "1.0"},
		{"input:n", `{"input":{"n":-12345678901234567890e-99}`, "-12345678901234567890e-99"},
		{"input:n", `{"input":{"n":true}`, "true"},
		{"input:n", `{"input":{"n":null}`, "null"},
		{"input:n", `{"input":{"n":{"user":1}}`, "(object)"},
		{"input:user", `{"input":{}`, "(none)"},
		{"input:user", `{"input":null`, "(none)"},
		{"input:user", `{"input":"user"`, "(none)"},
		{"input:user", `{"result":{"user":"alice"}`, "(none)"},
		{"result:user", `{"input":{"user":"bob"},"result":{"user":"alice"}`, "alice"},
		{"result:user", `{"result":true`, "(none)"},
		{"result:user", `{"result":null`, "(none)"},
		{"input:a.b.c", `{"input":{"a":{"b":{"c":1}}}`, "1"},
		{"input:a.b.c", `{"input":{"a.b":{"c":1}}`, "(none)"},
		{"input:/a.b/~0~1/", `{"input":{"a.b":{"~/":{"":1}}}`, "1"},
		{"input:/a/1/b", `{"input":{"a":[{"b":1},{"b":2}]}`, "2"},
		{"input:a.01", `{"input":{"a":[1,2]}`, "(none)"},
		{"input:a.b", `{"input":{"a":[{"b":1}]}`, "(none)"},

		{"input:roles", `{"input":{"roles":["a", 1 ,"1",true,null,{"b":1},[2],"","a"]}`, "a|1|true|null|(object)|(list)|(empty)"},
		{"input:roles", `{"input":{"roles":[ ]}`, "(none)"},
		{"input:roles", `{"input":{"roles":[` + strings.Join(many, ",") + `]}`, strings.Join(most, "|")},

		{"input:user", secret + `,"masked":["/input/user"]`, "(masked)"},
		{"input:user", secret + `,"masked":["/input"],"erased":["/input"]`, "(masked)"},
		{"input:user", secret + `,"masked":["/input/use","/input/user/name","/result/user","user","/",1]`, "**"},
		{"input:user", secret + `,"masked":null,"erased":"/input/user"`, "**"},
		{"input:/a~1b", `{"input":{},"erased":["/input/a~1b"]`, "(erased)"},
		{"input:user", `{"erased":["/result","/input"]`, "(erased)"},
		{"input:user", `{"input":{},"erased":["/input/\u0075ser"]`, "(erased)"},
		{"input:user", `{"input":{},"erased":["/input/roles"]`, "(none)"},
		{"result:user", `{"result":{},"erased":["/input/user","/result/user"]`, "(erased)"},
		{"input:roles", secret + `,"masked":["/input/roles/1"]`, "a|(masked)"},
		{"input:roles", `{"input":{"roles":["a",{"b":"**"}]},"masked":["/input/roles/1/b"]`, "a|(object)"},
		{"input:roles", secret + `,"erased":["/input/roles/0"]`, "a|**|(erased)"},
		{"input:roles.1", secret + `,"masked":["/input/roles/1"]`, "(masked)"},
		{"input:roles", `{"input":{"roles":[]},"erased":["/input/roles/0"]`, "(erased)"},

		{"rule:team", `{"rule_labels":[{"team":"a","x":1},{"team":"b"},7,[],{},{"te\u0061m":"a\n"},{"team":"a"},{"x":{"team":"no"}}]`, "a|b|a\n"},
		{"rule:x", `{"rule_labels":[{"x":{"team":"no"}},{"x":1.0},{"x":""}]`, "(object)|1.0|(empty)"},
		{"rule:y", `{"rule_labels":[{"x":1}]`, "(none)"},
		{"label:x", `{"labels":{"x":"a","y":"b"}`, "a"},

		// Values whose grammar the reader does not check.
		{"input:user", `{"input":{"user"}`, "(none)"},
		{"input:user", `{"input":{"user" 1}`, "(none)"},
		{"input:user", `{"input":{1:2,"user":1}`, "(none)"},
		{"input:roles", `{"input":{"roles":["a" "b",,"c"]}`, "a"},
	} {
		keysOf, err := keyOf(test.by)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		reader := logread.NewReader(logread.Options{
			Metric: func([]byte) int32 { return -1 }, Problem: func(logread.Problem, int64) {},
			Event: func(e *logread.Event) { got = bytes.Join(keysOf(e, nil), []byte("|")) },
		})
		reader.Close([]byte(test.event + `,"decision_id":"1","path":"a"}`))
		if string(got) != test.want {
			t.Errorf("%s of %.99s: got %.99q, want %.99q", test.by, test.event, got, test.want)
		}
	}
	for _, by := range []string{"input:", "input", "result:a..b", "result:.a", "input:a.", "inputs:a"} {
		if _, err := keyOf(by); err == nil {
			t.Errorf("%s is a grouping", by)
		}
	}
}

// Without the flag, nothing has a value of an input or of a result.
func TestNoInput(t *testing.T) {
	t.Parallel()
	log := `{"decision_id":"1","path":"a","input":{"user":"secret"},"result":{"user":"secret","allow":true},"metrics":{"timer_server_handler_ns":5}}`
	for _, by := range []string{"path", "input:user", "result:user"} {
		x := readLog(t, log, Options{By: by, Slowest: 1})
		if has := strings.Contains(fmt.Sprint(outputs(t, x)), "secret"); has != (by != "path") {
			t.Errorf("--by %s: has the value: %t", by, has)
		}
	}
}

// A decision is in the group of each value that a label of its rules has, or a
// list in the input. The totals count it once, also after saving and merging.
func TestInSeveral(t *testing.T) {
	t.Parallel()
	log := `{"decision_id":"1","path":"a","result":{"ok":true},"rule_labels":[{"team":"x"},{"team":"y"},{"team":"x"}],"input":{"team":["x","y","x"]},"metrics":{"timer_server_handler_ns":5}}
{"decision_id":"2","path":"a","result":{"ok":false},"rule_labels":[{"team":"y"}],"input":{"team":"y"},"metrics":{"timer_server_handler_ns":7}}
{"decision_id":"3","path":"a","result":{},"rule_labels":[{"other":"z"}],"metrics":{"timer_server_handler_ns":11}}
`
	for _, by := range []string{"rule:team", "input:team"} {
		read := readLog(t, log, Options{By: by, Outcomes: map[string]string{"a": "result.ok"}, Slowest: 3})
		slow := read.Report().Slowest
		x := saveAndLoad(t, read)
		if err := x.Merge(saveAndLoad(t, read)); err != nil {
			t.Fatal(err)
		}
		r := x.Report()
		got := fmt.Sprintln("all", r.Total.Decisions, r.Total.Time, r.Total.Outcomes)
		for i := range r.Groups.Len() {
			g := r.Groups.At(i)
			got += fmt.Sprintln(g.Key, g.Decisions, g.Time, g.Outcomes)
		}
		const want = "all 6 46 [2 2 2 0 0 0]\ny 4 24 [2 2 0 0 0 0]\n(none) 2 22 [0 0 2 0 0 0]\nx 2 10 [2 0 0 0 0 0]\n"
		if got != want {
			t.Errorf("--by %s: got\n%swant\n%s", by, got, want)
		}
		if s := slow[1].Key; s != "y" {
			t.Errorf("--by %s: the second slowest decision has the key %q", by, s)
		}
	}
}

// Many groups have wide slices of time, and the total has those that its width
// says.
func TestWidths(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 5000 {
		at := time.Unix(1_790_000_040+int64(i), 0).UTC().Format(time.RFC3339)
		fmt.Fprintf(&log, `{"decision_id":"%d","timestamp":%q,"path":"a","input":{"user":"%d"}}`+"\n", i, at, i)
	}
	r := readLog(t, log.String(), Options{By: "input:user"}).Report()
	if all := r.Total.Slices; all[1].Begin-all[0].Begin != r.Width || r.Width >= r.Groups.Width {
		t.Errorf("the width is %d, of groups %d, and slices begin at %d and %d", r.Width, r.Groups.Width, all[0].Begin, all[1].Begin)
	}
}

// A field of the result has its outcomes by itself, and decisions without a field
// are of another kind: neither is a finding.
func TestKeysBlamed(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 2000 {
		event := fmt.Sprintf(`"path":"a","input":{"user":"u"},"result":{"allow":%t}`, i%5 > 0)
		if i%4 == 0 {
			event = `"query":"x","metrics":{"timer_rego_query_compile_ns":90000,"timer_rego_query_eval_ns":9}`
		}
		at := time.Unix(1_790_000_000+int64(i)*7, 0).UTC().Format(time.RFC3339)
		fmt.Fprintf(&log, `{"decision_id":"%d","timestamp":%q,%s}`+"\n", i, at, event)
	}
	for _, by := range []string{"result:allow", "input:user"} {
		for _, f := range readLog(t, log.String(), Options{By: by}).Report().Findings {
			if strings.Contains(f.Text, by) {
				t.Error(by, f)
			}
		}
	}
}
