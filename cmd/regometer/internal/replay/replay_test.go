// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/config"

	"github.com/regometer/regometer/cmd/regometer/internal/collect"
)

// everything has an example of each part of Rego that a log must tell enough
// about.
const everything = `package every["my-policy"]
import data.names
default allow := false
allow if { input.user == "alice"; not input.blocked }
allow if input.user in names
deny contains "no" if not allow
parts[name] := length if { some name in names; length := count(name) }
double(x) := 2 * x
big := double(input.number)
squares := [y | some x in input.list; y := x * x]
sets := {x | some x in input.list}
mocked if allow with input.user as "alice"
paths := {path | walk(input, [path, _])}
each if { every x in input.list { x < 10 } }
sent := http.send({"method": "GET", "url": input.url}).body
quiet := http.send({"method": "GET", "url": input.url, "raise_error": false}).body
looked := {a | some a in net.lookup_ip_addr("localhost")}
now := time.now_ns()
dice := rand.intn(input.user, 1000000000)
id := uuid.rfc4122(input.user)
labels := opa.runtime().config.labels.region
named := opa.runtime().config.labels.id # which no configuration has
conflict := input.list[_]
number := to_number(input.user)
evaluation := {"decision": allow, "context": {"reasons": deny}}
evaluations := {"evaluations": [{"decision": e.subject.id == "alice"} | some e in input.evaluations]}
blob := base64.decode("gICA") # not UTF-8
nest := {{1, {2, 3}}, {3}}
grade := "a" if { input.number > 10 } else := "b" if { input.number > 5 } else := "c"
then := now if now := time.now_ns() with time.now_ns as 5
templated := $"x {input.number}"
deep.a[name].b := {name} if { some name in names }
odd := [1e3, 0.1 + 0.2, -0, 10 / 3, 123456789012345678901234567890 * 3, sprintf("%d", [9007199254740993])]
nothing := null
filter if input.fruits.colour == input.colour
`

var everyRequest = []request{
	`/v1/data/every/my-policy/allow {"input": {"user": "alice"}}`,
	`/v1/data/every/my-policy/allow {"input": {"user": "bob"}}`,
	`/v1/data/every/my-policy/allow {"input": {"user": "erin", "blocked": true}}`,
	`/v1/data/every/my-policy/deny {"input": {"user": "bob"}}`,
	`/v1/data/every/my-policy/parts {}`,
	`/v1/data/every/my-policy/parts`,
	`/v1/data/every/my-policy/big {"input": {"number": 9007199254740993}}`,
	`/v1/data/every/my-policy/big {"input": {"number": 1e400}}`,
	`/v1/data/every/my-policy/squares {"input": {"list": [1, 2.50, 3]}}`,
	`/v1/data/every/my-policy/sets {"input": {"list": [3, 1, {"a": [1]}]}}`,
	`/v1/data/every/my-policy/mocked {"input": {"user": "bob"}}`,
	`/v1/data/every/my-policy/paths {"input": {"a": {"b/c": [1, null]}}}`,
	`/v1/data/every/my-policy/each {"input": {"list": [1, 12]}}`,
	`/v1/data/every/my-policy/conflict {"input": {"list": [1, 2]}}`,
	`/v1/data/every/my-policy/number {"input": {"user": "x"}}`,
	`/v1/data/every/my-policy/number?strict-builtin-errors=true {"input": {"user": "x"}}`,
	`/v1/data/every/my-policy/labels {"input": {}}`,
	`/v1/data/every/my-policy/named {"input": {}}`,
	`/v1/data/every/my-policy/evaluation {"input": {"user": "bob"}}`, // as AuthZEN asks
	`/v1/data/every/my-policy/evaluations {"input": {"evaluations": [{"subject": {"id": "alice"}}, {"subject": {"id": "bob"}}]}}`,
	`/v1/data/every/my-policy/nothing {}`,
	`/v1/data/every/my-policy/blob {}`,
	`/v1/data/every/my-policy/nest {"input": null}`,
	`/v1/data/every/my-policy/grade {"input": {"number": 7}}`,
	`/v1/data/every/my-policy/then {}`,
	`/v1/data/every/my-policy/templated {"input": {"number": 1.50e2}}`,
	`/v1/data/every/my-policy/deep/a/erin`,
	`/v1/data/every/my-policy/odd {"input": {"\u0000": "\ud800", "a": 1, "a": 2}}`,
	`/v1/data/every/gone {"input": {}}`,
	`/v1/data/names/0`,
	`/v1/data/names/0/x`,
	`/v0/data/every/my-policy/allow {"user": "alice"}`,
	`/ {"user": "alice"}`,
	`/v1/query {"query": "data.names[i] = name"}`,
	`/v1/query {"query": "data.names[i] = \"nobody\""}`,
	`/v1/query {"query": "http.send({\"method\": \"GET\", \"url\": \"http://127.0.0.1:1\"}, x)"}`,
}

// A replay of what a server has logged has the same results, with a logged answer
// of each built-in function, or else with the reason. It asks no other server.
func TestSameResults(t *testing.T) {
	var asked atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"n": %d}`, asked.Add(1))
	}))
	defer web.Close()
	dir := lay(t, "every/every.rego", everything, "main.rego", "package system\nmain := data.every[\"my-policy\"].allow", "data.json", `{"names": ["carol", "dave", "erin"]}`)
	requests := append(slices.Clone(everyRequest), `/v1/compile/every/my-policy/filter {"input": {"colour": "red"}, "unknowns": ["input.fruits"]}`)
	for _, rule := range []string{"sent", "quiet", "looked", "now", "dice", "id"} {
		requests = append(requests, request(fmt.Sprintf(`/v1/data/every/my-policy/%s {"input": {"url": %q, "user": "x"}}`, rule, web.URL)))
	}
	const partial = "every/my-policy/filter: 0 of 1 equal, 1 a partial evaluation"
	for _, logs := range []struct {
		config string
		want   string
	}{
		{"nd_builtin_cache", partial},
		{"", `every/my-policy/dice: 0 of 1 equal, 1 rand.intn without a logged answer
` + partial + `
every/my-policy/id: 0 of 1 equal, 1 uuid.rfc4122 without a logged answer
every/my-policy/looked: 0 of 1 equal, 1 net.lookup_ip_addr without a logged answer
every/my-policy/now: 0 of 1 equal, 1 time.now_ns without a logged answer
every/my-policy/quiet: 0 of 1 equal, 1 http.send without a logged answer
every/my-policy/sent: 0 of 1 equal, 1 http.send without a logged answer`},
	} {
		log := logOf(t, dir, logs.config, false, requests...)
		before := asked.Load()
		for _, all := range []bool{false, true} {
			r := replayed(t, log, Options{Policy: loaded(dir), All: all})
			got := results(r)
			got = slices.DeleteFunc(got, func(line string) bool { return !strings.Contains(line, ", ") })
			if slices.Sort(got); strings.Join(got, "\n") != logs.want || r.Decisions != uint64(len(requests)) {
				t.Errorf("%q: %d decisions, with these that are not equal:\n%s\nwant\n%s", logs.config, r.Decisions, strings.Join(got, "\n"), logs.want)
			}
		}
		if asked.Load() != before {
			t.Errorf("%q: the replay asked the server", logs.config)
		}
	}
}

// Without the log's answers, an evaluation may ask other servers with --network.
func TestNetwork(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }))
	defer web.Close()
	dir := lay(t, "p.rego", "package p\nsent := http.send({\"method\": \"GET\", \"url\": input.url}).status_code")
	log := logOf(t, dir, "", false, request(`/v1/data/p/sent {"input": {"url": "`+web.URL+`"}}`))
	p := must(Load(context.Background(), []string{dir}, config.Config{}, true))
	if got := results(replayed(t, log, Options{Policy: p})); got[0] != "p/sent: 1 of 1 equal" {
		t.Error(got)
	}
}

// Old policies, and what a mask policy hides.
func TestOldAndMasked(t *testing.T) {
	dir := lay(t, "p.rego", "package p\nallow { input.user == \"alice\" }\ntoken = count(input.token)\nsecret = {\"a\": 1, \"b\": 2}\nno = x { x := input.x }", "mask.rego", `package system.log
mask["/input/token"]
mask["/result/b"] { input.path == "p/secret" }
mask["/input"] { input.path == "p/no" }
mask[{"op": "upsert", "path": "/input/user", "value": "x"}] { input.input.user == "alice" }`)
	log := logOf(t, dir, "", true,
		`/v1/data/p/allow {"input": {"user": "alice"}}`, `/v1/data/p/allow {"input": {"user": "bob"}}`, `/v1/data/p/token {"input": {"token": "abc"}}`,
		`/v1/data/p/secret {"input": {}}`, `/v1/data/p/no {"input": {"x": 1}}`)
	want := []string{
		"p/allow: 1 of 2 equal, 1 a masked input", "p/no: 0 of 1 equal, 1 a masked input", "p/secret: 0 of 1 equal, 1 a masked result", "p/token: 0 of 1 equal, 1 a masked input",
	}
	if got := results(replayed(t, log, Options{Policy: loaded(dir)})); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// event returns a line of a log.
func event(id int, path, rest string) string {
	return fmt.Sprintf(`{"decision_id":"%d","labels":{},"timestamp":"2026-01-02T03:04:05Z","path":%q,%s}`+"\n", id, path, rest)
}

// A decision may have a query in place of its path, as opa-envoy-plugin writes
// it, or be one of a batch, and events may be in any wrapper. An error may lack a
// code.
func TestEnvoy(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", "package envoy.authz\nallow := {\"allowed\": input.attributes.request.http.method == \"GET\"}\nfails := input.list[_]\nyear := time.date(time.now_ns())[0]"))
	const input = `"input":{"attributes":{"request":{"http":{"method":"GET"}}}},"result":{"allowed":true}`
	log := `{"decision_id":"1","labels":{},"query":"data.envoy.authz.allow",` + input + "}\n" +
		`{"decision_id":"3","batch_decision_id":"b","labels":{},"path":"envoy/authz/allow",` + input + "}\n" +
		`{"log":"{\"msg\":\"Decision Log\",` + strings.ReplaceAll(`"decision_id":"2","labels":{},"path":"envoy/authz/year","input":{},"result":2021`, `"`, `\"`) + `}\n","stream":"stderr","time":"2021-02-03T04:05:06Z"}` + "\n" +
		event(4, "envoy/authz/fails", `"input":{"list":[1,2]},"error":{"message":"x"}`) + event(5, "envoy/authz/fails", `"error":{"code":"x"},"nd_builtin_cache":{"gone":1}`)
	if got := results(replayed(t, log, Options{Policy: p})); !slices.Equal(got, []string{"envoy/authz/allow: 2 of 2 equal", "envoy/authz/fails: 2 of 2 equal", "envoy/authz/year: 1 of 1 equal"}) {
		t.Error(got)
	}
}

// An evaluator keeps some compiled queries, of the many that clients may ask.
func TestManyQueries(t *testing.T) {
	t.Parallel()
	e := newEvaluator(loaded(lay(t, "p.rego", "package p\nx[n] := n if n := input.n")), time.Minute)
	for i := range 2*maxPrepared + 1 {
		a := e.evaluate(t.Context(), of(fmt.Sprint("p/x/", i)), ast.MustParseTerm(fmt.Sprintf(`{"n": %d}`, i)).Value)
		if string(a.result) != fmt.Sprint(i) || len(e.queries) > maxPrepared {
			t.Fatalf("the result of query %d is %s, and %d are kept", i, a.result, len(e.queries))
		}
	}
}

// Each decision that cannot be compared has its reason, and each change its kind.
func TestReasons(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", `package p
default allow := false
allow if input.user == "alice"
endless := count([x | some x in numbers.range(1, 100000); some y in numbers.range(1, 100000); x == y])
conflict := input.list[_]
evaluation := {"decision": allow}
small if input.n < data.limits[input.kind]
size := "no"`))
	for _, c := range []struct{ path, rest, want string }{
		{"p/allow", `"input":{"user":"bob"},"result":true`, toDenied},
		{"p/allow", `"input":{"user":"alice"},"result":false`, toAllowed},
		{"p/evaluation", `"input":{"user":"bob"},"result":{"decision":true}`, toDenied},
		{"p/size", `"input":{},"result":2`, toOther},
		{"p/size", `"input":{},"result":"yes"`, toDenied}, // by --outcome
		{"p/size", `"input":{},"result":{"x":[01]}`, "an input or a result that is no JSON"},
		{"p/size", `"input":{}`, toOther},
		{"p/small", `"input":{"n":1,"kind":"a"},"result":true`, "data.limits, which the policy lacks"},
		{"p/endless", `"input":{},"result":2`, "longer than --timeout"},
		{"p/conflict", `"input":{"list":[1,2]},"result":1`, "an error that the log lacks: eval_conflict_error"},
		{"p/conflict", `"input":{"list":[1,2]},"error":{"code":"eval_type_error"}`, "an error that the log lacks: eval_conflict_error"},
		{"p/conflict", `"input":{"list":[1,2]},"error":{"code":"eval_cancel_error"}`, "the client left"},
		{"p/allow", `"input":{},"error":{"code":"internal_error"}`, "an error that the policy lacks"},
		{"p/allow", `"input":{},"error":{"code":"eval_cancel_error"}`, "the client left"},
		{"p/allow", `"result":true`, "no input in the log"},
		{"gone/allow", `"input":{},"result":true`, "a path that the policy lacks"},
		{"p/\\\"x", `"input":{},"result":true`, "a path that the policy lacks"},
		{"p/allow", `"input":{},"result":{},"custom":{"type":"open-policy-agent/compile"}`, "a partial evaluation"},
		{"p/size", `"input":{},"result":2,"nd_builtin_cache":{"gone":1}`, "an error that the log lacks: other"},
	} {
		o := Options{Policy: p, Timeout: time.Second, All: true}
		o.Read.Outcomes = map[string]string{"p/size": `result == "yes"`}
		r := replayed(t, event(1, "none", `"result":true`)+strings.ReplaceAll(event(7, c.path, c.rest), `\\\\\"`, `\"`), o)
		x := r.Paths[slices.IndexFunc(r.Paths, func(p *Path) bool { return p.Path != "none" })].Examples[c.want]
		if len(x) != 1 || x[0].ID != "7" || x[0].Place.Line != 2 || !strings.HasSuffix(x[0].Place.File, "log") {
			t.Errorf("%s %s: got %+v, want %s", c.path, c.rest, x, c.want)
		}
	}
}

// A policy can come from the bundles of a configuration, from files and from
// servers.
func TestConfig(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	noError(bundle.NewWriter(&b).Write(bundle.Bundle{
		Manifest: bundle.Manifest{Revision: "r1"}, Data: map[string]any{"p": map[string]any{"limit": 3}},
		Modules: []bundle.ModuleFile{{Path: "p.rego", URL: "p.rego", Raw: []byte("package p.rules\nallow if input.n < data.p.limit"), Parsed: ast.MustParseModule("package p.rules\nallow if input.n < data.p.limit")}},
	}))
	dir := lay(t, "b.tar.gz", b.String(), "bad.rego", "package p\nx := ")
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	log := event(1, "p/rules/allow", `"input":{"n":2},"result":true`) + event(2, "p/limit", `"result":3`)
	for bundles, want := range map[string]string{
		`{b: {service: s, resource: b.tar.gz}}`:             "",
		`{b: {resource: "file://` + dir + `/b.tar.gz"}}`:    "",
		`{b: {service: s, resource: gone.tar.gz}}`:          "404",
		`{b: {resource: "file://` + dir + `/none.tar.gz"}}`: "no such file",
		`{b: {service: s, resource: bad.rego}}`:             "gzip",
	} {
		opa := must(collect.ReadConfig(filepath.Join(lay(t, "opa.yaml", "services: {s: {url: "+server.URL+"}}\nbundles: "+bundles), "opa.yaml")))
		p, err := Load(t.Context(), nil, opa, false)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", bundles, err, want)
			}
			continue
		}
		if noError(err); !slices.Equal(p.revisions, []string{"r1"}) {
			t.Errorf("%s: the revisions are %q", bundles, p.revisions)
		}
		if r := replayed(t, log, Options{Policy: p}); r.Equal != 2 {
			t.Errorf("%s: %v", bundles, results(r))
		}
	}
	for _, paths := range [][]string{{dir + "/bad.rego"}, {dir + "/gone"}, {lay(t, "data.json", "{}")}} {
		if _, err := Load(t.Context(), paths, config.Config{}, false); err == nil {
			t.Errorf("%q is loaded", paths)
		}
	}
}

// A replay that has no time or memory left ends with what was done.
func TestEndsEarly(t *testing.T) {
	p := loaded(lay(t, "p.rego", "package p\nlong := count([x | some x in numbers.range(1, 1000000)])"))
	log := strings.Repeat(event(1, "p/long", `"input":{},"result":1000000`), 1000)
	dir := lay(t, "log", log)
	o := Options{Policy: p, Timeout: time.Minute, Memory: 1 << 20}
	o.Read.Inputs = []string{dir}
	if r, err := Run(t.Context(), o); err == nil || !r.Interrupted {
		t.Errorf("with little memory: %v", err)
	}
	o.Memory = 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if r, err := Run(ctx, o); err != nil || !r.Interrupted || r.Decisions >= 1000 || r.Decisions != r.Equal {
		t.Errorf("interrupted: %+v, %v", r, err)
	}
}
