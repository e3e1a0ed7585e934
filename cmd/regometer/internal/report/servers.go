// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"

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

// newServers finds the label by which people know servers: the first that tells
// them apart, or else "id", or the label with the most values.
func newServers(of *names) *servers {
	s := &servers{texts: map[string]map[string]string{}}
	all := of.members()
	slices.SortStableFunc(all, func(a, b Member) int { return cmp.Compare(a.First, b.First) })
	values := map[string]map[string]bool{} // by label
	for _, x := range all {
		for label, value := range s.labels(x.Name) {
			if values[label] == nil {
				values[label] = map[string]bool{}
			}
			values[label][value] = true
		}
	}
	most := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(values[b]), len(values[a])), cmp.Compare(a, b))
	})
	for i, label := range slices.Concat(readable, []string{"id"}, most) {
		if len(values[label]) > 1 && (s.group(all, label) || i >= len(readable)) {
			return s
		}
	}
	s.group(all, "")
	return s
}

// group sets the list of the servers by the values of a label. It reports whether
// the label tells apart all that have decisions at the same time.
func (s *servers) group(all []Member, label string) (apart bool) {
	s.label, s.list, apart = label, nil, true
	numbers := map[string]int{}
	for _, x := range all {
		labels := s.labels(x.Name)
		value, id := labels[label], labels["id"]
		at, ok := numbers[value]
		if x.Name == "" {
			continue
		} else if !ok {
			at = len(s.list)
			numbers[value] = at
			s.list = append(s.list, Member{Name: value, ID: id, seen: unseen})
		}
		g := &s.list[at]
		apart = apart && value != "" && (!ok || x.First > g.Last || id != "" && id == g.ID)
		if g.ID != id {
			g.ID = ""
		}
		g.merge(&x.seen)
	}
	return apart
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
