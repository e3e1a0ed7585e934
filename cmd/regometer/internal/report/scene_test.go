// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/regometer/regometer/outcome"
)

// A pathSpec says how the decisions of a path are, if nothing happens.
type pathSpec struct {
	name   string
	weight float64    // its share of the decisions
	median float64    // of evaluation, in ns
	sigma  float64    // of the logarithm of evaluation
	tail   float64    // share of decisions that take 10 to 50 times as long
	shares [6]float64 // of the outcomes
	http   float64    // share of calls of http.send that no cache answers; without calls 0
}

type server struct {
	id, pod string
	factor  float64              // of its times
	off     float64              // ns by which its clock is off
	started int64                // ns since 1970; 0 is long ago, with all queries in the cache
	cached  map[*pathSpec]string // paths whose query is compiled, with its revision
}

// A decision is one line of a log.
type decision struct {
	id       [2]uint64
	x        float64 // its time, as a part of the span
	at       int64   // its time, in ns since 1970
	path     *pathSpec
	server   *server
	client   int
	outcome  outcome.Outcome
	revision string
	input    uint64 // equal inputs have equal numbers

	// ns: eval is without http.send, overhead is in the handler, which contains all.
	eval, http, parse, compile, overhead, handler float64

	bare bool // without metrics
	hung bool // http.send did not end
	hit  bool // a fault changed the outcome
}

// A scene describes a log. Its generator knows nothing of the report's rules.
type scene struct {
	seed      uint64
	decisions int
	from      time.Time
	span      time.Duration
	paths     []pathSpec
	servers   []*server
	clients   int
	revisions []string
	switchAt  float64                           // when the second revision begins, as a part of the span
	weight    func(x float64) float64           // the rate at a part of the span, at most 1
	before    func(r *rand.Rand, d *decision)   // chooses; runs before outcome and times are known
	edits     []func(r *rand.Rand, d *decision) // change a decision
}

// newScene returns the default scene. Its paths, servers and times differ a
// little from seed to seed.
func newScene(seed uint64, decisions int) *scene {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &scene{
		seed: seed, decisions: decisions, clients: 20, span: 6 * time.Hour,
		from:      time.Date(2026, 3, 2, 6, r.IntN(60), r.IntN(60), r.IntN(1e9), time.UTC),
		revisions: []string{"a41f09", "b7720c"}, switchAt: 0.15 + 0.1*r.Float64(),
		weight: func(float64) float64 { return 1 },
		before: func(*rand.Rand, *decision) {},
	}
	const us, ms = 1e3, 1e6
	s.paths = []pathSpec{
		{"httpapi/authz/allow", 0.28, 90 * us, 0.35, 0.002, [6]float64{0.80, 0.195, 0, 0.004, 0.001, 0}, 0},
		{"rbac/allow", 0.22, 55 * us, 0.3, 0.001, [6]float64{0.97, 0.029, 0, 0, 0.001, 0}, 0},
		{"kubernetes/admission/allow", 0.14, 400 * us, 0.5, 0.01, [6]float64{0.40, 0.597, 0, 0.002, 0.001, 0}, 0},
		{"billing/authz/allow", 0.12, 150 * us, 0.4, 0.002, [6]float64{0.90, 0.095, 0, 0.003, 0.002, 0}, 0.3},
		{"envoy/authz/result", 0.10, 70 * us, 0.3, 0.002, [6]float64{0.60, 0.399, 0, 0, 0.001, 0}, 0},
		{"terraform/analysis/allow", 0.05, 2.5 * ms, 0.7, 0.02, [6]float64{0.93, 0.06, 0, 0.005, 0.005, 0}, 0},
		{"catalog/filter", 0.06, 700 * us, 0.6, 0.01, [6]float64{0, 0, 0.99, 0.008, 0.002, 0}, 0},
		{"tenants/quota/allow", 0.03, 120 * us, 0.4, 0.005, [6]float64{0.50, 0.495, 0, 0.004, 0.001, 0}, 0},
	}[:5+r.IntN(4)]
	for i := range s.paths {
		s.paths[i].median *= math.Exp(0.2 * r.NormFloat64())
		s.paths[i].weight *= math.Exp(0.1 * r.NormFloat64())
	}
	for i := range 4 + r.IntN(3) {
		s.servers = append(s.servers, newServer(r, i))
	}
	return s
}

// newServer returns a server that started long ago.
func newServer(r *rand.Rand, i int) *server {
	id := uuid(r.Uint64(), r.Uint64())
	return &server{id: id, pod: fmt.Sprintf("opa-%d-%s", i, id[:5]), factor: math.Exp(0.02 * r.NormFloat64()), cached: map[*pathSpec]string{}}
}

func (s *scene) at(x float64) int64 { return s.from.UnixNano() + int64(x*float64(s.span)) }

// generate writes the log of a scene, and calls see for each of its decisions.
// It keeps only their times.
func (s *scene) generate(w io.Writer, see func(*decision)) error {
	r := rand.New(rand.NewPCG(s.seed, 2))
	times := make([]float64, s.decisions)
	for i := range times {
		times[i] = r.Float64()
		for r.Float64() >= s.weight(times[i]) {
			times[i] = r.Float64()
		}
	}
	slices.Sort(times)
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for _, x := range times {
		d := s.next(r, x)
		usual := d.outcome
		for _, edit := range s.edits {
			edit(r, &d)
		}
		d.hit = d.outcome != usual
		d.handler = d.eval + d.http + d.parse + d.compile + d.overhead
		see(&d)
		line = d.appendLine(line[:0])
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// next returns a decision at a time.
func (s *scene) next(r *rand.Rand, x float64) decision {
	d := decision{id: [2]uint64{r.Uint64(), r.Uint64()}, x: x, at: s.at(x), input: r.Uint64(), revision: s.revisions[0]}
	d.path = &s.paths[pick(r, len(s.paths), func(i int) float64 { return s.paths[i].weight })]
	d.server = s.servers[r.IntN(len(s.servers))]
	d.client = int(float64(s.clients) * math.Pow(r.Float64(), 1.5)) // some are busier
	if x >= s.switchAt {
		d.revision = s.revisions[1]
	}
	s.before(r, &d)
	d.draw(r)
	return d
}

// draw gives a decision its outcome and times, by its path and server.
func (d *decision) draw(r *rand.Rand) {
	p := d.path
	d.eval = around(r, p.median, p.sigma) * d.server.factor
	if r.Float64() < p.tail {
		d.eval *= 10 * math.Pow(5, r.Float64())
	}
	d.http, d.compile = 0, 0
	if p.http > 0 {
		d.http = around(r, 15e3, 0.3) // from the cache
		if r.Float64() < p.http {
			d.http = around(r, 4e6, 0.5)
		}
	}
	before, found := d.server.cached[p]
	d.server.cached[p] = d.revision
	if found && before != d.revision || !found && d.server.started > 0 || r.Float64() < 0.003 {
		d.compile = around(r, compiling, 0.4)
	}
	d.parse, d.overhead = around(r, 12e3, 0.4), around(r, 35e3, 0.3)
	d.outcome = outcome.Outcome(pick(r, len(p.shares), func(i int) float64 { return p.shares[i] }))
}

const (
	compiling = 900e3 // ns: the median
	fromCache = 200e3 // ns: a call of http.send that takes longer used the network
)

// setAllowed moves the share of allowed decisions of a path, among those that
// are allowed or denied, to another one, and changes as few as this needs.
func (d *decision) setAllowed(r *rand.Rand, share float64) {
	usual := d.path.shares[outcome.Allowed] / (d.path.shares[outcome.Allowed] + d.path.shares[outcome.Denied])
	switch v := r.Float64(); {
	case d.outcome == outcome.Allowed && v >= share/usual:
		d.outcome = outcome.Denied
	case d.outcome == outcome.Denied && v < (share-usual)/(1-usual):
		d.outcome = outcome.Allowed
	}
}

func pick(r *rand.Rand, n int, weight func(int) float64) int {
	sum := 0.0
	for i := range n {
		sum += weight(i)
	}
	v := r.Float64() * sum
	for i := range n {
		if v -= weight(i); v < 0 {
			return i
		}
	}
	return n - 1
}

func clientName(i int) string { return fmt.Sprintf("10.1.%d.%d", i/200, 10+i%200) }

func uuid(a, b uint64) string {
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48, b&0xffffffffffff)
}

// endings are what events have of each outcome.
var endings = [...]string{
	outcome.Allowed: `"result":true`, outcome.Denied: `"result":false`, outcome.Neither: `"result":[{"op":"eq"}]`, outcome.Undefined: `"req_id":1`,
	outcome.Failed: `"error":{"code":"eval_conflict_error"}`, outcome.Cancelled: `"error":{"code":"eval_cancel_error"}`,
}

// appendLine appends the event that OPA uploads for a decision.
func (d *decision) appendLine(b []byte) []byte {
	at := time.Unix(0, d.at+int64(d.server.off)).UTC().Format(time.RFC3339Nano)
	b = fmt.Appendf(b, `{"labels":{"app":"authz","hostname":"%s","id":"%s","pod":"%[1]s","version":"1.22.3"},"decision_id":"%[3]s","bundles":{"main":{"revision":"%s"}}`,
		d.server.pod, d.server.id, uuid(d.id[0], d.id[1]), d.revision)
	b = fmt.Appendf(b, `,"path":%q,"input":{"user":"u%d","resource":"/items/%d","roles":["reader","editor"]},%s,"requested_by":"%s:%d","timestamp":"%s"`,
		d.path.name, d.input%5000, d.input>>24, endings[d.outcome], clientName(d.client), 1024+d.id[1]%60000, at)
	if d.bare {
		return append(b, "}\n"...)
	}
	b = fmt.Appendf(b, `,"metrics":{"timer_rego_input_parse_ns":%d,"timer_rego_query_eval_ns":%d,"timer_server_handler_ns":%d`,
		int64(d.parse), int64(d.eval+d.http), int64(d.handler))
	if d.compile > 0 {
		b = fmt.Appendf(b, `,"timer_rego_query_compile_ns":%d`, int64(d.compile))
	}
	switch {
	case d.unfinished():
		b = append(b, `,"timer_rego_builtin_http_send_ns":0`...)
	case d.http >= fromCache && !d.hung:
		b = fmt.Appendf(b, `,"timer_rego_builtin_http_send_ns":%d,"counter_rego_builtin_http_send_network_requests":1`, int64(d.http))
	case d.http > 0 && !d.hung:
		b = fmt.Appendf(b, `,"timer_rego_builtin_http_send_ns":%d,"counter_rego_builtin_http_send_interquery_cache_hits":1`, int64(d.http))
	}
	return append(b, "}}\n"...)
}

// unfinished says whether the log shows that a call of http.send hung. If OPA
// had not started the timer yet, it does not.
func (d *decision) unfinished() bool { return d.hung && d.id[1]%3 > 0 }
