// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// A subject is whose decisions a fault changes. "" and nil are all.
type subject struct {
	path, client, revision string
	server                 *server
}

// has says whether a decision is of a subject. The revision is left out: a
// fault that has one begins with it.
func (s *subject) has(d *decision) bool {
	return (s.path == "" || s.path == d.path.name) && (s.server == nil || s.server == d.server) && (s.client == "" || s.client == clientName(d.client))
}

// Planted is what is true of a scene with a fault.
type planted struct {
	subject
	begin, end float64 // parts of the span; 0 and 1 is the whole log
	seconds    float64 // by which a clock is off
}

// A kind of fault has three sizes. A healthy kind has no rules.
type kind struct {
	name  string
	sizes []size
	rules []string // that name the right cause
	// A finding's share is the share of these decisions. Without it, the
	// report has a threshold that only it knows.
	counts func(d *decision) bool
	exact  bool // the right time is within 5 decisions
	plant  func(s *scene, r *rand.Rand, v float64) planted
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

// The names of rules that are right for a group of faults. A change of a name
// belongs here.
var (
	denyRules  = []string{"denied_rose", "denied_high"}
	allowRules = []string{"allowed_rose", "allowed_high"}
	undefRules = []string{"undefined_rose", "undefined_high", "path_undefined"}
)

const (
	firstPath = "httpapi/authz/allow"
	rbacPath  = "rbac/allow"
	thirdPath = "kubernetes/admission/allow"
	httpPath  = "billing/authz/allow"

	repeated = 42 // the input of a storm of retries
)

func everyone(*scene) subject      { return subject{} }
func newRevision(s *scene) subject { return subject{revision: s.revisions[1]} }
func oneServer(s *scene) subject   { return subject{server: s.servers[1]} }
func oneClient(*scene) subject     { return subject{client: clientName(3)} }

func isOutcome(outcome int) func(*decision) bool {
	return func(d *decision) bool { return d.outcome == outcome }
}

// lasting returns a fault from a time on, to the end of the log or for some
// seconds. The new revision begins with its fault.
func (s *scene) lasting(r *rand.Rand, of subject, seconds float64) planted {
	p := planted{subject: of, begin: 0.35 + 0.35*r.Float64()}
	p.end = min(1, p.begin+seconds/s.span.Seconds())
	if of.revision != "" {
		s.switchAt = p.begin
	}
	return p
}

// change changes a share of the decisions of a fault.
func (s *scene) change(p planted, share float64, change func(r *rand.Rand, d *decision)) planted {
	s.edit = func(r *rand.Rand, d *decision) {
		if d.x >= p.begin && d.x < p.end && p.has(d) && r.Float64() < share {
			change(r, d)
		}
	}
	return p
}

func slower(factor float64) func(*rand.Rand, *decision) {
	return func(_ *rand.Rand, d *decision) {
		d.eval *= factor
		d.http *= factor
	}
}

// allowedFault moves the share of allowed decisions of a path.
func allowedFault(name string, sizes []size, path string, rules []string, outcome int, who func(*scene) subject) kind {
	return kind{name, sizes, rules, isOutcome(outcome), true, func(s *scene, r *rand.Rand, v float64) planted {
		of := who(s)
		of.path = path
		return s.change(s.lasting(r, of, forGood), 1, func(r *rand.Rand, d *decision) { d.setAllowed(r, v/100) })
	}}
}

// outcomeFault gives decisions of a path another outcome.
func outcomeFault(name, path, rule string, outcome int) kind {
	return kind{name, sizes("%v %%", 30, 8, 2), []string{rule}, isOutcome(outcome), true, func(s *scene, r *rand.Rand, v float64) planted {
		return s.change(s.lasting(r, subject{path: path}, forGood), v/100, func(_ *rand.Rand, d *decision) { d.outcome = outcome })
	}}
}

// slowFault makes a subject slower in the whole log, or all from a time on.
func slowFault(name, rule string, who func(*scene) subject) kind {
	return kind{name, sizes("%v times", 3, 1.5, 1.2), []string{rule}, nil, false, func(s *scene, r *rand.Rand, v float64) planted {
		p := planted{subject: who(s), end: 1}
		if p.subject == (subject{}) {
			p = s.lasting(r, p.subject, forGood)
		}
		return s.change(p, 1, slower(v))
	}}
}

// httpFault makes calls of http.send slower that no cache answers.
func httpFault(name string, uncached float64) kind {
	return kind{name, sizes("%v times", 10, 5, 3), []string{"latency_rose"}, nil, false, func(s *scene, r *rand.Rand, v float64) planted {
		s.paths[3].http = uncached
		return s.change(s.lasting(r, subject{path: httpPath}, forGood), 1, func(_ *rand.Rand, d *decision) {
			if d.http >= fromCache {
				d.http *= v
			}
		})
	}}
}

const (
	forGood = math.MaxInt32
	minute  = float64(time.Minute / time.Second)
)

// faults are all kinds of faults.
var faults = []kind{
	allowedFault("allowed 80 % → less, new revision", sizes("%v %%", 30, 60, 74), firstPath, denyRules, denied, newRevision),
	allowedFault("allowed 97 % → less, new revision", sizes("%v %%", 20, 85, 94), rbacPath, denyRules, denied, newRevision),
	allowedFault("allowed 40 % → more, new revision", sizes("%v %%", 100, 70, 47), thirdPath, allowRules, allowed, newRevision),
	allowedFault("allowed 80 % → less, one server", sizes("%v %%", 30, 60, 70), firstPath, denyRules, denied, oneServer),
	allowedFault("allowed 80 % → less, one client", sizes("%v %%", 30, 60, 70), firstPath, denyRules, denied, oneClient),
	allowedFault("allowed 90 % → less, one path", sizes("%v %%", 30, 60, 80), httpPath, denyRules, denied, everyone),
	outcomeFault("undefined rises on a path", firstPath, "undefined_rose", undefined),
	outcomeFault("errors rise on a path", rbacPath, "errors_rose", failed),
	outcomeFault("cancelled rises from 0 on a path", thirdPath, "cancelled_rose", cancelled),
	{"one client slow for 20 minutes, 150 decisions", sizes("%v times", 20, 8, 3), []string{"client_slower"}, nil, false, func(s *scene, r *rand.Rand, v float64) planted {
		return s.change(s.lasting(r, subject{client: clientName(16)}, 20*minute), 1, slower(v))
	}},
	httpFault("http.send slower, uncached", 1),
	httpFault("http.send slower, 30 % uncached", 0.3),
	{"http.send times out, from a time on", sizes("%v %%", 20, 5, 1), []string{"http_send_unfinished"}, (*decision).unfinished, true, func(s *scene, r *rand.Rand, v float64) planted {
		return s.change(s.lasting(r, subject{path: httpPath}, forGood), v/100, func(_ *rand.Rand, d *decision) {
			d.eval += 10e9
			d.hung, d.outcome = true, cancelled
		})
	}},
	{"some calls of http.send take 10 s", sizes("%v %%", 3, 1, 0.3), []string{"http_send_slow"}, nil, false, func(s *scene, _ *rand.Rand, v float64) planted {
		return s.change(planted{subject: subject{path: httpPath}, end: 1}, v/100, func(r *rand.Rand, d *decision) { d.http += 10e9 * math.Exp(0.02*r.NormFloat64()) })
	}},
	{"garbage collection on one server", sizes("%v decisions", 1200, 500, 150), []string{"server_slower"}, nil, false, func(s *scene, _ *rand.Rand, v float64) planted {
		share := v * float64(len(s.servers)) / float64(s.decisions)
		return s.change(planted{subject: oneServer(s), end: 1}, share, func(r *rand.Rand, d *decision) { d.eval += 30e6 * math.Exp(0.5*r.NormFloat64()) })
	}},
	slowFault("one server slower", "server_slower", oneServer),
	slowFault("one client slower", "client_slower", oneClient),
	slowFault("everything slower, from a time on", "latency_rose", everyone),
	{driftName, sizes("%v times", 2.5, 1.6, 1.25), []string{"latency_drifted"}, nil, false, func(s *scene, _ *rand.Rand, v float64) planted {
		return s.change(planted{end: 1}, 1, func(_ *rand.Rand, d *decision) { d.eval *= 1 + d.x*(v-1) })
	}},
	{"a revision evaluates slower", sizes("%v times", 1.5, 1.25, 1.1), []string{"revision_slower"}, nil, false, func(s *scene, r *rand.Rand, v float64) planted {
		return s.change(s.lasting(r, newRevision(s), forGood), 1, slower(v))
	}},
	{"all decisions compile after a bundle", []size{{"5 minutes", 300}, {"2 minutes", 120}, {"30 s", 30}}, []string{"compiles_rose"}, func(d *decision) bool { return d.compile > 0 }, false, func(s *scene, r *rand.Rand, v float64) planted {
		p := s.lasting(r, newRevision(s), v)
		p.revision = "" // it also has the decisions after the storm
		return s.change(p, 1, func(r *rand.Rand, d *decision) { d.compile = compiling * math.Exp(0.4*r.NormFloat64()) })
	}},
	{"metrics gone on one pod", []size{{"for good", forGood}, {"30 minutes", 1800}, {"5 minutes", 300}}, []string{"metrics_missing", "partly_read"}, func(d *decision) bool { return d.bare }, false, func(s *scene, r *rand.Rand, v float64) planted {
		return s.change(s.lasting(r, oneServer(s), v), 1, func(_ *rand.Rand, d *decision) { d.bare = true })
	}},
	{"one pod missing from some time on", sizes("%v minutes", 180, 30, 5), []string{"server_missing"}, nil, false, func(s *scene, _ *rand.Rand, v float64) planted {
		p := planted{subject: oneServer(s), begin: 1 - v*minute/s.span.Seconds(), end: 1}
		s.before = func(r *rand.Rand, d *decision) {
			for d.x >= p.begin && d.server == p.server {
				d.server = s.servers[r.IntN(len(s.servers))]
			}
		}
		return p
	}},
	{"the rate falls for good", sizes("by %v %%", 90, 60, 30), []string{"rate_fell"}, nil, false, func(s *scene, r *rand.Rand, v float64) planted {
		return s.setRate(s.lasting(r, subject{}, forGood), 1-v/100)
	}},
	{"a server's clock is off", []size{{"1 h", 3600}, {"10 minutes", 600}, {"1 minute", 60}}, []string{"clock_off"}, nil, false, func(s *scene, r *rand.Rand, v float64) planted {
		p := planted{subject: oneServer(s), end: 1, seconds: v * float64(1-2*r.IntN(2))}
		return s.change(p, 1, func(_ *rand.Rand, d *decision) { d.clock = p.seconds * 1e9 })
	}},
	{"a storm of retries, ten minutes", sizes("%v times the rate", 10, 2, 1.2), []string{"requests_repeated"}, func(d *decision) bool { return d.input == repeated }, false, func(s *scene, r *rand.Rand, v float64) planted {
		p := s.setRate(s.lasting(r, subject{path: firstPath, client: clientName(3)}, 10*minute), v)
		s.edit = func(r *rand.Rand, d *decision) {
			if d.x >= p.begin && d.x < p.end && r.Float64() < 1-1/v {
				d.path, d.client, d.input = &s.paths[0], 3, repeated
				d.draw(r)
				d.outcome = denied
			}
		}
		return p
	}},
	{"a bot asks for undefined paths", sizes("%v decisions", 3000, 500, 100), undefRules, isOutcome(undefined), true, func(s *scene, _ *rand.Rand, v float64) planted {
		bot, first := s.clients, len(s.paths)
		for _, name := range []string{"admin/login", "v1/config", "wp/setup/php", "debug/vars"} {
			s.paths = append(s.paths, pathSpec{name: name, median: 20e3, sigma: 0.3, shares: [outcomes]float64{undefined: 1}})
		}
		p := planted{subject: subject{client: clientName(bot)}, end: 1}
		s.edit = func(r *rand.Rand, d *decision) {
			if r.Float64() < v/float64(s.decisions) {
				d.client, d.path = bot, &s.paths[first+r.IntN(4)]
				d.draw(r)
			}
		}
		return p
	}},
	{"a pause without decisions", sizes("%v minutes", 30, 10, 2), []string{"decisions_missing"}, nil, false, func(s *scene, r *rand.Rand, v float64) planted {
		return s.setRate(s.lasting(r, subject{}, v*minute), 0)
	}},
}

const driftName = "drift over the whole log"

// setRate multiplies the rate while a fault lasts.
func (s *scene) setRate(p planted, times float64) planted {
	s.weight = func(x float64) float64 {
		return min(1, either(x >= p.begin && x < p.end, times, 1/times))
	}
	return p
}
