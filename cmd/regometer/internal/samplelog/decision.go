// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"fmt"
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

const (
	handler  = "server_handler"
	eval     = "rego_query_eval"
	parse    = "rego_input_parse"
	compile  = "rego_query_compile"
	query    = "rego_query_parse"
	resolve  = "rego_external_resolve"
	httpSend = "rego_builtin_http_send"
)

// firstPathStages lists the stages of each decision of the first path.
var firstPathStages = []string{resolve, parse, compile, eval, query, handler}

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
	{outcome.AllData, 0, 1, lognormal{200_000, 0.5}, []string{
		`{"path":"roles/are/no/path","roles":{"alice":["admin"]}}`,
	}},
	{"system/main", 100, 4, lognormal{300_000, 0.8}, []string{
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":""}}`,
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

// failure is an error, as an object and as the text on the console.
type failure struct{ object, text string }

var (
	failures = []failure{
		{`{"code":"eval_builtin_error","message":"http.send: Get \"https://limits.example.com/v1\": dial tcp 10.0.0.7:443: connect: connection refused","location":{"file":"policy.rego","row":27,"col":3}}`,
			`policy.rego:27: eval_builtin_error: http.send: Get \"https://limits.example.com/v1\": dial tcp 10.0.0.7:443: connect: connection refused`},
		{`{"code":"internal_error","message":"storage is closed"}`, `internal_error: storage is closed`},
		{`{"code":"eval_cancel_error","message":"caller cancelled query execution"}`,
			`eval_cancel_error: caller cancelled query execution`},
	}
	noDocument = failure{`{"code":"undefined_document","message":"document missing: data.system.main"}`,
		`undefined_document: document missing: data.system.main`}
)

// servers is the number of OPA servers that write to the log.
const servers = 3

// decision is the content of an event.
type decision struct {
	*profile
	server  int
	request int       // its number on the server, from 1
	time    time.Time // of the response, in UTC
	id      string
	trace   string // of the trace and its span, or "" if not traced
	client  uint32 // address and port
	input   int    // index of the input, or -1
	erased  string // the field that a mask policy removed, or ""
	result  string // "" if there is none
	failure failure

	timers, counters map[string]int64 // timers in ns; 0 if unfinished
}

// drawer draws decisions, one after the other.
type drawer struct {
	*rand.Rand
	decision
	options   *Options
	paths     *rand.Zipf
	ids       [servers]string
	requests  [servers]int
	parseTime lognormal
	pause     lognormal

	elapsed    time.Duration // since the start
	waves      *rand.Rand
	minute     time.Duration // minutes since the start that the waves have taken
	load, slow float64       // logarithms to base 2 of factors
}

func newDrawer(o *Options) *drawer {
	d := &drawer{
		Rand: newRandom(o.Seed, 1), waves: newRandom(o.Seed, 2), options: o, minute: -1,
		parseTime: lognormal{inputParseTime.median + 9*float64(inputBytes(o)), inputParseTime.spread},
		pause:     lognormal{1e9 / o.Rate / 2.61, 2}, // 2.61 is mean/median of this spread
	}
	d.paths = rand.NewZipf(d.Rand, 1.001, 1, uint64(o.Paths-1))
	for i := range d.ids {
		d.ids[i] = d.uuid()
	}
	return d
}

func (w *drawer) uuid() string {
	high, low := w.Uint64()&^0xf000|0x4000, w.Uint64()&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

// oneIn returns true once in n.
func (w *drawer) oneIn(n int) bool { return w.IntN(n) == 0 }

// span draws a duration in ns. The logarithm of a factor is to base 2.
func (w *drawer) span(d lognormal, factor float64) int64 {
	return max(1, int64(d.median*math.Exp2(factor+d.spread*w.NormFloat64())))
}

// draw draws the next decision.
func (w *drawer) draw() {
	d := &w.decision
	*d = decision{profile: profileOf(int(w.paths.Uint64())), server: w.IntN(servers), id: w.uuid(), client: w.Uint32(), input: -1}
	w.requests[d.server]++
	d.request, d.time = w.requests[d.server], w.next()
	if w.oneIn(4) {
		d.trace = fmt.Sprintf("%016x%016x", w.Uint64(), w.Uint64())
	}
	if d.path != outcome.Query && d.path != outcome.AllData {
		d.input = w.IntN(maxInputs)
	}
	w.drawOutcome()
	w.drawMetrics()
}

// next returns the time of the next decision. Factors change from minute to
// minute, and neighbouring minutes have similar ones.
func (w *drawer) next() time.Time {
	w.elapsed += time.Duration(w.span(w.pause, w.load))
	for ; w.minute < w.elapsed/time.Minute; w.minute++ {
		w.load = 0.9*w.load + 0.436*0.5*w.waves.NormFloat64()
		w.slow = 0.9*w.slow + 0.436*w.options.Drift*w.waves.NormFloat64()
	}
	return w.options.Start.Add(w.elapsed)
}

func (w *drawer) drawOutcome() {
	d := &w.decision
	switch fate := w.IntN(1024); {
	case fate < d.failed:
		d.failure = failures[w.IntN(len(failures))]
	case fate < d.failed+d.undefined:
		if w.oneIn(8) {
			d.failure = noDocument
		}
	case w.oneIn(2000):
		d.erased = "/result"
	default:
		d.result = d.results[w.IntN(len(d.results))]
		if d.input >= 0 && w.oneIn(200) {
			d.erased = "/input/password"
		}
	}
}

const networkRequests = "rego_builtin_http_send_network_requests"

func (w *drawer) drawMetrics() {
	d := &w.decision
	d.timers, d.counters = map[string]int64{}, map[string]int64{}
	within := int64(0) // in the handler
	if d.input >= 0 {
		within += w.put(parse, w.parseTime)
	}
	isQuery := d.path == outcome.Query
	switch {
	case isQuery || w.oneIn(50): // the query is not in the server's cache
		within += w.put(query, queryParseTime) + w.put(compile, compileTime)
		d.counters["server_query_cache_hit"] = 0
	default:
		d.counters["server_query_cache_hit"] = 1
	}
	if isQuery {
		clear(d.counters)
	}

	own, inEval := w.span(d.eval, w.slow), w.put(resolve, resolveTime)
	switch {
	case d.path != payments:
	case w.oneIn(4): // the answer is not in the cache of http.send
		d.counters[networkRequests] = 1
		inEval += w.put(httpSend, networkTime)
	default:
		d.counters["rego_builtin_http_send_interquery_cache_hits"] = 1
		inEval += w.put(httpSend, cachedTime)
	}
	within += w.set(eval, own+inEval)
	if w.oneIn(1000) { // asked for with ?instrument
		d.timers["eval_op_plug"], d.timers["eval_op_rule_index"] = own/8+1, own/16+1
		d.counters["eval_op_base_cache_hit"], d.counters["eval_op_base_cache_miss"] = own%7, 1
	}
	w.set(handler, within+w.span(handlerTime, w.slow))
	if isQuery || w.oneIn(500) { // not stopped when it is logged
		d.timers[handler] = 0
	}
}

// put draws a timer, and returns it.
func (w *drawer) put(stage string, from lognormal) int64 { return w.set(stage, w.span(from, w.slow)) }

// set sets a timer, and returns it.
func (w *drawer) set(stage string, ns int64) int64 {
	if s := w.options.Slower; s != nil && stage == s.Stage && w.path == profiles[0].path && w.elapsed >= s.After {
		ns = int64(float64(ns) * s.Factor)
	}
	w.timers[stage] = ns
	return ns
}

const (
	minEventBytes = 400     // no event is shorter
	poolBytes     = 8 << 20 // limits the bytes of all inputs, unless 3 inputs need more
	maxInputs     = 256
)

// inputBytes returns the average size of an input.
func inputBytes(o *Options) int {
	const around = 500 // bytes of an event without its input
	return max(o.EventBytes-around, 0)
}

// newInputs returns the inputs of all events.
func newInputs(o *Options) (all []string) {
	r, size := newRandom(o.Seed, 3), inputBytes(o)
	for range min(max(poolBytes/max(size, 1), 3), maxInputs) {
		all = append(all, newInput(r, size*3/4+r.IntN(size/2+1)))
	}
	return all
}

// decoys are keys of an event and text that looks like one. Long inputs have
// them.
var decoys = `"decision_id":"none of this log","path":["finance","salary"],"query":"a=1&b=<2>","labels":{"id":"x","team":"zürich"},"result":false,` +
	`"metrics":{"timer_rego_query_eval_ns":1,"timer_server_handler_ns":-1},"timestamp":"1999-12-31T23:59:59Z","error":{"code":"none"},"msg":"Sent response.","note":` +
	jsonOf("}\n"+`{"labels":{"id":"no"},"decision_id":"no","path":"not/a/path","metrics":{"timer_server_handler_ns":1}}`+"\n") + ","

// newInput returns an input of about this size, without its beginning. Most of a long input is a list
// of resources.
func newInput(r *rand.Rand, size int) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	user := func() string { return pick("alice", "bob", "carol", "dave", "erin", "frank") }
	text := fmt.Sprintf(`"method":%q,"user":%q`, pick("DELETE", "GET", "PATCH", "POST", "PUT"), user())
	if size < len(text)+len(decoys) {
		return text + "}"
	}
	var b strings.Builder
	b.WriteString(text + "," + decoys + `"resources":[`)
	for owner := user(); ; b.WriteByte(',') {
		fmt.Fprintf(&b, `{"id":"res-%08x","kind":%q,"labels":{"env":"prod","owner":%q},"public":%t}`,
			r.Uint32(), pick("document", "invoice", "project"), owner, r.IntN(2) == 0)
		if b.Len() >= size {
			return b.String() + "]}"
		}
	}
}
