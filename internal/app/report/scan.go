// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file decides what a scan counts: which decisions are slow, failed,
// denied or undefined, and whose they are.

import (
	"fmt"
	"math"
	"slices"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// A scan finds the decisions of a sample that stand out. It looks at each
// server, path, client and revision, in each interval of time.
type scan struct {
	events []event // by time
	every  []int32 // the indices of events
	values [attributes][]value
	label  string // the label that tells servers apart, or ""
	xlogx  []float64
}

// event is a decision. Its names are indices in scan.values.
type event struct {
	time, took int64
	outcome    outcome.Outcome
	names      [attributes]int32
	bin        int
	over       float64 // the logarithm of took minus that of the fastest tenth of its path
	timed      bool    // over is known
}

// value is a name of an attribute.
type value struct {
	name   string
	events []int32 // the indices of the decisions that have it
}

const (
	scanBins  = 64 // slices of time, in which a search begins
	scanLeast = 30 // decisions inside, and outside
	anyName   = -1
)

// subject has the names of the decisions of a cluster. Most are anyName.
type subject [attributes]int32

var all = subject{anyName, anyName, anyName, anyName}

func (s subject) has(e *event) bool {
	for i, name := range s {
		if name != anyName && name != e.names[i] {
			return false
		}
	}
	return true
}

// newScan returns a scan of a sample, which is sorted.
func newScan(of *decisionSample) *scan {
	n := len(of.kept)
	s := &scan{events: make([]event, n), every: make([]int32, n), xlogx: make([]float64, n+1)}
	if n == 0 {
		return s
	}
	first, last := of.kept[0].time, of.kept[n-1].time
	width := float64(last)/scanBins - float64(first)/scanBins + 1
	for i := range of.kept {
		d := &of.kept[i]
		s.events[i] = event{time: d.time, took: d.took, outcome: d.outcome, bin: min(scanBins-1, int((float64(d.time)-float64(first))/width))}
		s.every[i] = int32(i)
		s.xlogx[i+1] = float64(i+1) * math.Log(float64(i+1))
	}
	labels := s.readServers(of)
	var indices [attributes]map[string]int32
	for a := range indices {
		indices[a] = map[string]int32{}
	}
	for i := range of.kept {
		names := of.names(&of.kept[i])
		for a, name := range names[:attributes] {
			if a == ofServer {
				name = labels[string(name)][s.label]
			}
			n, ok := indices[a][string(name)]
			if !ok {
				n = int32(len(s.values[a]))
				indices[a][string(name)] = n
				s.values[a] = append(s.values[a], value{name: string(name)})
			}
			v := &s.values[a][n]
			v.events = append(v.events, int32(i))
			s.events[i].names[a] = n
		}
	}
	s.setOver()
	return s
}

// readServers finds the label that tells servers apart: "id", or else the one
// with the most values. It returns the labels for each text of labels.
func (s *scan) readServers(of *decisionSample) map[string]map[string][]byte {
	parsed, seen, counts := map[string]map[string][]byte{}, map[string]bool{}, map[string]int{}
	for i := range of.kept {
		text := of.names(&of.kept[i])[ofServer]
		if parsed[string(text)] != nil {
			continue
		}
		labels := map[string][]byte{}
		(&logread.Event{Labels: text}).EachLabel(func(name, value []byte) { labels[string(name)] = slices.Clone(value) })
		for name, value := range labels {
			if pair := fmt.Sprintf("%q=%s", name, value); !seen[pair] {
				seen[pair] = true
				counts[name]++
			}
		}
		parsed[string(text)] = labels
	}
	most := 1
	for name, n := range counts {
		if n > 1 && name == "id" {
			n = math.MaxInt
		}
		if n > most || n == most && most > 1 && name < s.label {
			s.label, most = name, n
		}
	}
	return parsed
}

// byServer returns the grouping by servers, or by paths if no label tells
// servers apart.
func (s *scan) byServer() string {
	if s.label == "" {
		return "path"
	}
	return "label:" + s.label
}

// setOver sets the durations relative to those of the path.
func (s *scan) setOver() {
	for _, path := range s.values[ofPath] {
		var logs []float64
		for _, i := range path.events {
			if e := &s.events[i]; e.took > 0 {
				e.over = math.Log(float64(e.took))
				logs = append(logs, e.over)
			}
		}
		if len(logs) < scanLeast {
			continue
		}
		slices.Sort(logs)
		for _, i := range path.events {
			e := &s.events[i]
			e.over, e.timed = e.over-nearest(logs, 0.1), e.took > 0
		}
	}
}

// kind is what is unusual about the decisions of a cluster.
type kind int

const (
	slow kind = iota
	failed
	denied
	undefined
)

// A feature is what a scan counts.
type feature struct {
	kind  kind
	over  float64 // of slow decisions: event.over is above this
	names []int   // the attributes that clusters of this kind have
	// within says that a subject is only compared with itself at other times.
	within bool
}

var (
	anyone   = []int{ofPath, ofServer, ofClient, ofRevision}
	features = []feature{
		{slow, math.Log(slowLow), anyone, false},
		{slow, math.Log(slowHigh), anyone, false},
		{failed, 0, anyone, false},
		{denied, 0, []int{ofPath}, true},
		{denied, 0, []int{ofServer, ofClient}, false},
		{undefined, 0, []int{ofPath}, true},
	}
)

// of returns 1 if a decision has the feature, 0 if it lacks the feature, and -1
// if it does not count.
func (f feature) of(e *event) int8 {
	is := e.outcome == [...]outcome.Outcome{failed: outcome.Error, denied: outcome.Denied, undefined: outcome.Undefined}[f.kind]
	switch {
	case f.kind == slow && !e.timed, f.kind == denied && e.outcome > outcome.Denied:
		return -1
	case f.kind == slow:
		is = e.over > f.over
	}
	if is {
		return 1
	}
	return 0
}
