// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/regometer/regometer/outcome"
)

// A fault is a kind of fault, which can be planted in three sizes. Without more,
// it changes all decisions of its subject from a time on.
type fault struct {
	name  string
	sizes []size
	rules []string // that name the right cause; none of a healthy log

	// The subject.
	ofPath               string
	ofServer, ofRevision bool // the second of the scene
	ofClient             int  // its number, or 0
	seconds              float64
	whole, early         bool                    // in the whole log; from 5 minutes after its begin
	rate                 func(v float64) float64 // that multiplies the rate at this time
	share                func(s *scene, v float64) float64
	edit                 func(r *rand.Rand, d *decision, v float64)
	more                 func(t *truth, r *rand.Rand) // what else is to be done
	// A finding's share is the share of these decisions. Without it, the report
	// has a threshold that only it knows.
	counts func(d *decision) bool
	exact  bool // the right time is within 5 decisions
	all    bool // each size is found
}

type size struct {
	text  string
	value float64
}

func sizes(format string, values ...float64) (list []size) {
	for _, v := range values {
		list = append(list, size{fmt.Sprintf(format, v), v})
	}
	return list
}

const (
	firstPath = "httpapi/authz/allow"
	rbacPath  = "rbac/allow"
	thirdPath = "kubernetes/admission/allow"
	httpPath  = "billing/authz/allow"

	resent    = 42 // the input of a storm of retries
	minute    = float64(time.Minute / time.Second)
	driftName = "drift over the whole log"
)

// subject has the names of the decisions that a fault changes. "" and nil are all.
type subject struct {
	path, client, revision string
	server                 *server
}

// has says whether a decision is of a subject. The revision is left out: a
// fault that has one begins with it.
func (s *subject) has(d *decision) bool {
	return (s.path == "" || s.path == d.path.name) && (s.server == nil || s.server == d.server) && (s.client == "" || s.client == clientName(d.client))
}

// A truth is what a log has.
type truth struct {
	*fault
	*scene
	subject
	size       float64
	begin, end float64    // of the fault, as parts of the span
	off        float64    // seconds by which the server's clock is off
	decisions  []decision // all; healthy logs need none
}

// plant puts a fault into a scene.
func (s *scene) plant(f *fault, v float64) *truth {
	r := rand.New(rand.NewPCG(s.seed, 3+uint64(len(s.edits)))) // each fault has a time of its own
	t := &truth{fault: f, scene: s, subject: subject{path: f.ofPath}, size: v, end: 1}
	if f.ofServer {
		t.server = s.servers[1]
	}
	if f.ofRevision {
		t.revision = s.revisions[1]
	}
	if f.ofClient > 0 {
		t.subject.client = clientName(f.ofClient)
	}
	if !f.whole {
		t.begin = 0.35 + 0.35*r.Float64()
		if f.early {
			t.begin = 5 * minute / s.span.Seconds()
		}
		if f.seconds > 0 {
			t.end = min(1, t.begin+f.seconds/s.span.Seconds())
		}
		if f.ofRevision { // it begins with its fault
			s.switchAt = t.begin
		}
	}
	if f.more != nil {
		f.more(t, r)
	}
	if f.rate != nil {
		times := f.rate(v)
		s.weight = func(x float64) float64 { return min(1, either(x >= t.begin && x < t.end, times, 1/times)) }
	}
	if f.edit != nil {
		share := 1.0
		if f.share != nil {
			share = f.share(s, v)
		}
		s.edits = append(s.edits, func(r *rand.Rand, d *decision) {
			if t.lasts(d) && t.has(d) && r.Float64() < share {
				f.edit(r, d, v)
			}
		})
	}
	return t
}

func percent(_ *scene, v float64) float64 { return v / 100 }

// around varies a time.
func around(r *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*r.NormFloat64())
}

func is(o outcome.Outcome) func(*decision) bool {
	return func(d *decision) bool { return d.outcome == o }
}

// allows returns a fault that changes the share of allowed decisions to one of
// some sizes, so that an outcome becomes more frequent.
func allows(name string, rises outcome.Outcome, f fault, to ...float64) fault {
	f = ends(name, rises, f, to...)
	f.share, f.edit = nil, func(r *rand.Rand, d *decision, v float64) { d.setAllowed(r, v/100) }
	return f
}

// ends returns a fault in which a share of the decisions have an outcome.
func ends(name string, o outcome.Outcome, f fault, percents ...float64) fault {
	rule := map[outcome.Outcome]string{outcome.Failed: "errors"}[o]
	if rule == "" {
		rule = o.String()
	}
	f.name, f.sizes, f.rules = name, sizes("%v %%", percents...), []string{rule + "_rose", rule + "_high"}
	f.counts, f.exact, f.share = is(o), true, func(_ *scene, v float64) float64 { return v / 100 }
	f.edit = func(_ *rand.Rand, d *decision, _ float64) { d.outcome = o }
	return f
}

// slows returns a fault that makes decisions slower.
func slows(name, rule string, f fault, times ...float64) fault {
	f.name, f.sizes, f.rules = name, sizes("%v times", times...), []string{rule}
	f.edit = func(_ *rand.Rand, d *decision, v float64) {
		d.eval *= v
		d.http *= v
	}
	return f
}

// slowsHTTP returns a fault that makes the calls of http.send slower that no
// cache answers, a share of all.
func slowsHTTP(name string, uncached float64) fault {
	f := slows(name, "latency_rose", fault{ofPath: httpPath}, 10, 5, 3)
	f.more = func(t *truth, _ *rand.Rand) { t.paths[3].http = uncached }
	f.edit = func(_ *rand.Rand, d *decision, v float64) {
		if d.http >= fromCache {
			d.http *= v
		}
	}
	return f
}

// faults are all kinds of faults. A change of a rule's name belongs here.
var faults = []fault{
	allows("allowed 80 % → less, new revision", outcome.Denied, fault{ofPath: firstPath, ofRevision: true}, 30, 60, 74),
	allows("allowed 97 % → less, new revision", outcome.Denied, fault{ofPath: rbacPath, ofRevision: true, all: true}, 20, 85, 94),
	allows("allowed 40 % → more, new revision", outcome.Allowed, fault{ofPath: thirdPath, ofRevision: true}, 100, 70, 47),
	allows("a revision allows everything", outcome.Allowed, fault{ofRevision: true}, 100, 98, 95),
	allows("allowed 80 % → less, one server", outcome.Denied, fault{ofPath: firstPath, ofServer: true}, 30, 60, 70),
	allows("allowed 80 % → less, one client", outcome.Denied, fault{ofPath: firstPath, ofClient: 3}, 30, 60, 70),
	allows("allowed 90 % → less, one path", outcome.Denied, fault{ofPath: httpPath}, 30, 60, 80),
	ends("undefined rises on a path", outcome.Undefined, fault{ofPath: firstPath}, 30, 8, 2),
	ends("errors rise on a path", outcome.Failed, fault{ofPath: rbacPath}, 30, 8, 2),
	ends("cancelled rises from 0 on a path", outcome.Cancelled, fault{ofPath: thirdPath}, 30, 8, 2),
	ends("errors for 20 minutes", outcome.Failed, fault{seconds: 20 * minute}, 20, 8, 2),
	ends("errors from 5 minutes after the begin", outcome.Failed, fault{ofPath: rbacPath, early: true}, 30, 8, 2),
	ends("errors of one server", outcome.Failed, fault{ofServer: true, whole: true}, 10, 5, 1),
	ends("errors of one client", outcome.Failed, fault{ofClient: 3, whole: true}, 30, 10, 2),
	ends("one client denied", outcome.Denied, fault{ofClient: 3, whole: true}, 100, 98, 80),
	slows("one client slow for 20 minutes, 150 decisions", "client_slower", fault{ofClient: 16, seconds: 20 * minute}, 20, 8, 3),
	slows("one server slower", "server_slower", fault{ofServer: true, whole: true}, 3, 1.5, 1.2),
	{name: "one of ten servers evaluates slower", sizes: sizes("%v times", 2, 1.6, 1.3),
		rules: []string{"server_slower"}, ofServer: true, whole: true, edit: func(_ *rand.Rand, d *decision, v float64) { d.eval *= v },
		more: func(t *truth, r *rand.Rand) {
			for i := len(t.servers); i < 10; i++ {
				t.servers = append(t.servers, newServer(r, i))
			}
		}},
	slows("one client slower", "client_slower", fault{ofClient: 3, whole: true}, 3, 1.5, 1.2),
	slows("everything slower, from a time on", "latency_rose", fault{}, 3, 1.5, 1.2),
	slows("a revision evaluates slower", "revision_slower", fault{ofRevision: true}, 1.5, 1.25, 1.1),
	slowsHTTP("http.send slower, uncached", 1),
	slowsHTTP("http.send slower, 30 % uncached", 0.3),
	{name: "http.send times out, from a time on", sizes: sizes("%v %%", 20, 5, 1),
		rules: []string{"http_send_unfinished"}, ofPath: httpPath, counts: (*decision).unfinished, exact: true,
		share: percent, edit: func(_ *rand.Rand, d *decision, _ float64) {
			d.eval += 10e9
			d.hung, d.outcome = true, outcome.Cancelled
		}},
	{name: "some calls of http.send take 10 s", sizes: sizes("%v %%", 3, 1, 0.3),
		rules: []string{"http_send_slow"}, ofPath: httpPath, whole: true, counts: func(d *decision) bool { return d.http >= 1e9 },
		share: percent, edit: func(r *rand.Rand, d *decision, _ float64) { d.http += around(r, 10e9, 0.02) }},
	{name: "garbage collection on one server", sizes: sizes("%v decisions", 1200, 500, 150),
		rules: []string{"server_slower"}, ofServer: true, whole: true,
		share: func(s *scene, v float64) float64 { return v * float64(len(s.servers)) / float64(s.decisions) },
		edit:  func(r *rand.Rand, d *decision, _ float64) { d.eval += around(r, 30e6, 0.5) }},
	{name: driftName, sizes: sizes("%v times", 2.5, 1.6, 1.25),
		rules: []string{"latency_drifted"}, whole: true, edit: func(_ *rand.Rand, d *decision, v float64) { d.eval *= 1 + d.x*(v-1) }},
	{name: "drift of a path", sizes: sizes("%v times", 2.5, 1.6, 1.25),
		rules: []string{"latency_drifted"}, whole: true, ofPath: rbacPath, edit: func(_ *rand.Rand, d *decision, v float64) { d.eval *= 1 + d.x*(v-1) }},
	{name: "all decisions compile after a bundle", sizes: []size{{"5 minutes", 300}, {"2 minutes", 120}, {"30 s", 30}},
		rules: []string{"compiles_rose"}, ofRevision: true, counts: func(d *decision) bool { return d.compile > 0 },
		more: func(t *truth, _ *rand.Rand) { t.revision, t.end = "", t.begin+t.size/t.span.Seconds() }, // the revision also has the decisions after it
		edit: func(r *rand.Rand, d *decision, _ float64) { d.compile = around(r, compiling, 0.4) }},
	{name: "metrics gone on one pod", sizes: []size{{"for good", math.Inf(1)}, {"30 minutes", 1800}, {"5 minutes", 300}},
		rules: []string{"metrics_missing", "partly_read"}, ofServer: true, counts: func(d *decision) bool { return d.bare },
		more: func(t *truth, _ *rand.Rand) { t.end = min(1, t.begin+t.size/t.span.Seconds()) },
		edit: func(_ *rand.Rand, d *decision, _ float64) { d.bare = true }},
	{name: "one pod missing from some time on", sizes: sizes("%v minutes", 180, 30, 5),
		rules: []string{"server_missing"}, ofServer: true, whole: true, more: func(t *truth, _ *rand.Rand) {
			t.begin = 1 - t.size*minute/t.span.Seconds()
			t.before = func(r *rand.Rand, d *decision) {
				for d.x >= t.begin && d.server == t.server {
					d.server = t.servers[r.IntN(len(t.servers))]
				}
			}
		}},
	{name: "the rate falls for good", sizes: sizes("by %v %%", 90, 60, 30),
		rules: []string{"rate_fell"}, exact: true, rate: func(v float64) float64 { return 1 - v/100 }},
	{name: "a server's clock is off", sizes: []size{{"1 h", 3600}, {"10 minutes", 600}, {"1 minute", 60}},
		rules: []string{"clock_off"}, ofServer: true, whole: true, more: func(t *truth, r *rand.Rand) {
			t.off = t.size * float64(1-2*r.IntN(2))
			t.server.off = t.off * 1e9
		}},
	{name: "a storm of retries, ten minutes", sizes: sizes("%v times the rate", 10, 2, 1.2),
		rules: []string{"requests_repeated"}, ofClient: 3, seconds: 10 * minute,
		counts: func(d *decision) bool { return d.input == resent },
		rate:   func(v float64) float64 { return v }, more: func(t *truth, _ *rand.Rand) {
			t.edits = append(t.edits, func(r *rand.Rand, d *decision) {
				if t.lasts(d) && r.Float64() < 1-1/t.size {
					d.path, d.client, d.input = &t.paths[0], 3, resent
					d.draw(r)
					d.outcome = outcome.Denied
				}
			})
		}},
	{name: "a bot asks for undefined paths", sizes: sizes("%v decisions", 3000, 500, 100),
		rules: []string{"undefined_rose", "undefined_high", "path_undefined"}, whole: true, counts: is(outcome.Undefined), exact: true, more: func(t *truth, _ *rand.Rand) {
			bot, first := t.clients, len(t.paths)
			for _, name := range []string{"admin/login", "v1/config", "wp/setup/php", "debug/vars"} {
				t.paths = append(t.paths, pathSpec{name: name, median: 20e3, sigma: 0.3, shares: [6]float64{outcome.Undefined: 1}})
			}
			t.subject.client = clientName(bot)
			t.edits = append(t.edits, func(r *rand.Rand, d *decision) {
				if r.Float64() < t.size/float64(t.scene.decisions) {
					d.client, d.path = bot, &t.paths[first+r.IntN(4)]
					d.draw(r)
				}
			})
		}},
	{name: "a pause without decisions", sizes: sizes("%v minutes", 30, 10, 2),
		rules: []string{"decisions_missing"}, rate: func(float64) float64 { return 0 },
		more: func(t *truth, _ *rand.Rand) { t.end = t.begin + t.size*minute/t.span.Seconds() }},
	{name: "errors for 6 minutes of each hour", sizes: sizes("%v %%", 40, 15, 5), rules: []string{"errors_rose"}, whole: true,
		ofPath: thirdPath, share: percent, edit: func(_ *rand.Rand, d *decision, _ float64) {
			if math.Mod(d.x*6, 1) < 0.1 {
				d.outcome = outcome.Failed
			}
		}},
}
