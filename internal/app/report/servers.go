// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/logread"
)

// servers tells servers apart by one of their labels.
type servers struct {
	label string                       // or "" if no label tells servers apart
	texts map[string]map[string]string // the labels, by their JSON
	list  []server                     // by the first time
}

// A server has the decisions with one value of the label.
type server struct {
	name        string
	id          string // its label "id", if it has one, and no other
	first, last int64  // as in groupby.Group
	decisions   uint64
	outcomes    outcomes
}

// readable are the labels that people know servers by, in the order in which
// they are tried.
var readable = []string{"pod", "pod_name", "podname", "hostname", "host", "instance", "node"}

// newServers finds the label by which people know servers, among those that
// tell them apart: values of "id", or else of the label with the most values,
// never have decisions at the same time under one value of the label.
func newServers(of *names) *servers {
	s := &servers{texts: map[string]map[string]string{}}
	var all []server // by their JSON
	counts := map[string]map[string]bool{}
	for i, text := range of.texts {
		if text == "" {
			continue
		}
		sum := &of.sums[i]
		o := sum.counts()
		all = append(all, server{name: text, first: sum.first, last: sum.last, decisions: o.sum(), outcomes: o})
		labels := labelsOf(text)
		for name, value := range labels {
			if counts[name] == nil {
				counts[name] = map[string]bool{}
			}
			counts[name][value] = true
		}
		s.texts[text] = labels
	}
	slices.SortFunc(all, func(a, b server) int { return strings.Compare(a.name, b.name) })
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(counts[b]), len(counts[a])), strings.Compare(a, b))
	})
	if len(counts["id"]) > 1 {
		s.label = "id"
	} else if len(names) > 0 && len(counts[names[0]]) > 1 {
		s.label = names[0]
	}
	exact := s.group(all, s.label)
	for _, name := range slices.Backward(readable) {
		if len(counts[name]) > 1 && s.separates(exact, all, name) {
			s.label = name
		}
	}
	s.list = s.group(all, s.label)
	return s
}

// separates reports whether servers with one value of a label never have
// decisions at the same time.
func (s *servers) separates(exact, all []server, label string) bool {
	last := map[string]int64{} // by value
	of := map[string]string{}  // the value of a server
	for _, x := range all {
		of[s.texts[x.name][s.label]] = s.texts[x.name][label]
	}
	for _, x := range exact {
		value := of[x.name]
		if before, ok := last[value]; value == "" || ok && x.first <= before {
			return false
		}
		last[value] = x.last
	}
	return true
}

// group returns the servers by the values of a label.
func (s *servers) group(all []server, label string) []server {
	by := map[string]*server{}
	for _, x := range all {
		value, id := s.texts[x.name][label], s.texts[x.name]["id"]
		g := by[value]
		if g == nil {
			g = &server{name: value, id: id, first: logread.NoTime, last: logread.NoTime}
			by[value] = g
		}
		if g.id != id {
			g.id = ""
		}
		widen(&g.first, &g.last, x.first)
		widen(&g.first, &g.last, x.last)
		g.decisions += x.decisions
		for o, n := range x.outcomes {
			g.outcomes[o] += n
		}
	}
	var list []server
	for _, g := range by {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b server) int {
		return cmp.Or(cmp.Compare(a.first, b.first), strings.Compare(a.name, b.name))
	})
	return list
}

// A Member is a server or a client, with all its decisions.
type Member struct {
	Name, ID    string // the id of a server that people know by another name
	First, Last int64  // times, as in Report
	Decisions   uint64
	Outcomes    outcomes
}

// Servers returns the servers in any order.
func (r *Report) Servers() (all []Member) {
	for _, x := range r.servers.list {
		all = append(all, Member{x.name, x.id, x.first, x.last, x.decisions, x.outcomes})
	}
	return all
}

// Clients returns the clients in any order.
func (r *Report) Clients() (all []Member) {
	for i, sum := range r.clients.sums {
		o := sum.counts()
		all = append(all, Member{cmp.Or(r.clients.texts[i], none), "", sum.first, sum.last, o.sum(), o})
	}
	return all
}

// counts returns the outcomes.
func (s *nameSum) counts() (o outcomes) {
	for i, n := range s.outcomes {
		o[i] = uint64(n)
	}
	return o
}

// labelsOf returns the labels of their JSON.
func labelsOf(text string) map[string]string {
	labels := map[string]string{}
	(&logread.Event{Labels: []byte(text)}).EachLabel(func(name, value []byte) { labels[string(name)] = string(value) })
	return labels
}

// name returns the value of the label in the JSON of labels.
func (s *servers) name(text string) string {
	labels, ok := s.texts[text]
	if !ok {
		labels = labelsOf(text)
		s.texts[text] = labels
	}
	return labels[s.label]
}

// idOf returns the id of a server in words, or "" if people know it by its id.
func (s *servers) idOf(value string) string {
	for _, x := range s.list {
		if x.name == value && x.id != "" && s.label != "id" {
			return " (id " + name(x.id) + ")"
		}
	}
	return ""
}

// by returns the grouping by servers, or by paths if no label tells servers
// apart.
func (s *servers) by() string {
	if s.label == "" {
		return "path"
	}
	return "label:" + s.label
}
