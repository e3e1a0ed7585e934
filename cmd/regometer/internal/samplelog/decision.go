// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/outcome"
)

// newRandom returns one of several independent sources of a seed.
func newRandom(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// A lognormal is a distribution of durations: the median in ns, and the standard
// deviation of the logarithm to base 2.
type lognormal struct{ median, spread float64 }

// The durations of the stages, the same for all paths. The evaluation and the
// handler also take the time of the stages in them.
var (
	inputParseTime = lognormal{18_000, 0.5} // and 9 ns for each byte
	queryParseTime = lognormal{20_000, 0.4}
	compileTime    = lognormal{85_000, 0.4}
	resolveTime    = lognormal{250, 0.5}
	cachedTime     = lognormal{4_000, 0.5}     // http.send from its cache
	networkTime    = lognormal{2_500_000, 0.9} // http.send otherwise
	handlerTime    = lognormal{30_000, 0.7}    // outside of all stages
)

// A profile describes the decisions of a path.
type profile struct {
	path              string
	undefined, failed int       // of 1,024 decisions
	eval              lognormal // the policy's own work
	results           []string  // all equally likely
}

// boolean returns all results. The first yes of them are true.
func boolean(yes, all int) []string {
	return append(slices.Repeat([]string{"true"}, yes), slices.Repeat([]string{"false"}, all-yes)...)
}

const payments = "payments/limits/decision" // calls http.send

// profiles are the profiles of the first paths, the most frequent path first.
var profiles = []profile{
	{"httpapi/authz/allow", 2, 1, lognormal{60_000, 1}, boolean(6, 7)},
	{"kubernetes/admission/deny", 0, 1, lognormal{400_000, 0.8}, []string{
		"[]",
		"[]",
		`["image 'registry.example.com/team-a/web:latest' has no digest"]`,
	}},
	{"envoy/authz/allow", 4, 1, lognormal{90_000, 0.9}, []string{
		`{"allowed":true,"headers":{"x-user":"alice"}}`,
		`{"allowed":true,"headers":{"x-user":"bob"},"response_headers_to_add":{}}`,
		`{"allowed":false,"body":"no \"metrics\" for you","http_status":403}`,
	}},
	{"rbac/allow", 40, 2, lognormal{35_000, 0.7}, boolean(3, 5)},
	{payments, 0, 8, lognormal{120_000, 0.8}, []string{
		`{"allow":true,"reasons":[]}`,
		`{"allow":false,"reasons":["above the daily limit of 10,000 €"]}`,
		`{"allow":true,"deny":[]}`,
		`{"allow":true,"deny":["the account is suspended"]}`,
	}},
	{"trino/allow", 0, 1, lognormal{25_000, 0.6}, boolean(15, 16)},
	{"terraform/analysis/score", 0, 2, lognormal{1_500_000, 0.9}, []string{"42", "7"}},
	{"kafka/authz/allow", 8, 1, lognormal{45_000, 0.7}, boolean(9, 10)},
	{"features/flags", 200, 0, lognormal{15_000, 0.6}, []string{
		`{"beta":true,"dark":false}`,
		"null",
	}},
	{outcome.Query, 0, 20, lognormal{50_000, 0.9}, []string{
		`[{"user":"alice"},{"user":"bob"}]`,
		"[]",
		"null",
	}},
}

// profileOf returns the profile of the path at an index. Paths beyond profiles
// belong to tenants.
func profileOf(at int) *profile {
	if at < len(profiles) {
		return &profiles[at]
	}
	p := profiles[at%2*3]
	p.path = fmt.Sprintf("tenants/t%06d/%s/allow", at, [...]string{"documents", "invoices", "users"}[at%3])
	return &p
}

var (
	failures = []*failure{
		{`{"code":"eval_builtin_error","message":"http.send: Get \"https://limits.example.com/v1\": dial tcp 10.0.0.7:443: connect: connection refused","location":{"file":"policy.rego","row":27,"col":3}}`,
			`policy.rego:27: eval_builtin_error: http.send: Get \"https://limits.example.com/v1\": dial tcp 10.0.0.7:443: connect: connection refused`},
		{`{"code":"internal_error","message":"storage is closed"}`, `internal_error: storage is closed`},
		{`{"code":"eval_cancel_error","message":"caller cancelled query execution"}`,
			`eval_cancel_error: caller cancelled query execution`},
	}
	errNoDocument = &failure{`{"code":"undefined_document","message":"document missing: data.system.main"}`,
		`undefined_document: document missing: data.system.main`}
)

// servers is the number of OPA servers that write to the log.
const servers = 3

// writer draws events, one after the other, and writes them.
type writer struct {
	Options
	*rand.Rand
	*profile  // of the event
	event     event
	paths     *rand.Zipf
	ids       [servers]string
	requests  [servers]uint64
	inputs    []string
	parseTime lognormal
	pause     lognormal
	elapsed   time.Duration // since the start
}

func newWriter(o Options) *writer {
	size := int(max(o.EventBytes-500, 0)) // an event has about 500 bytes without its input
	w := &writer{
		Options: o, Rand: newRandom(o.Seed, 1), inputs: newInputs(newRandom(o.Seed, 2), size),
		parseTime: lognormal{inputParseTime.median + 9*float64(size), inputParseTime.spread},
		pause:     lognormal{1e9 / o.Rate / 2.61, 2}, // 2.61 is mean/median of this spread
	}
	w.paths = rand.NewZipf(w.Rand, 1.001, 1, uint64(o.Paths-1))
	for i := range w.ids {
		w.ids[i] = w.uuid()
	}
	return w
}

func (w *writer) uuid() string {
	high, low := w.Uint64()&^0xf000|0x4000, w.Uint64()&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

// oneIn returns true once in n.
func (w *writer) oneIn(n int) bool { return w.IntN(n) == 0 }

// span draws a duration in ns.
func (w *writer) span(d lognormal) int64 {
	return max(1, int64(d.median*math.Exp2(d.spread*w.NormFloat64())))
}

// draw draws the next event.
func (w *writer) draw() {
	w.profile = profileOf(int(w.paths.Uint64()))
	server, id, client := w.IntN(servers), w.uuid(), w.Uint32()
	w.requests[server]++
	w.elapsed += time.Duration(w.span(w.pause))
	w.event = event{
		Labels: map[string]string{"id": w.ids[server], "version": "1.22.0"}, DecisionID: id, Timestamp: w.Start.Add(w.elapsed), RequestID: w.requests[server],
		RequestedBy: fmt.Sprintf("10.%d.3.%d:%d", client>>28, client>>20&0xff, 32768+client&0x7fff), // an ephemeral port
	}
	if w.path == outcome.Query {
		w.event.Query = `data.users[user].tenant == "acme"`
	} else {
		w.event.Path = w.path
		w.event.Input = json.RawMessage(fmt.Sprintf(`{"number":%d,%s`, w.event.RequestID, w.inputs[w.IntN(len(w.inputs))]))
	}
	revision := w.Revisions[0]
	if w.elapsed >= w.Slower.After {
		revision = w.Revisions[1]
	}
	if revision != "" {
		w.event.Bundles = map[string]bundle{"authz": {revision}}
	}
	w.drawOutcome()
	w.drawMetrics()
}

func (w *writer) drawOutcome() {
	switch fate := w.IntN(1024); {
	case fate < w.failed:
		w.event.Error = failures[w.IntN(len(failures))]
	case fate < w.failed+w.undefined:
		if w.oneIn(8) {
			w.event.Error = errNoDocument
		}
	case w.oneIn(2000):
		w.event.Erased = []string{"/result"}
	default:
		w.event.Result = json.RawMessage(w.results[w.IntN(len(w.results))])
	}
}

func (w *writer) drawMetrics() {
	m := map[string]any{}
	w.event.Metrics = m
	within := int64(0) // in the handler
	if w.event.Input != nil {
		within += w.put(parse, w.parseTime)
	}
	isQuery := w.path == outcome.Query
	hit := 1
	if isQuery || w.oneIn(50) { // the query is not in the server's cache
		within += w.put(query, queryParseTime) + w.put(compile, compileTime)
		hit = 0
	}
	if !isQuery {
		m["counter_server_query_cache_hit"] = hit
	}

	own, inEval := w.span(w.eval), w.put(resolve, resolveTime)
	switch {
	case w.path != payments:
	case w.oneIn(4): // the answer is not in the cache of http.send
		m["counter_rego_builtin_http_send_network_requests"] = 1
		w.event.NDBuiltinCache = json.RawMessage(`{"http.send":{"[{\"method\":\"get\",\"url\":\"https://limits.example.com/v1\"}]":` +
			`{"body":{"limit":10000,"metrics":{"timer_server_handler_ns":1}},"status":"200 OK","status_code":200}}}`)
		inEval += w.put(httpSend, networkTime)
	default:
		m["counter_rego_builtin_http_send_interquery_cache_hits"] = 1
		inEval += w.put(httpSend, cachedTime)
	}
	within += w.set(eval, own+inEval)
	w.set(handler, within+w.span(handlerTime))
	if isQuery || w.oneIn(500) { // not stopped when it is logged
		w.event.Metrics["timer_"+handler+"_ns"] = 0
	}
}

// put draws a timer, and returns it.
func (w *writer) put(stage string, from lognormal) int64 { return w.set(stage, w.span(from)) }

// set sets a timer, and returns it.
func (w *writer) set(stage string, ns int64) int64 {
	if stage == w.Slower.Stage && w.profile == &profiles[0] && w.elapsed >= w.Slower.After {
		ns = int64(float64(ns) * w.Slower.Factor)
	}
	w.event.Metrics["timer_"+stage+"_ns"] = ns
	return ns
}

// newInputs returns the inputs of all events, of about this size.
func newInputs(r *rand.Rand, size int) (all []string) {
	for range min(max(8<<20/max(size, 1), 3), 256) { // 8 MiB in all, unless 3 inputs need more
		all = append(all, newInput(r, size*3/4+r.IntN(size/2+1)))
	}
	return all
}

// decoys are keys of an event and text that looks like one. Long inputs have
// them.
var decoys = `"decision_id":"none of this log","path":["finance","salary"],"query":"a=1&b=<2>","labels":{"id":"x","team":"zürich"},"result":false,` +
	`"metrics":{"timer_rego_query_eval_ns":1,"timer_server_handler_ns":-1},"timestamp":"1999-12-31T23:59:59Z","error":{"code":"none"},"msg":"Sent response.","note":` +
	quoted("}\n"+`{"labels":{"id":"no"},"decision_id":"no","path":"not/a/path","metrics":{"timer_server_handler_ns":1}}`+"\n")

// newInput returns an input of about this size, without its beginning. Most of an
// input is a list of resources, if there is room for one.
func newInput(r *rand.Rand, size int) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	user := func() string { return pick("alice", "bob", "carol", "dave", "erin", "frank") }
	text := fmt.Sprintf(`"method":%q,"user":%q`, pick("DELETE", "GET", "PATCH", "POST", "PUT"), user())
	if size < 128 {
		return text + "}"
	}
	if size > len(decoys) {
		text += "," + decoys
	}
	var b strings.Builder
	b.WriteString(text + `,"resources":[`)
	for owner := user(); ; b.WriteByte(',') {
		fmt.Fprintf(&b, `{"id":"res-%08x","kind":%q,"labels":{"env":"prod","owner":%q},"public":%t}`,
			r.Uint32(), pick("document", "invoice", "project"), owner, r.IntN(2) == 0)
		if b.Len() >= size-48 { // half of a resource
			return b.String() + "]}"
		}
	}
}

// Write writes a log. It keeps some inputs in memory. It fails if an option is
// invalid or if out fails.
func Write(out io.Writer, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	w, to, written := newWriter(o), bufio.NewWriterSize(out, 256<<10), 0
	for n := int64(0); err == nil && (n < o.Decisions || int64(written) < o.Size); n++ {
		w.draw()
		text := w.event.wrap(w.event.text(w.Form), w.Form)
		written += len(text)
		_, err = to.WriteString(text)
	}
	return cmp.Or(err, to.Flush())
}
