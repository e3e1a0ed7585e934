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
	var all []Member // named by their JSON
	counts := map[string]map[string]bool{}
	for _, x := range of.members() {
		if x.Name == "" {
			continue
		}
		all = append(all, x)
		labels := labelsOf(x.Name)
		for name, value := range labels {
			if counts[name] == nil {
				counts[name] = map[string]bool{}
			}
			counts[name][value] = true
		}
		s.texts[x.Name] = labels
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(counts[b]), len(counts[a])), strings.Compare(a, b))
	})
	if len(counts["id"]) > 1 {
		s.label = "id"
	} else if len(names) > 0 && len(counts[names[0]]) > 1 {
		s.label = names[0]
	}
	exact := s.group(all)
	if at := slices.IndexFunc(readable, func(name string) bool { return len(counts[name]) > 1 && s.separates(exact, all, name) }); at >= 0 {
		s.label = readable[at]
	}
	s.list = s.group(all)
	return s
}

// separates reports whether servers with one value of a label never have
// decisions at the same time.
func (s *servers) separates(exact, all []Member, label string) bool {
	last := map[string]int64{} // by value
	of := map[string]string{}  // the value of a server
	for _, x := range all {
		of[s.texts[x.Name][s.label]] = s.texts[x.Name][label]
	}
	for _, x := range exact {
		value := of[x.Name]
		if before, ok := last[value]; value == "" || ok && x.First <= before {
			return false
		}
		last[value] = x.Last
	}
	return true
}

// group returns the servers by the values of the label.
func (s *servers) group(all []Member) (list []Member) {
	by := map[string]*Member{}
	for _, x := range all {
		value, id := s.texts[x.Name][s.label], s.texts[x.Name]["id"]
		g := by[value]
		if g == nil {
			g = &Member{value, id, unseen}
			by[value] = g
		}
		if g.ID != id {
			g.ID = ""
		}
		g.merge(&x.seen)
	}
	for _, g := range by {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.First, b.First), strings.Compare(a.Name, b.Name))
	})
	return list
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
