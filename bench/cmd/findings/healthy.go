// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// clock returns the hour at a part of the span, and whether it is on a weekend.
func (s *scene) clock(x float64) (hour int, weekend bool) {
	t := s.from.Add(time.Duration(x * float64(s.span)))
	return t.Hour(), t.Weekday() == time.Saturday || t.Weekday() == time.Sunday
}

func either(is bool, yes, no float64) float64 {
	if is {
		return yes
	}
	return no
}

// healthyKinds returns the healthy scenes as kinds, whose sizes are numbers of
// decisions.
func healthyKinds(sizes []size) (kinds []kind) {
	for _, h := range healthyScenes {
		kinds = append(kinds, kind{name: h.name, sizes: sizes, plant: func(s *scene, r *rand.Rand, decisions float64) planted {
			s.decisions = int(decisions)
			h.shape(s, r)
			return planted{}
		}})
	}
	return kinds
}

// restarts replaces the servers one after another, from each of the times on.
// The new ones have new ids and no compiled queries, and are slow for 20 s.
// From the time numbered updated on, they have the second revision.
func restarts(s *scene, r *rand.Rand, updated int, times ...float64) {
	replaced := make([][]*server, len(s.servers))
	for i := range replaced {
		for _, x := range times {
			n := newServer(r, i)
			n.started = s.at(x + 30*float64(i)/s.span.Seconds())
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
	s.edit = func(r *rand.Rand, d *decision) {
		if d.at-d.server.started < int64(20*time.Second) {
			d.eval *= 1 + 4*r.Float64()
		}
	}
}

var healthyScenes = []healthy{
	{"stationary", func(*scene, *rand.Rand) {}},
	{"season of hours", func(s *scene, _ *rand.Rand) { s.weight = wave(s.span, 2*time.Hour, 0.7) }},
	{"season of days, 30 days", func(s *scene, _ *rand.Rand) {
		s.span = 30 * day
		s.weight = wave(s.span, day, 0.8)
		s.edit = func(_ *rand.Rand, d *decision) { d.eval *= 1 + 0.15*s.weight(d.x) } // a little slower under load
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
	{"deployment, new ids and revision", func(s *scene, r *rand.Rand) {
		restarts(s, r, 0, 0.2+0.6*r.Float64())
	}},
	{"rolling restarts, new ids at each", func(s *scene, r *rand.Rand) {
		s.span = 2 * day
		restarts(s, r, 2, 0.2, 0.4, 0.6, 0.8)
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
	{"long-tailed paths", func(s *scene, _ *rand.Rand) {
		for i := range s.paths {
			s.paths[i].sigma += 0.4
			s.paths[i].tail += 0.01 * float64(i)
		}
	}},
	{"batches at night, 7 days", func(s *scene, _ *rand.Rand) {
		s.span = 7 * day
		s.weight = wave(s.span, day, 0.5)
		s.before = func(r *rand.Rand, d *decision) {
			if hour, _ := s.clock(d.x); hour == 2 && r.Float64() < 0.8 {
				d.client, d.path = s.clients, &s.paths[4]
			}
		}
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
	{"outcomes follow the day, 14 days", func(s *scene, _ *rand.Rand) {
		s.span = 14 * day
		s.weight = wave(s.span, day, 0.6)
		more := wave(s.span, day, 1)
		s.edit = func(r *rand.Rand, d *decision) {
			if d.path == &s.paths[0] {
				d.setAllowed(r, 0.6+0.3*more(d.x))
			}
		}
	}},
	{"many clients", func(s *scene, _ *rand.Rand) { s.clients = 3000 }},
	{"a revision every day, 14 days", func(s *scene, _ *rand.Rand) {
		s.span = 14 * day
		s.before = func(_ *rand.Rand, d *decision) { d.revision = fmt.Sprint("r", int(d.x*14)) }
	}},
}
