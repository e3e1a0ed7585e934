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
	list  []Member                     // by the first time, each with a value of the label
}

// readable are the labels that people know servers by, in the order in which
// they are tried.
var readable = []string{"pod", "pod_name", "podname", "hostname", "host", "instance", "node"}

// newServers finds the label by which people know servers, among those that
// tell them apart: values of "id", or else of the label with the most values,
// never have decisions at the same time under one value of the label.
func newServers(of *names) *servers {
	s := &servers{texts: map[string]map[string]string{}}
	values := map[string]map[string]bool{} // by label
	for _, text := range of.list {
		for label, value := range s.labels(text) {
			if values[label] == nil {
				values[label] = map[string]bool{}
			}
			values[label][value] = true
		}
	}
	for _, label := range slices.Sorted(maps.Keys(values)) {
		if len(values[label]) > max(1, len(values[s.label])) {
			s.label = label
		}
	}
	if len(values["id"]) > 1 {
		s.label = "id"
	}
	s.group(of)
	if at := slices.IndexFunc(readable, func(label string) bool { return len(values[label]) > 1 && s.separates(label) }); at >= 0 {
		s.label = readable[at]
		s.group(of)
	}
	return s
}

// separates reports whether servers with one value of a label never have
// decisions at the same time.
func (s *servers) separates(label string) bool {
	last := map[string]int64{} // by value
	for _, x := range s.list {
		value := s.labels(x.text)[label]
		if before, ok := last[value]; value == "" || ok && x.First <= before {
			return false
		}
		last[value] = x.Last
	}
	return true
}

// group sets the list of the servers by the values of the label.
func (s *servers) group(of *names) {
	by := map[string]*Member{}
	for i, text := range of.list {
		if text == "" {
			continue
		}
		labels := s.labels(text)
		g := by[labels[s.label]]
		if g == nil {
			g = &Member{labels[s.label], labels["id"], unseen, text}
			by[g.Name] = g
		}
		if g.ID != labels["id"] {
			g.ID = ""
		}
		g.merge(&of.sums[i])
	}
	s.list = nil
	for _, g := range by {
		s.list = append(s.list, *g)
	}
	slices.SortFunc(s.list, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.First, b.First), strings.Compare(a.Name, b.Name))
	})
}

// Servers returns the servers by the time of their first decision.
func (r *Report) Servers() []Member { return slices.Clone(r.servers.list) }

// Clients returns the clients by name.
func (r *Report) Clients() []Member {
	all := r.clients.members()
	for i := range all {
		all[i].Name = cmp.Or(all[i].Name, none)
	}
	return all
}

// labels returns the labels of their JSON.
func (s *servers) labels(text string) map[string]string {
	labels, ok := s.texts[text]
	if !ok {
		labels = map[string]string{}
		(&logread.Event{Labels: []byte(text)}).EachLabel(func(name, value []byte) { labels[string(name)] = string(value) })
		s.texts[text] = labels
	}
	return labels
}

// idOf returns the id of a server in words, or "" if people know it by its id.
func (s *servers) idOf(value string) string {
	for _, x := range s.list {
		if x.Name == value && x.ID != "" && s.label != "id" {
			return " (id " + name(x.ID) + ")"
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
