// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/hash"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
)

// Report is a report of the decisions of some logs.
type Report struct {
	Inputs Inputs
	// From and To are the first and the last time of a decision, in ns since
	// 1970, or logread.NoTime if none has one.
	From, To int64
	By       string // the kind of the groups' keys: "path", "hour", "label:team", …
	Width    int64  // of the slices of time of the total, in ns

	// Groups are sorted by total time, descending, and by key.
	Groups Groups
	// Total has all decisions together. Its slices of time may have neither
	// counters nor stages. Slices returns both.
	Total    Group
	slices   func() []groupby.Slice // returns Slices; nil stands for those of Total
	Overflow uint64                 // decisions without a group of their own
	// Revisions are the bundle revisions, over all groups, in the order of
	// their first decisions.
	Revisions []Revision
	Slowest   []SlowDecision // slowest first
	Findings  []Finding

	Interrupted bool // not everything was read
	common
	who     [attributes]*groupby.Groups // of paths, revisions and keys
	servers servers
	byTime  []Finding // of scan.findByTime
}

// common is what a report and its data have in common.
type common struct {
	options *Options // with which logs were read; nil for saved reports
	outside seen     // decisions that the options do not select; not saved
	sample  *decisionSample
	clients *names
	largest largest
}

// Slices returns the slices of time of all groups together, with their counters
// and stages. It may take some milliseconds.
func (r *Report) Slices() []groupby.Slice {
	if r.slices == nil {
		return r.Total.Slices
	}
	return r.slices()
}

// Timed returns the slices of a group that have a time.
func Timed(all []groupby.Slice) []groupby.Slice {
	if len(all) > 0 && all[0].Begin == logread.NoTime {
		return all[1:]
	}
	return all
}

// Top returns the first top groups, or all if top is 0.
func (r *Report) Top(top int) []*Group {
	if top <= 0 || top > r.Groups.Len() {
		top = r.Groups.Len()
	}
	groups := make([]*Group, top)
	for i := range groups {
		groups[i] = r.Groups.Sum(i)
	}
	return groups
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

// member returns all decisions of a path, server, client, revision or group, and
// of some these slices of time, with their width.
func (r *Report) member(attribute int, name string) (m seen, parts []groupby.Slice, width int64) {
	switch groups := r.who[attribute]; {
	case attribute == ofServer:
		if at := slices.IndexFunc(r.servers.list, func(x Member) bool { return x.Name == name }); at >= 0 {
			m = r.servers.list[at].seen
		}
	case attribute == ofClient:
		if at := r.clients.find(hash.Of(0, []byte(name))); at >= 0 {
			m = r.clients.sums[at]
		}
	case groups.Has(name):
		g := groups.Get(name, true, nil)
		m, parts, width = seen{g.First, g.Last, g.Outcomes}, g.Slices, groups.Width()
	}
	return m, parts, width
}

// Groups are the groups of a report. There may be very many, so most are made
// when they are requested. The zero value has none.
type Groups struct {
	Width int64 // of the slices of time, in ns
	n     int
	// get returns group i, and its slices with their parts if parts is true. It
	// may use the memory of an earlier group, or nil.
	get func(i int, parts bool, memory *Group) *Group
}

// GroupsOf returns groups that are in memory.
func GroupsOf(groups ...Group) Groups {
	return Groups{n: len(groups), get: func(i int, _ bool, _ *Group) *Group { return &groups[i] }}
}

// Len returns the number of groups.
func (g Groups) Len() int { return g.n }

// At returns group i. It may take some hundred microseconds.
func (g Groups) At(i int) *Group { return g.get(i, true, nil) }

// Sum returns group i. Its slices of time may have neither counters nor stages,
// so Sum is much faster than At. Other calls may return the same group, so the
// caller must not change it.
func (g Groups) Sum(i int) *Group { return g.get(i, false, nil) }

// Sums returns all groups in order, as Sum does. Each group is valid only until
// the next one.
func (g Groups) Sums() iter.Seq2[int, *Group] {
	return func(yield func(int, *Group) bool) {
		var memory Group
		for i := range g.n {
			if !yield(i, g.get(i, false, &memory)) {
				return
			}
		}
	}
}

// Group has the decisions of a key. Sizes.Median is that of the decisions of a
// path, a label or a field in the sample, or 0 if none of them is in it.
type Group = groupby.Group

// Revision has the decisions of a bundle revision.
type Revision struct {
	Name        string
	First, Last int64         // times, as in Report
	Evaluation  groupby.Stage // rego_query_eval
}

// Title returns the rule, and whether its finding is only for information.
func (f *Finding) Title() string {
	if f.Severity == Info {
		return f.Rule + " (info)"
	}
	return f.Rule
}

// The severities of findings.
const (
	Fault = "fault"
	Info  = "info"
)

// Finding is a remarkable fact about a report, with advice.
type Finding struct {
	Rule string `json:"rule"` // its name: see rules
	// Severity is Fault, or Info for what is usual in operation.
	Severity string `json:"severity"`
	Text     string `json:"text"` // a few sentences, with figures
	// Command shows the decisions, with a POSIX shell. The text ends with a
	// sentence about it. It is "" if there is none.
	Command string `json:"command,omitempty"`

	// The subject, "" if it is all, and the first and last time. Findings that
	// depend neither on a subject nor on a time lack them.
	Path     string             `json:"path,omitempty"`
	Server   string             `json:"server,omitempty"`
	Client   string             `json:"client,omitempty"`
	Revision string             `json:"revision,omitempty"`
	Key      string             `json:"key,omitempty"`   // of the group, if it is a label or a field
	Stage    string             `json:"stage,omitempty"` // that rose most
	From     string             `json:"from,omitempty"`
	To       string             `json:"to,omitempty"`
	Figures  map[string]float64 `json:"figures,omitempty"`

	start bool // of decisions after the start of a server or a revision
}

// setTimes sets the first and the last time of a finding, and returns them in
// words, or "" if they are not known.
func (f *Finding) setTimes(from, to int64) string {
	if from == logread.NoTime {
		return ""
	}
	f.From, f.To = text.Time(from, time.RFC3339Nano), text.Time(to, time.RFC3339Nano)
	return fmt.Sprintf(", from %s to %s UTC", at(from), at(to))
}
