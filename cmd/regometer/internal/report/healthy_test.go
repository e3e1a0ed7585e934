// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

const day = 24 * time.Hour

func wave(span, period time.Duration, depth float64) func(float64) float64 {
	cycles := float64(span) / float64(period)
	return func(x float64) float64 { return 1 - depth/2*(1+math.Cos(2*math.Pi*x*cycles)) }
}

// clock returns the hour at a part of the span, and whether it is on a weekend.
func (s *scene) clock(x float64) (hour int, weekend bool) {
	t := s.from.Add(time.Duration(x * float64(s.span)))
	return t.Hour(), t.Weekday() == time.Saturday || t.Weekday() == time.Sunday
}

func (s *scene) change(edit func(r *rand.Rand, d *decision)) { s.edits = append(s.edits, edit) }

// restarts replaces the servers one after another, from each of the times on.
// The new ones have no compiled queries, are slow for 20 s, and have new ids or
// the same. From the time numbered updated on, they have the second revision.
func (s *scene) restarts(r *rand.Rand, newIDs bool, updated int, times ...float64) {
	replaced := make([][]*server, len(s.servers))
	for i := range replaced {
		for _, x := range times {
			n := newServer(r, i)
			n.started = s.at(x + 30*float64(i)/s.span.Seconds())
			if !newIDs {
				n.id, n.pod = s.servers[i].id, s.servers[i].pod
			}
			replaced[i] = append(replaced[i], n)
		}
	}
	s.before = func(_ *rand.Rand, d *decision) {
		d.revision = s.revisions[0]
		for i, n := range replaced[slices.Index(s.servers, d.server)] {
			if d.at >= n.started {
				d.server, d.revision = n, s.revisions[count(i >= updated)]
			}
		}
	}
	s.change(func(r *rand.Rand, d *decision) {
		if d.at-d.server.started < int64(20*time.Second) {
			d.eval *= 1 + 4*r.Float64()
		}
	})
}

// vary multiplies the times of each minute by a level, which is like that of the
// minute before (AR(1)).
func (s *scene) vary(r *rand.Rand, sigma float64) {
	levels := make([]float64, int(s.span/time.Minute)+1)
	for i := 1; i < len(levels); i++ {
		levels[i] = 0.9*levels[i-1] + 0.436*sigma*r.NormFloat64()
	}
	s.change(func(_ *rand.Rand, d *decision) { d.eval *= math.Exp(levels[int(d.x*s.span.Minutes())]) })
}

// batch makes a client ask for a path in some minutes.
func (s *scene) batch(path *pathSpec, share float64, is func(x float64) bool) {
	s.before = func(r *rand.Rand, d *decision) {
		if is(d.x) && r.Float64() < share {
			d.client, d.path = s.clients, path
		}
	}
}

// followDay makes the rate, and the outcomes of a path, follow the day.
func (s *scene) followDay(span time.Duration) {
	s.span, s.weight = span, wave(span, day, 0.6)
	more := wave(s.span, day, 1)
	s.change(func(r *rand.Rand, d *decision) {
		if d.path == &s.paths[0] {
			d.setAllowed(r, 0.6+0.3*more(d.x))
		}
	})
}

// healthyScenes have nothing wrong.
var healthyScenes = []struct {
	name  string
	shape func(s *scene, r *rand.Rand)
}{
	{"stationary", func(*scene, *rand.Rand) {}},
	{"season of hours", func(s *scene, _ *rand.Rand) { s.weight = wave(s.span, 2*time.Hour, 0.7) }},
	{"season of days, 30 days", func(s *scene, _ *rand.Rand) {
		s.span = 30 * day
		s.weight = wave(s.span, day, 0.8)
		s.change(func(_ *rand.Rand, d *decision) { d.eval *= 1 + 0.15*s.weight(d.x) }) // a little slower under load
	}},
	{"season of weeks, 8 weeks", func(s *scene, _ *rand.Rand) {
		s.span = 56 * day
		s.weight = func(x float64) float64 {
			_, weekend := s.clock(x)
			return wave(s.span, day, 0.7)(x) * either(weekend, 0.3, 1)
		}
	}},
	{"night pauses, 7 days", func(s *scene, _ *rand.Rand) {
		s.span = 7 * day
		s.weight = func(x float64) float64 {
			hour, _ := s.clock(x)
			return either(hour < 5, 0, 1)
		}
	}},
	{"office hours, 14 days", func(s *scene, _ *rand.Rand) {
		s.span = 14 * day
		s.weight = func(x float64) float64 {
			hour, weekend := s.clock(x)
			return either(weekend || hour < 8 || hour >= 18, 0.01, 1)
		}
	}},
	{"deployment, new ids and revision", func(s *scene, r *rand.Rand) { s.restarts(r, true, 0, 0.2+0.6*r.Float64()) }},
	{"rolling restarts, new ids at each", func(s *scene, r *rand.Rand) {
		s.span = 2 * day
		s.restarts(r, true, 2, 0.2, 0.4, 0.6, 0.8)
	}},
	{"canary", func(s *scene, r *rand.Rand) {
		s.switchAt = 1
		for i := len(s.servers); i < 10; i++ {
			s.servers = append(s.servers, newServer(r, i))
		}
		from := 0.5 * r.Float64()
		s.before = func(_ *rand.Rand, d *decision) {
			if d.x >= from && d.server == s.servers[9] {
				d.revision = s.revisions[1]
			}
		}
	}},
	{"canary on all servers", func(s *scene, r *rand.Rand) {
		from := 0.7 * r.Float64()
		s.before = func(r *rand.Rand, d *decision) { d.revision = s.revisions[count(d.x >= from && r.IntN(20) == 0)] }
	}},
	{"a canary that begins cold, and has few decisions", func(s *scene, r *rand.Rand) {
		n, seen := newServer(r, 9), 0
		n.started = s.at(0.7)
		s.before = func(r *rand.Rand, d *decision) {
			if d.revision = s.revisions[0]; d.at >= n.started && seen < 45 && r.IntN(4) == 0 {
				d.server, d.revision, seen = n, s.revisions[1], seen+1
			}
		}
		s.change(func(r *rand.Rand, d *decision) { d.eval *= either(d.server == n, 4+r.Float64(), 1) })
	}},
	{"a health check, which is always allowed", func(s *scene, _ *rand.Rand) {
		s.batch(&s.paths[2], 0.1, func(float64) bool { return true })
		s.change(func(r *rand.Rand, d *decision) {
			if d.client == s.clients {
				d.setAllowed(r, 0.99)
			}
		})
	}},
	{"clients that ask in bursts, each with outcomes of its own", func(s *scene, _ *rand.Rand) {
		left, client := 0, 0
		s.clients = 400
		s.before = func(r *rand.Rand, d *decision) {
			if left--; left < 0 {
				left, client = int(4*r.ExpFloat64()), d.client
			}
			d.client, d.path = client, &s.paths[client%len(s.paths)]
		}
		s.change(func(r *rand.Rand, d *decision) {
			d.setAllowed(r, 1-0.9*math.Pow(math.Mod(0.618*float64(d.client), 1), 3))
		})
	}},
	{"one server fewer in the evening", func(s *scene, _ *rand.Rand) {
		s.weight = func(x float64) float64 { return either(x < 0.6, 1, 0.5) }
		s.before = func(r *rand.Rand, d *decision) { d.server = s.servers[r.IntN(len(s.servers)-count(d.x >= 0.6))] }
	}},
	{"long-tailed paths", func(s *scene, _ *rand.Rand) {
		for i := range s.paths {
			s.paths[i].sigma += 0.4
			s.paths[i].tail += 0.01 * float64(i)
		}
	}},
	{"batches at night, 7 days", func(s *scene, _ *rand.Rand) {
		s.span = 7 * day
		s.weight = wave(s.span, day, 0.5)
		s.batch(&s.paths[4], 0.8, func(x float64) bool {
			hour, _ := s.clock(x)
			return hour == 2
		})
	}},
	{"clients come and go", func(s *scene, r *rand.Rand) {
		s.clients = 40
		first := make([]float64, s.clients)
		for i := range first {
			first[i] = 1.2*r.Float64() - 0.4
		}
		s.before = func(r *rand.Rand, d *decision) {
			for i := 0; i < 50 && (d.x < first[d.client] || d.x > first[d.client]+0.6); i++ {
				d.client = r.IntN(s.clients)
			}
		}
	}},
	{"outcomes follow the day, 14 days", func(s *scene, _ *rand.Rand) { s.followDay(14 * day) }},
	{"outcomes follow the day, one day", func(s *scene, _ *rand.Rand) { s.followDay(day) }},
	{"many clients", func(s *scene, _ *rand.Rand) { s.clients = 3000 }},
	{"a revision every day, 14 days", func(s *scene, _ *rand.Rand) {
		s.span = 14 * day
		s.before = func(_ *rand.Rand, d *decision) { d.revision = fmt.Sprint("r", int(d.x*14)) }
	}},
	{"an hourly batch with outcomes of its own, in which the log begins", func(s *scene, r *rand.Rand) {
		minutes, phase := 4+8*r.Float64(), 3*r.Float64()
		s.batch(&s.paths[2], 0.7, func(x float64) bool { return math.Mod(x*s.span.Minutes()+phase, 60) < minutes })
		s.change(func(r *rand.Rand, d *decision) {
			if d.client == s.clients {
				d.setAllowed(r, 0.9)
			}
		})
	}},
	{"restarts with the same ids", func(s *scene, r *rand.Rand) { s.restarts(r, false, 1, 0.3, 0.6) }},
	{"short restarts with the same ids", func(s *scene, r *rand.Rand) {
		s.span = 20 * time.Minute
		s.restarts(r, false, 1, 0.3+0.4*r.Float64())
	}},
	{"servers of teams, with paths of their own", func(s *scene, _ *rand.Rand) {
		s.clients = 3
		s.before = func(_ *rand.Rand, d *decision) {
			n := int(d.id[0] % uint64(len(s.paths)))
			d.path, d.server = &s.paths[n], s.servers[n%len(s.servers)]
		}
	}},
	{"a canary that goes", func(s *scene, r *rand.Rand) {
		s.switchAt = 0.5
		n := newServer(r, 9)
		s.before = func(r *rand.Rand, d *decision) {
			if d.x > 0.25 && d.x < 0.5 && r.IntN(8) == 0 {
				d.server, d.revision = n, s.revisions[1]
			}
		}
	}},
	{"a gateway, and a client that begins, with outcomes of its own", func(s *scene, r *rand.Rand) {
		s.clients, s.span = 1, 2*time.Hour
		from := 0.2 + 0.6*r.Float64()
		s.before = func(r *rand.Rand, d *decision) { d.client = count(d.x > from && r.IntN(3) == 0) }
		s.change(func(r *rand.Rand, d *decision) {
			if d.client == 1 {
				d.setAllowed(r, 0.3)
			}
		})
	}},
	{"a gateway, whose users ask in long sessions", func(s *scene, _ *rand.Rand) {
		user := uint64(0)
		s.clients, s.span = 1, day
		s.before = func(r *rand.Rand, d *decision) {
			if r.IntN(30) == 0 {
				user = d.id[0]
			}
		}
		s.change(func(r *rand.Rand, d *decision) {
			if r.IntN(3) == 0 { // what the user asked before
				d.setAllowed(r, float64(user>>3%5)/4)
			}
		})
	}},
	{"one server, AR(1) latencies", func(s *scene, r *rand.Rand) {
		s.servers = s.servers[:1]
		s.vary(r, 0.15)
	}},
	{"servers of different speeds", func(s *scene, r *rand.Rand) {
		for i := range s.servers {
			s.servers[i].factor = math.Exp(0.2 * r.NormFloat64())
		}
	}},
	{"sticky clients, which ask for different things", func(s *scene, r *rand.Rand) {
		s.vary(r, 0.1)
		share := make([]float64, s.clients)
		for i := range share {
			share[i] = 0.3 + 0.6*r.Float64()
		}
		s.before = func(r *rand.Rand, d *decision) {
			d.server = s.servers[(2*d.client+r.IntN(2))%len(s.servers)] // one of two
			if r.IntN(2) == 0 {
				d.path = &s.paths[d.client%len(s.paths)]
			}
		}
		s.change(func(r *rand.Rand, d *decision) {
			if d.path == &s.paths[0] {
				d.setAllowed(r, share[d.client])
			}
		})
	}},
	{"more servers by day, 2 days", func(s *scene, _ *rand.Rand) {
		s.span = 2 * day
		s.weight = wave(s.span, day, 0.8)
		all := float64(len(s.servers))
		s.before = func(r *rand.Rand, d *decision) { d.server = s.servers[r.IntN(int(math.Ceil(all*s.weight(d.x))))] }
	}},
	{"servers come for half an hour, 6 hours", func(s *scene, r *rand.Rand) {
		s.span = 6 * time.Hour
		stay, begins := len(s.servers), []float64(nil)
		for range 10 {
			s.servers, begins = append(s.servers, newServer(r, 10+len(s.servers))), append(begins, 0.05+0.8*r.Float64())
		}
		s.before = func(r *rand.Rand, d *decision) {
			if d.server = s.servers[r.IntN(stay)]; r.Float64() < 0.5 {
				if n := r.IntN(10); d.x >= begins[n] && d.x < begins[n]+1.0/12 {
					d.server = s.servers[stay+n]
				}
			}
		}
	}},
	{"one path, whose few inputs come again and again", func(s *scene, _ *rand.Rand) {
		s.clients, s.span = 3, 15*time.Minute
		s.before = func(_ *rand.Rand, d *decision) { d.path, d.input = &s.paths[0], d.input%30 }
	}},
	{"few inputs, and a client that begins with new ones", func(s *scene, _ *rand.Rand) {
		s.clients, s.span = 3, 30*time.Minute
		s.paths[1].shares, s.paths[2].shares = s.paths[0].shares, s.paths[0].shares
		s.before = func(_ *rand.Rand, d *decision) {
			d.input %= 30
			if d.path = &s.paths[0]; d.client == 0 {
				d.path = &s.paths[2]
				if d.x < 0.5 {
					d.path, d.input = &s.paths[1], d.id[0]
				}
			}
		}
	}},
	{"any traffic", func(s *scene, r *rand.Rand) {
		s.span = time.Duration((1 + 47*r.Float64()) * float64(time.Hour))
		s.servers, s.clients = nil, 50
		for i := range 1 + r.IntN(12) {
			s.servers = append(s.servers, newServer(r, i))
		}
		season, phase := 0.8*r.Float64(), r.Float64()
		at := func(x float64) float64 { return math.Sin(2 * math.Pi * (phase + x*s.span.Hours()/24)) }
		s.weight = func(x float64) float64 { return math.Exp(season * (at(x) - 1)) }
		s.vary(r, 0.2*r.Float64())
		s.change(func(_ *rand.Rand, d *decision) { d.eval *= math.Exp(0.3 * season * at(d.x)) })
	}},
}
