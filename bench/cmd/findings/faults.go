// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
	"time"
)

// A planted fault changes a scene, and says what is then true of it.
type planted struct {
	path, server, client, revision string                 // the subject; "" is all
	begin, end                     float64                // parts of the span; 0 and 1 is the whole log
	outcome                        int                    // that becomes more or less frequent, or -1
	offset                         float64                // s: of a clock
	scope                          func(d *decision) bool // the decisions of the subject, at any time; nil is all
}

// A kind of fault has three sizes, which plant takes: 0 is large, 1 medium,
// 2 small.
type kind struct {
	name  string
	sizes [3]string
	rules []string // that name the right cause
	plant func(s *scene, r *rand.Rand, size int) planted
}

var sizeNames = [3]string{"large", "medium", "small"}

func sizes(size int, values ...float64) float64 { return values[size] }

// The names of rules that are right for a group of faults. A change of a name
// belongs here.
var (
	denyRules  = []string{"denied_rose", "denied_high"}
	allowRules = []string{"allowed_rose", "allowed_high"}
	undefRules = []string{"undefined_rose", "undefined_high", "path_undefined"}
)

// outcomeFault moves the share of allowed decisions of a path to one of three
// values, for those of its decisions that only takes.
func outcomeFault(path string, revision bool, to [3]float64, only func(s *scene, p *planted) func(d *decision) bool) func(*scene, *rand.Rand, int) planted {
	return func(s *scene, r *rand.Rand, size int) planted {
		p := planted{path: path, begin: 0.4 + 0.3*r.Float64(), end: 1, outcome: allowed}
		if revision {
			s.switchAt, p.revision = p.begin, s.revisions[1]
		}
		takes := func(*decision) bool { return true }
		if only != nil {
			takes = only(s, &p)
		}
		p.scope = func(d *decision) bool { return s.paths[d.path].name == path && takes(d) }
		s.edit = func(g *generator, d *decision) bool {
			if g.x >= p.begin && p.scope(d) {
				d.setAllowed(g.rand, to[size])
				d.hit = true
			}
			return true
		}
		return p
	}
}

// partFault changes a share of the decisions of a subject from a time on, or
// of the whole log if begin is 0.
func partFault(s *scene, p planted, share float64, change func(g *generator, d *decision)) planted {
	s.edit = func(g *generator, d *decision) bool {
		if g.x >= p.begin && g.x < p.end && (p.scope == nil || p.scope(d)) && g.rand.Float64() < share {
			change(g, d)
			d.hit = true
		}
		return true
	}
	return p
}

func (s *scene) onPath(name string) func(*decision) bool {
	return func(d *decision) bool { return s.paths[d.path].name == name }
}

func slower(factor float64) func(*generator, *decision) {
	return func(g *generator, d *decision) {
		d.eval *= factor
		d.finish(g)
	}
}

func shareFault(path string, outcome int, shares [3]float64) func(*scene, *rand.Rand, int) planted {
	return func(s *scene, r *rand.Rand, size int) planted {
		p := planted{path: path, begin: 0.4 + 0.3*r.Float64(), end: 1, outcome: outcome, scope: s.onPath(path)}
		return partFault(s, p, shares[size], func(_ *generator, d *decision) { d.setOutcome(outcome) })
	}
}

func oneServer(s *scene, p *planted) func(*decision) bool {
	p.server = s.servers[1].id
	return func(d *decision) bool { return d.server == s.servers[1] }
}

func oneClient(_ *scene, p *planted) func(*decision) bool {
	p.client = clientName(3)
	return func(d *decision) bool { return d.client == 3 }
}

const (
	firstPath = "httpapi/authz/allow"
	rbacPath  = "rbac/allow"
	thirdPath = "kubernetes/admission/allow"
	httpPath  = "billing/authz/allow"
)

// kinds are all faults.
var kinds = []kind{
	{"allowed 80 % → less, new revision", [3]string{"30 %", "60 %", "74 %"}, denyRules, outcomeFault(firstPath, true, [3]float64{0.3, 0.6, 0.74}, nil)},
	{"allowed 97 % → less, new revision", [3]string{"20 %", "85 %", "94 %"}, denyRules, outcomeFault(rbacPath, true, [3]float64{0.2, 0.85, 0.94}, nil)},
	{"allowed 40 % → more, new revision", [3]string{"100 %", "70 %", "47 %"}, allowRules, outcomeFault(thirdPath, true, [3]float64{1, 0.7, 0.47}, nil)},
	{"allowed 80 % → less, one server", [3]string{"30 %", "60 %", "70 %"}, denyRules, outcomeFault(firstPath, false, [3]float64{0.3, 0.6, 0.7}, oneServer)},
	{"allowed 80 % → less, one client", [3]string{"30 %", "60 %", "70 %"}, denyRules, outcomeFault(firstPath, false, [3]float64{0.3, 0.6, 0.7}, oneClient)},
	{"allowed 90 % → less, one path", [3]string{"30 %", "60 %", "80 %"}, denyRules, outcomeFault(httpPath, false, [3]float64{0.3, 0.6, 0.8}, nil)},
	{"undefined rises on a path", [3]string{"30 %", "8 %", "2 %"}, undefRules, shareFault(firstPath, undefined, [3]float64{0.3, 0.08, 0.02})},
	{"errors rise on a path", [3]string{"30 %", "8 %", "2 %"}, []string{"errors_rose"}, shareFault(rbacPath, failed, [3]float64{0.3, 0.08, 0.02})},
	{"cancelled rises from 0 on a path", [3]string{"30 %", "8 %", "2 %"}, []string{"cancelled_rose"}, shareFault(thirdPath, cancelled, [3]float64{0.3, 0.08, 0.02})},
	{"one client slow for 20 minutes, 150 decisions", [3]string{"20 times", "8 times", "3 times"}, []string{"client_slower"}, func(s *scene, r *rand.Rand, size int) planted {
		p := planted{client: clientName(16), begin: 0.2 + 0.6*r.Float64(), outcome: -1, scope: func(d *decision) bool { return d.client == 16 }}
		p.end = p.begin + float64(20*time.Minute)/float64(s.span)
		return partFault(s, p, 1, slower(sizes(size, 20, 8, 3)))
	}},
	{"http.send slower, from a time on", [3]string{"10 times, uncached", "10 times, 30 % uncached", "3 times, 30 % uncached"}, []string{"latency_rose"}, func(s *scene, r *rand.Rand, size int) planted {
		if size == 0 {
			s.paths[3].http = 1
		}
		p := planted{path: httpPath, begin: 0.3 + 0.4*r.Float64(), end: 1, outcome: -1, scope: s.onPath(httpPath)}
		return partFault(s, p, 1, func(g *generator, d *decision) {
			if d.http > 200e3 {
				d.eval += d.http * (sizes(size, 10, 10, 3) - 1)
				d.http *= sizes(size, 10, 10, 3)
				d.finish(g)
			}
		})
	}},
	{"http.send times out, from a time on", [3]string{"20 %", "5 %", "1 %"}, []string{"http_send_unfinished"}, func(s *scene, r *rand.Rand, size int) planted {
		p := planted{path: httpPath, begin: 0.3 + 0.4*r.Float64(), end: 1, outcome: cancelled, scope: s.onPath(httpPath)}
		return partFault(s, p, sizes(size, 0.2, 0.05, 0.01), func(g *generator, d *decision) {
			d.eval += 10e9
			d.hung = true
			d.setOutcome(cancelled)
			d.finish(g)
		})
	}},
	{"some calls of http.send take 10 s", [3]string{"3 %", "1 %", "0.3 %"}, []string{"http_send_slow"}, func(s *scene, _ *rand.Rand, size int) planted {
		p := planted{path: httpPath, end: 1, outcome: -1, scope: s.onPath(httpPath)}
		return partFault(s, p, sizes(size, 0.03, 0.01, 0.003), func(g *generator, d *decision) {
			d.http += 10e9 * math.Exp(0.02*g.rand.NormFloat64())
			d.eval += d.http
			d.finish(g)
		})
	}},
	{"garbage collection on one server", [3]string{"1,200 decisions", "500 decisions", "150 decisions"}, []string{"server_slower"}, func(s *scene, _ *rand.Rand, size int) planted {
		p := planted{end: 1, outcome: -1}
		p.scope = oneServer(s, &p)
		share := sizes(size, 1200, 500, 150) * float64(len(s.servers)) / float64(s.decisions)
		return partFault(s, p, share, func(g *generator, d *decision) {
			d.eval += 30e6 * math.Exp(0.5*g.rand.NormFloat64())
			d.finish(g)
		})
	}},
	{"one server slower", [3]string{"3 times", "1.5 times", "1.2 times"}, []string{"server_slower"}, func(s *scene, _ *rand.Rand, size int) planted {
		p := planted{end: 1, outcome: -1}
		p.scope = oneServer(s, &p)
		return partFault(s, p, 1, slower(sizes(size, 3, 1.5, 1.2)))
	}},
	{"one client slower", [3]string{"3 times", "1.5 times", "1.2 times"}, []string{"client_slower"}, func(s *scene, _ *rand.Rand, size int) planted {
		p := planted{end: 1, outcome: -1}
		p.scope = oneClient(s, &p)
		return partFault(s, p, 1, slower(sizes(size, 3, 1.5, 1.2)))
	}},
	{"everything slower, from a time on", [3]string{"3 times", "1.5 times", "1.2 times"}, []string{"latency_rose"}, func(s *scene, r *rand.Rand, size int) planted {
		return partFault(s, planted{begin: 0.4 + 0.3*r.Float64(), end: 1, outcome: -1}, 1, slower(sizes(size, 3, 1.5, 1.2)))
	}},
	{"drift over the whole log", [3]string{"2.5 times", "1.6 times", "1.25 times"}, []string{"latency_drifted"}, func(s *scene, _ *rand.Rand, size int) planted {
		p := planted{end: 1, outcome: -1}
		return partFault(s, p, 1, func(g *generator, d *decision) {
			d.eval *= 1 + g.x*(sizes(size, 2.5, 1.6, 1.25)-1)
			d.finish(g)
		})
	}},
	{"a revision evaluates slower", [3]string{"1.5 times", "1.25 times", "1.1 times"}, []string{"revision_slower"}, func(s *scene, r *rand.Rand, size int) planted {
		s.switchAt = 0.4 + 0.3*r.Float64()
		p := planted{revision: s.revisions[1], begin: s.switchAt, end: 1, outcome: -1}
		return partFault(s, p, 1, slower(sizes(size, 1.5, 1.25, 1.1)))
	}},
	{"all decisions compile after a bundle", [3]string{"5 minutes", "2 minutes", "30 s"}, []string{"compiles_rose"}, func(s *scene, r *rand.Rand, size int) planted {
		s.switchAt = 0.4 + 0.3*r.Float64()
		p := planted{begin: s.switchAt, outcome: -1}
		p.end = p.begin + sizes(size, 300, 120, 30)/s.span.Seconds()
		return partFault(s, p, 1, func(g *generator, d *decision) {
			d.compile = 900e3 * math.Exp(0.4*g.rand.NormFloat64())
			d.finish(g)
		})
	}},
	{"metrics gone on one pod", [3]string{"for good", "30 minutes", "5 minutes"}, []string{"metrics_missing", "partly_read"}, func(s *scene, r *rand.Rand, size int) planted {
		p := planted{begin: 0.4 + 0.3*r.Float64(), outcome: -1}
		p.scope = oneServer(s, &p)
		p.end = min(1, p.begin+sizes(size, 1e9, 1800, 300)/s.span.Seconds())
		return partFault(s, p, 1, func(_ *generator, d *decision) { d.bare = true })
	}},
	{"one pod missing from some time on", [3]string{"half of the log", "30 minutes", "5 minutes"}, []string{"server_missing"}, func(s *scene, _ *rand.Rand, size int) planted {
		p := planted{begin: 1 - sizes(size, 10800, 1800, 300)/s.span.Seconds(), end: 1, outcome: -1}
		p.scope = oneServer(s, &p)
		s.before = func(g *generator, d *decision) {
			for g.x >= p.begin && d.server == s.servers[1] {
				d.server = s.servers[g.rand.IntN(len(s.servers))]
			}
		}
		return p
	}},
	{"the rate falls for good", [3]string{"by 90 %", "by 60 %", "by 30 %"}, []string{"rate_fell"}, func(s *scene, r *rand.Rand, size int) planted {
		p := planted{begin: 0.4 + 0.3*r.Float64(), end: 1, outcome: -1}
		s.weight = func(x float64) float64 {
			if x >= p.begin {
				return sizes(size, 0.1, 0.4, 0.7)
			}
			return 1
		}
		return p
	}},
	{"a server's clock is off", [3]string{"1 h", "10 minutes", "1 minute"}, []string{"clock_off"}, func(s *scene, r *rand.Rand, size int) planted {
		p := planted{end: 1, outcome: -1}
		p.scope = oneServer(s, &p)
		p.offset = sizes(size, 3600, 600, 60) * float64(1-2*r.IntN(2))
		return partFault(s, p, 1, func(_ *generator, d *decision) { d.clock = p.offset * 1e9 })
	}},
	{"a storm of retries, ten minutes", [3]string{"10 times the rate", "2 times the rate", "1.2 times the rate"}, []string{"requests_repeated"}, func(s *scene, r *rand.Rand, size int) planted {
		p := planted{path: firstPath, client: clientName(3), begin: 0.2 + 0.6*r.Float64(), outcome: -1}
		p.end = p.begin + float64(10*time.Minute)/float64(s.span)
		more := sizes(size, 10, 2, 1.2)
		input := r.Uint64()
		p.scope = func(d *decision) bool { return d.client == 3 && d.path == 0 }
		s.weight = func(x float64) float64 {
			if x >= p.begin && x < p.end {
				return 1
			}
			return 1 / more
		}
		s.edit = func(g *generator, d *decision) bool {
			if g.x >= p.begin && g.x < p.end && g.rand.Float64() < 1-1/more {
				d.path, d.client, d.input, d.hit = 0, 3, input, true
				g.draw(d)
				d.setOutcome(denied)
			}
			return true
		}
		return p
	}},
	{"a bot asks for undefined paths", [3]string{"3,000 decisions", "500 decisions", "100 decisions"}, undefRules, func(s *scene, _ *rand.Rand, size int) planted {
		bot, first := s.clients, len(s.paths)
		for _, name := range []string{"admin/login", "v1/config", "wp/setup/php", "debug/vars"} {
			s.paths = append(s.paths, pathSpec{name: name, median: 20e3, sigma: 0.3, shares: [outcomes]float64{undefined: 1}})
		}
		p := planted{client: clientName(bot), end: 1, outcome: undefined, scope: func(d *decision) bool { return d.client == bot }}
		s.edit = func(g *generator, d *decision) bool {
			if g.rand.Float64() < sizes(size, 3000, 500, 100)/float64(s.decisions) {
				d.client, d.path, d.hit = bot, first+g.rand.IntN(4), true
				g.draw(d)
			}
			return true
		}
		return p
	}},
	{"a pause without decisions", [3]string{"30 minutes", "10 minutes", "2 minutes"}, []string{"decisions_missing"}, func(s *scene, r *rand.Rand, size int) planted {
		p := planted{begin: 0.4 + 0.3*r.Float64(), outcome: -1}
		p.end = p.begin + sizes(size, 1800, 600, 120)/s.span.Seconds()
		s.edit = func(g *generator, _ *decision) bool { return g.x < p.begin || g.x >= p.end }
		return p
	}},
}
