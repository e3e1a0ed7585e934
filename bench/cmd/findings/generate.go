// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// The outcomes of a decision.
const (
	allowed = iota
	denied
	other // a result that is neither
	undefined
	failed
	cancelled

	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "denied", "result", "undefined", "error", "cancelled"}

// A pathSpec says how the decisions of a path are, if nothing happens.
type pathSpec struct {
	name   string
	weight float64           // its share of the decisions
	median float64           // of evaluation, in ns
	sigma  float64           // of the logarithm of evaluation
	tail   float64           // share of decisions that take 10 to 50 times as long
	shares [outcomes]float64 // of the outcomes
	http   float64           // share of calls of http.send that no cache answers; without calls 0
	object bool              // its result is an object with allow
}

type server struct {
	id, pod string
	factor  float64        // of its times
	started int64          // ns since 1970; 0 is long ago, with all queries in the cache
	cached  map[int]string // paths whose query is compiled, with its revision
}

// A decision is one line of a log.
type decision struct {
	id                                         [2]uint64
	at                                         int64 // ns since 1970
	path, client, outcome                      int
	server                                     *server
	revision                                   string
	eval, handler, parse, compile, http, clock float64 // ns; clock is the error of the server's clock
	input                                      uint64  // equal inputs have equal numbers
	code                                       string  // of an error
	bare                                       bool    // without metrics
	hung                                       bool    // http.send did not end
	hit                                        bool    // the fault changed this decision
}

// A scene describes a log. Its generator knows nothing of the report's rules.
type scene struct {
	seed      uint64
	decisions int
	begin     time.Time
	span      time.Duration
	paths     []pathSpec
	servers   []*server
	clients   int
	revisions []string
	switchAt  float64                              // when the second revision begins, as a part of the span
	weight    func(x float64) float64              // the rate at a part of the span, at most 1; nil is always 1
	before    func(g *generator, d *decision)      // chooses; runs before outcome and times are known
	edit      func(g *generator, d *decision) bool // changes a decision, or drops it
}

// A generator makes the decisions of a scene, in order.
type generator struct {
	*scene
	rand *rand.Rand
	x    float64 // the current time, as a part of the span
}

// newScene returns the default scene. Its paths, servers and times differ a
// little from seed to seed.
func newScene(seed uint64, decisions int) *scene {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &scene{
		seed: seed, decisions: decisions, clients: 20, span: 6 * time.Hour,
		begin:     time.Date(2026, 3, 2, 6, r.IntN(60), r.IntN(60), r.IntN(1e9), time.UTC),
		revisions: []string{"a41f09", "b7720c"}, switchAt: 0.15 + 0.1*r.Float64(),
	}
	const us, ms = 1e3, 1e6
	s.paths = []pathSpec{
		{"httpapi/authz/allow", 0.28, 90 * us, 0.35, 0.002, [outcomes]float64{0.80, 0.195, 0, 0.004, 0.001, 0}, 0, false},
		{"rbac/allow", 0.22, 55 * us, 0.3, 0.001, [outcomes]float64{0.97, 0.029, 0, 0, 0.001, 0}, 0, false},
		{"kubernetes/admission/allow", 0.14, 400 * us, 0.5, 0.01, [outcomes]float64{0.40, 0.597, 0, 0.002, 0.001, 0}, 0, false},
		{"billing/authz/allow", 0.12, 150 * us, 0.4, 0.002, [outcomes]float64{0.90, 0.095, 0, 0.003, 0.002, 0}, 0.3, false},
		{"envoy/authz/result", 0.10, 70 * us, 0.3, 0.002, [outcomes]float64{0.60, 0.399, 0, 0, 0.001, 0}, 0, true},
		{"terraform/analysis/allow", 0.05, 2.5 * ms, 0.7, 0.02, [outcomes]float64{0.93, 0.06, 0, 0.005, 0.005, 0}, 0, false},
		{"catalog/filter", 0.06, 700 * us, 0.6, 0.01, [outcomes]float64{0, 0, 0.99, 0.008, 0.002, 0}, 0, false},
		{"tenants/quota/allow", 0.03, 120 * us, 0.4, 0.005, [outcomes]float64{0.50, 0.495, 0, 0.004, 0.001, 0}, 0, false},
	}[:5+r.IntN(4)]
	for i := range s.paths {
		s.paths[i].median *= math.Exp(0.2 * r.NormFloat64())
		s.paths[i].weight *= math.Exp(0.1 * r.NormFloat64())
	}
	for i := range 4 + r.IntN(3) {
		s.servers = append(s.servers, s.newServer(r, i))
	}
	return s
}

// newServer returns a server that started long ago.
func (*scene) newServer(r *rand.Rand, i int) *server {
	id := strconv.AppendUint(nil, 1<<60|r.Uint64()>>4, 16)
	return &server{id: uuid([2]uint64{r.Uint64(), r.Uint64()}), pod: "opa-" + strconv.Itoa(i) + "-" + string(id[:5]), factor: math.Exp(0.02 * r.NormFloat64()), cached: map[int]string{}}
}

// generate writes the log of a scene, and calls see for each of its decisions.
// It keeps none of them.
func (s *scene) generate(w io.Writer, see func(*generator, *decision)) error {
	g := &generator{scene: s, rand: rand.New(rand.NewPCG(s.seed, 2))}
	times := newTimes(s.weight)
	out := bufio.NewWriterSize(w, 1<<20)
	var line []byte
	u := 0.0
	for i := range s.decisions {
		// The next of the sorted random numbers that are left.
		u = 1 - (1-u)*math.Pow(1-g.rand.Float64(), 1/float64(s.decisions-i))
		g.x = times.at(u)
		d := g.next()
		if s.edit != nil && !s.edit(g, &d) {
			continue
		}
		see(g, &d)
		line = g.appendLine(line[:0], &d)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// times turns evenly spread numbers into times that follow a rate.
type times []float64

func newTimes(weight func(float64) float64) times {
	const steps = 1 << 14
	t := make(times, steps+1)
	for i := range steps {
		w := 1.0
		if weight != nil {
			w = max(0, weight((float64(i)+0.5)/steps))
		}
		t[i+1] = t[i] + w
	}
	return t
}

func (t times) at(u float64) float64 {
	v := u * t[len(t)-1]
	i, _ := slices.BinarySearch(t, v)
	i = min(max(i, 1), len(t)-1)
	part := 0.0
	if t[i] > t[i-1] {
		part = (v - t[i-1]) / (t[i] - t[i-1])
	}
	return min((float64(i-1)+part)/float64(len(t)-1), math.Nextafter(1, 0))
}

// next returns a decision at the time g.x.
func (g *generator) next() decision {
	r := g.rand
	d := decision{id: [2]uint64{r.Uint64(), r.Uint64()}, at: g.begin.UnixNano() + int64(g.x*float64(g.span)), input: r.Uint64()}
	d.path = pick(r, len(g.paths), func(i int) float64 { return g.paths[i].weight })
	d.server = g.servers[r.IntN(len(g.servers))]
	d.client = int(float64(g.clients) * math.Pow(r.Float64(), 1.5)) // some are busier
	d.revision = g.revisions[0]
	if g.x >= g.switchAt {
		d.revision = g.revisions[len(g.revisions)-1]
	}
	if g.before != nil {
		g.before(g, &d)
	}
	g.draw(&d)
	return d
}

// draw gives a decision its outcome and times, by its path and server.
func (g *generator) draw(d *decision) {
	r, p := g.rand, &g.paths[d.path]
	d.eval = p.median * math.Exp(p.sigma*r.NormFloat64()) * d.server.factor
	if r.Float64() < p.tail {
		d.eval *= 10 * math.Pow(5, r.Float64())
	}
	d.http, d.compile = 0, 0
	if p.http > 0 {
		d.http = 15e3 * math.Exp(0.3*r.NormFloat64()) // from the cache
		if r.Float64() < p.http {
			d.http = 4e6 * math.Exp(0.5*r.NormFloat64())
		}
		d.eval += d.http
	}
	before, found := d.server.cached[d.path]
	d.server.cached[d.path] = d.revision
	if found && before != d.revision || !found && d.server.started > 0 || r.Float64() < 0.003 {
		d.compile = 900e3 * math.Exp(0.4*r.NormFloat64())
	}
	d.parse = 12e3 * math.Exp(0.4*r.NormFloat64())
	d.setOutcome(pick(r, outcomes, func(i int) float64 { return p.shares[i] }))
	d.finish(g)
}

// finish sets the time of the handler, which contains the others.
func (d *decision) finish(g *generator) {
	d.handler = d.eval + d.parse + d.compile + 35e3*math.Exp(0.3*g.rand.NormFloat64())
}

func (d *decision) setOutcome(o int) {
	d.outcome, d.code = o, ""
	switch o {
	case failed:
		d.code = "eval_conflict_error"
	case cancelled:
		d.code = "eval_cancel_error"
	}
}

// setAllowed makes a share of the allowed and denied decisions allowed.
func (d *decision) setAllowed(r *rand.Rand, share float64) {
	if d.outcome > denied {
		return
	}
	d.outcome = denied
	if r.Float64() < share {
		d.outcome = allowed
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

func clientName(i int) string {
	return "10.1." + strconv.Itoa(i/200) + "." + strconv.Itoa(10+i%200)
}

func uuid(n [2]uint64) string {
	const digits = "0123456789abcdef"
	var b [36]byte
	j := 0
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b[j] = '-'
			j++
		}
		b[j] = digits[n[i/16]>>(4*(i%16))&15]
		j++
	}
	b[14] = '4'
	return string(b[:])
}

// appendLine appends the event that OPA uploads for a decision.
func (g *generator) appendLine(b []byte, d *decision) []byte {
	p := &g.paths[d.path]
	str := func(text ...string) {
		for _, t := range text {
			b = append(b, t...)
		}
	}
	num := func(name string, v float64) {
		str(`,"`, name, `":`)
		b = strconv.AppendInt(b, int64(v), 10)
	}
	str(`{"labels":{"app":"authz","hostname":"`, d.server.pod, `","id":"`, d.server.id, `","pod":"`, d.server.pod, `","version":"1.22.3"},"decision_id":"`, uuid(d.id), `"`)
	str(`,"bundles":{"main":{"revision":"`, d.revision, `"}},"path":"`, p.name, `","input":{"user":"u`)
	b = strconv.AppendUint(b, d.input%5000, 10)
	str(`","method":"`, [...]string{"GET", "POST", "PUT", "DELETE"}[d.input>>20&3], `","resource":"/items/`)
	b = strconv.AppendUint(b, d.input>>24, 10)
	str(`","roles":["reader","editor"]}`)
	verdict := "true"
	switch d.outcome {
	case denied:
		verdict = "false"
		fallthrough
	case allowed:
		if p.object {
			verdict = `{"allow":` + verdict + `,"headers":{"x-user":"1"}}`
		}
		str(`,"result":`, verdict)
	case other:
		str(`,"result":[{"op":"eq","field":"owner"}]`)
	case failed, cancelled:
		message := "complete rules must not produce multiple outputs"
		if d.outcome == cancelled {
			message = "caller cancelled query execution"
		}
		str(`,"error":{"code":"`, d.code, `","message":"`, message, `"}`)
	}
	if d.id[0]%50 == 0 {
		str(`,"erased":["/input/password"]`)
	}
	if d.id[0]%50 == 1 {
		str(`,"masked":["/input/token"]`)
	}
	str(`,"requested_by":"`, clientName(d.client), `:`)
	b = strconv.AppendUint(b, 1024+d.id[1]%60000, 10)
	str(`","timestamp":"`)
	b = time.Unix(0, d.at+int64(d.clock)).UTC().AppendFormat(b, time.RFC3339Nano)
	str(`"`)
	if !d.bare {
		str(`,"metrics":{"counter_server_query_cache_hit":`)
		if d.compile > 0 {
			str(`0`)
			num("timer_rego_query_compile_ns", d.compile)
			num("timer_rego_query_parse_ns", d.compile/20)
		} else {
			str(`1`)
		}
		if d.hung {
			if d.id[1]%3 > 0 { // OPA may not have started the timer yet
				num("timer_rego_builtin_http_send_ns", 0)
			}
		} else if d.http > 0 {
			num("timer_rego_builtin_http_send_ns", d.http)
			if d.http < 200e3 {
				num("counter_rego_builtin_http_send_interquery_cache_hits", 1)
			} else {
				num("counter_rego_builtin_http_send_network_requests", 1)
			}
		}
		num("timer_rego_external_resolve_ns", 300)
		num("timer_rego_input_parse_ns", d.parse)
		num("timer_rego_query_eval_ns", d.eval)
		num("timer_server_handler_ns", d.handler)
		str(`}`)
	}
	num("req_id", float64(d.id[1]>>40))
	return append(b, "}\n"...)
}
