// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

const day = 24 * time.Hour

// A healthy scene has nothing wrong.
type healthy struct {
	name  string
	shape func(s *scene, r *rand.Rand)
}

func wave(span, period time.Duration, depth float64) func(float64) float64 {
	cycles := float64(span) / float64(period)
	return func(x float64) float64 { return 1 - depth/2*(1+math.Cos(2*math.Pi*x*cycles)) }
}

// hourOf returns the day of the week and the hour at a part of the span.
func (s *scene) hourOf(x float64) (weekday time.Weekday, hour int) {
	t := s.begin.Add(time.Duration(x * float64(s.span)))
	return t.Weekday(), t.Hour()
}

// restarts replaces the servers one after another, from each of the times on.
// New servers have new ids and no compiled queries, and are slow for 20 s.
func restarts(s *scene, r *rand.Rand, at []float64, revisions []string) {
	type step struct {
		x        float64
		server   *server
		revision string
	}
	plans := make([][]step, len(s.servers)) // by place
	for i, old := range s.servers {
		plans[i] = []step{{0, old, s.revisions[0]}}
		for k, x := range at {
			n := s.newServer(r, i)
			x += 30 * float64(i) / s.span.Seconds()
			n.started = s.at(x)
			plans[i] = append(plans[i], step{x, n, revisions[k]})
		}
	}
	place := map[*server]int{}
	for i, old := range s.servers {
		place[old] = i
	}
	s.before = func(g *generator, d *decision) {
		for _, st := range plans[place[d.server]] {
			if g.x >= st.x {
				d.server, d.revision = st.server, st.revision
			}
		}
	}
	s.edit = func(g *generator, d *decision) bool {
		if d.at-d.server.started < int64(20*time.Second) {
			d.eval *= 1 + 4*g.rand.Float64()
			d.finish(g)
		}
		return true
	}
}

var healthyScenes = []healthy{
	{"stationary", func(*scene, *rand.Rand) {}},
	{"season of hours", func(s *scene, _ *rand.Rand) { s.weight = wave(s.span, 2*time.Hour, 0.7) }},
	{"season of days, 30 days", func(s *scene, _ *rand.Rand) {
		s.span = 30 * day
		s.weight = wave(s.span, day, 0.8)
		load := s.weight
		s.edit = func(g *generator, d *decision) bool { // a little slower under load
			d.eval *= 1 + 0.15*load(g.x)
			d.finish(g)
			return true
		}
	}},
	{"season of weeks, 8 weeks", func(s *scene, _ *rand.Rand) {
		s.span = 56 * day
		s.weight = func(x float64) float64 {
			w := wave(s.span, day, 0.7)(x)
			if d, _ := s.hourOf(x); d == time.Saturday || d == time.Sunday {
				w *= 0.3
			}
			return w
		}
	}},
	{"night pauses, 7 days", func(s *scene, _ *rand.Rand) {
		s.span = 7 * day
		s.weight = func(x float64) float64 {
			if _, h := s.hourOf(x); h < 5 {
				return 0
			}
			return 1
		}
	}},
	{"office hours, 14 days", func(s *scene, _ *rand.Rand) {
		s.span = 14 * day
		s.weight = func(x float64) float64 {
			if d, h := s.hourOf(x); d == time.Saturday || d == time.Sunday || h < 8 || h >= 18 {
				return 0.01
			}
			return 1
		}
	}},
	{"deployment, new ids and revision", func(s *scene, r *rand.Rand) {
		restarts(s, r, []float64{0.2 + 0.6*r.Float64()}, s.revisions[1:])
	}},
	{"rolling restarts, new ids at each", func(s *scene, r *rand.Rand) {
		s.span = 2 * day
		restarts(s, r, []float64{0.2, 0.4, 0.6, 0.8}, []string{s.revisions[0], s.revisions[0], s.revisions[1], s.revisions[1]})
	}},
	{"canary", func(s *scene, r *rand.Rand) {
		s.switchAt = 1
		for i := len(s.servers); i < 10; i++ {
			s.servers = append(s.servers, s.newServer(r, i))
		}
		from := 0.5 * r.Float64()
		s.before = func(g *generator, d *decision) {
			if g.x >= from && d.server == s.servers[9] {
				d.revision = s.revisions[1]
			}
		}
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
		s.before = func(g *generator, d *decision) {
			if _, h := s.hourOf(g.x); h == 2 && g.rand.Float64() < 0.8 {
				d.client, d.path = s.clients, 4
			}
		}
	}},
	{"clients come and go", func(s *scene, r *rand.Rand) {
		s.clients = 40
		first := make([]float64, s.clients)
		for i := range first {
			first[i] = 1.2*r.Float64() - 0.4
		}
		s.before = func(g *generator, d *decision) {
			for i := 0; i < 50 && (g.x < first[d.client] || g.x > first[d.client]+0.6); i++ {
				d.client = g.rand.IntN(s.clients)
			}
		}
	}},
	{"outcomes follow the day, 14 days", func(s *scene, _ *rand.Rand) {
		s.span = 14 * day
		s.weight = wave(s.span, day, 0.6)
		more := wave(s.span, day, 1)
		s.edit = func(g *generator, d *decision) bool {
			if d.path == 0 {
				d.setAllowed(g.rand, 0.6+0.3*more(g.x))
			}
			return true
		}
	}},
	{"many clients", func(s *scene, _ *rand.Rand) { s.clients = 3000 }},
	{"a revision every day, 14 days", func(s *scene, _ *rand.Rand) {
		s.span = 14 * day
		s.before = func(g *generator, d *decision) { d.revision = "r" + strconv.Itoa(int(g.x*14)) }
	}},
}
