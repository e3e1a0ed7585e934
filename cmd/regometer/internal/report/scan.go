// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file decides what a scan counts: which decisions are slow, denied,
// compiled and so on, and whose they are.

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/hash"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/outcome"
)

// A scan finds the decisions of a sample that stand out. It looks at each
// server, path, client and revision, in each interval of time.
type scan struct {
	events  []*event // by time
	bin     []uint8  // of each event: its slice of time
	values  [attributes][]value
	targets []target // the first has all
	servers *servers
	xlogx   []float64
	share   float64 // of the decisions with a time that are in the sample, about: 1 if all are

	keysJudge bool // the keys are not those of a field of the result, of which the outcome is a part
}

// event is a decision. Its names are indices in scan.values.
type event struct {
	*sampled
	at    int // its index
	names [attributes]int32
	over  float64 // the logarithm of took minus that of the fastest tenth of its path, or NaN
	top   bool    // it is one of the slowest of its path, as topShare and topTimes say
	again bool    // its input came to its path in the minute before
	cold  bool    // its server began, or changed its revision, not long ago
	use   int32   // the first event with its path and client
	asked bool    // its client began to ask for its path a minute before, or earlier
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
	pairLeast = 200 // decisions of a path and a server or client
	pairMost  = 64  // such pairs

	startLong      = 3 * time.Minute // a server is cold for this time after its first decision with a revision,
	startDecisions = 100             // or for so many decisions,
	startNear      = time.Minute     // unless this is the first minute of the log, since it may have begun long before
)

// A target is what a search looks at: a name, or the pair of a path and a server
// or client. It is compared with a parent: all, or the path.
type target struct {
	subject, parent subject
	events          []int32 // the indices of its decisions
}

// subject has the names of the decisions of a cluster. Most are anyName.
type subject [attributes]int32

var all = subject{anyName, anyName, anyName, anyName, anyName}

func (s subject) has(e *event) bool {
	for i, name := range s {
		if name != anyName && name != e.names[i] {
			return false
		}
	}
	return true
}

// newScan returns a scan of a sample, which is sorted. Decisions that repeat
// count once: they are no evidence.
func newScan(of *decisionSample, servers *servers) *scan {
	n := len(of.kept)
	s := &scan{
		events: make([]*event, 0, n), bin: make([]uint8, 0, n), xlogx: make([]float64, n+1), servers: servers,
		targets: []target{{all, all, make([]int32, 0, n)}}, share: float64(of.limit) / hashLimit,
	}
	if n == 0 {
		return s
	}
	memory := make([]event, n)
	first, last := of.kept[0].time, of.kept[n-1].time
	width := float64(last)/scanBins - float64(first)/scanBins + 1
	for i := range of.kept {
		d := &of.kept[i]
		if i > 0 && *d == of.kept[i-1] {
			continue
		}
		memory[i] = event{sampled: d, at: len(s.events), over: math.NaN()}
		s.targets[0].events = append(s.targets[0].events, int32(len(s.events)))
		s.events = append(s.events, &memory[i])
		s.bin = append(s.bin, uint8(min(scanBins-1, (float64(d.time)-float64(first))/width)))
	}
	var sets sync.WaitGroup
	for a := range s.values {
		sets.Go(func() { s.setNames(a, &of.names) })
	}
	sets.Wait()
	for _, set := range []func(){s.setOver, s.setAgain, s.setAsked, s.setCold, s.setTargets} {
		sets.Go(set)
	}
	for n := range s.xlogx[1:] {
		s.xlogx[n+1] = float64(n+1) * math.Log(float64(n+1))
	}
	sets.Wait()
	return s
}

// from returns the index of the first event from a time on.
func (s *scan) from(time int64) int {
	at, _ := slices.BinarySearchFunc(s.events, time, func(e *event, t int64) int { return cmp.Compare(e.time, t) })
	return at
}

// setNames sets the names of an attribute, and lists the events of each.
func (s *scan) setNames(a int, names *texts) {
	numbers := make([]int32, len(names.list)) // of the names of the sample, plus 1
	indices := map[string]int32{}             // the same of the names
	var counts []int
	for _, e := range s.events {
		number := &numbers[e.sampled.names[a]]
		if *number == 0 {
			text := names.list[e.sampled.names[a]]
			if a == ofServer {
				text = s.servers.labels(text)[s.servers.label]
			}
			if indices[text] == 0 {
				s.values[a], counts = append(s.values[a], value{name: text}), append(counts, 0)
				indices[text] = int32(len(s.values[a]))
			}
			*number = indices[text]
		}
		e.names[a] = *number - 1
		counts[e.names[a]]++
	}
	lists := make([]int32, len(s.events))
	for n, count := range counts {
		s.values[a][n].events, lists = lists[:0:count], lists[count:]
	}
	for i, e := range s.events {
		v := &s.values[a][e.names[a]]
		v.events = append(v.events, int32(i))
	}
}

// setAgain finds what came in the minute before.
func (s *scan) setAgain() {
	// By hash: an input with its path, and the index of the last event that has both.
	last := make([]uint64, 2<<bits.Len(uint(len(s.events))))
	clear(last) // see texts.put
	for i, e := range s.events {
		if e.input == 0 {
			continue
		}
		key := e.input * uint32(2*e.names[ofPath]+1)
		at := int(hash.Mix(uint64(key), spread)) & (len(last) - 1)
		for last[at] != 0 && uint32(last[at]>>32) != key {
			at = (at + 1) & (len(last) - 1)
		}
		e.again = last[at] != 0 && e.time-s.events[uint32(last[at])].time <= int64(time.Minute)
		last[at] = uint64(key)<<32 | uint64(i)
	}
}

// setAsked finds who asked before.
func (s *scan) setAsked() {
	began := make([]int32, len(s.values[ofPath])) // the first event of the client with a path
	for n := range s.values[ofClient] {
		for _, i := range s.values[ofClient][n].events {
			e := s.events[i]
			first := &began[e.names[ofPath]]
			if s.events[*first].names[ofClient] != int32(n) || s.events[*first].names[ofPath] != e.names[ofPath] {
				*first = i
			}
			e.use, e.asked = *first, e.input != 0 && e.time-s.events[*first].time > int64(time.Minute)
		}
	}
}

// setCold finds the decisions of cold servers.
func (s *scan) setCold() {
	type start struct {
		server    int
		time      int64
		decisions float64
	}
	starts := make([]start, len(s.values[ofRevision])) // of the server with a revision
	for n := range s.values[ofServer] {
		for _, i := range s.values[ofServer][n].events {
			e := s.events[i]
			from := &starts[e.names[ofRevision]]
			if from.decisions == 0 || from.server != n {
				*from = start{server: n, time: e.time}
			}
			from.decisions += 1 / s.share
			e.cold = from.time > s.events[0].time+int64(startNear) && (from.decisions <= startDecisions || e.time-from.time <= int64(startLong))
		}
	}
}

// setTargets finds the targets beside all.
func (s *scan) setTargets() {
	var pairs []target
	for a, values := range s.values {
		for n, v := range values {
			// What differs with the first revision came with another one.
			if len(values) < 2 || len(v.events) < scanLeast || a == ofRevision && n == 0 || v.name == "" && a != ofPath && a != ofClient {
				continue
			}
			sub := all
			sub[a] = int32(n)
			s.targets = append(s.targets, target{sub, all, v.events})
			if a != ofServer && a != ofClient || len(s.values[ofPath]) < 2 {
				continue
			}
			paths := make([][]int32, len(s.values[ofPath]))
			for _, i := range v.events {
				path := s.events[i].names[ofPath]
				paths[path] = append(paths[path], i)
			}
			for path, events := range paths {
				if len(events) >= pairLeast {
					pair, parent := sub, all
					pair[ofPath], parent[ofPath] = int32(path), int32(path)
					pairs = append(pairs, target{pair, parent, events})
				}
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b target) int { return cmp.Compare(len(b.events), len(a.events)) })
	s.targets = append(s.targets, pairs[:min(len(pairs), pairMost)]...)
}

// setOver sets the durations relative to those of the path. It goes through the
// events in their order, in which they are in memory.
func (s *scan) setOver() {
	known := make([]*exphist.Histogram, len(s.values[ofPath])) // of the paths with enough decisions
	for path, v := range s.values[ofPath] {
		if len(v.events) >= scanLeast {
			known[path] = exphist.New(groupby.Layout)
		}
	}
	for _, e := range s.events {
		if h := known[e.names[ofPath]]; h != nil && e.took > 0 {
			h.Record(e.took)
		}
	}
	fast, top := make([]float64, len(known)), make([]float64, len(known))
	var all exphist.Snapshot
	for path, h := range known {
		if h == nil {
			continue
		}
		if h.Snapshot(&all); all.Count() >= scanLeast {
			fast[path] = all.Quantile(0.1)
			top[path] = max(all.Quantile(topShare), topTimes*fast[path])
		}
	}
	for _, e := range s.events {
		if path := e.names[ofPath]; fast[path] > 0 && e.took > 0 {
			took := float64(e.took)
			e.top, e.over = took > top[path], math.Log(took/fast[path])
		}
	}
}

// kind is what is unusual about the decisions of a cluster.
type kind int

const (
	slow kind = iota
	shifted
	untimed
	compiled
	unfinished
	repeated
	kinds
)

// A feature is what a scan counts.
type feature struct {
	kind    kind
	outcome outcome.Outcome // of shifted
	over    float64         // of slow decisions: event.over is above this
	rare    bool            // of slow decisions: those of event.top
	least   float64         // by which the share must be above that outside, unless this is small

	rule  string // or, of an outcome, the beginning of the names of its rules
	word  string // the outcome
	did   string // what decisions did
	stage string
	// advice says what to do.
	advice string
}

// The thresholds of features.
const (
	rarePoints   = 0.02 // the share of an outcome minus the share outside, if that is small:
	rareTimes    = 3    // the share divided by the share outside,
	revisedTimes = 1.5  // or less if a revision begins with it
	slowLow      = 2.5  // slow: the duration divided by that of the path's fastest tenth
	slowHigh     = 8    // the same, for a cluster among other slow decisions
	slowHigher   = 32   // and these, where some decisions always take long
	slowHighest  = 128
	topShare     = 0.98 // few slow decisions: longer than this share of the decisions of their path,
	topTimes     = 16   // and so many times as long as the fastest tenth
)

// features begin with those of the outcomes.
var features = [...]feature{
	outcome.Allowed: {kind: shifted, outcome: outcome.Allowed, least: 0.08, rule: "allowed", word: "allowed", did: "were allowed",
		advice: " Check at once whether the policy, or its data, allows what it should not."},
	outcome.Denied: {kind: shifted, outcome: outcome.Denied, least: 0.08, rule: "denied", word: "denied", did: "were denied",
		advice: " Check whether the policy, its data, or the requests changed."},
	outcome.Neither: {kind: shifted, outcome: outcome.Neither, least: 0.08, rule: "other", word: "another result", did: "had another result"},
	outcome.Undefined: {kind: shifted, outcome: outcome.Undefined, least: 0.08, rule: "undefined", word: "undefined", did: "were undefined",
		advice: " Check whether clients spell the path like the packages and rules, and whether OPA has loaded the bundle that contains these."},
	outcome.Failed: {kind: shifted, outcome: outcome.Failed, least: 0.08, rule: "errors", word: "failed", did: "failed",
		advice: " Find the cause in the messages of the errors in the log."},
	outcome.Cancelled: {kind: shifted, outcome: outcome.Cancelled, least: 0.08, rule: "cancelled", word: "cancelled", did: "were cancelled",
		advice: " Clients gave up, or their time limit was too short: look at the durations at this time."},
	{kind: slow, over: math.Log(slowLow), least: 0.08},
	{kind: slow, over: math.Log(slowHigh), least: 0.08},
	{kind: slow, over: math.Log(slowHigher), least: 0.08},
	{kind: slow, over: math.Log(slowHighest), least: 0.08},
	{kind: slow, rare: true},
	{kind: untimed, least: 0.5, rule: "metrics_missing", did: "had no durations",
		advice: " Find out what removes `metrics` there, or whether this server has another version or configuration of OPA."},
	{kind: compiled, least: 0.2, rule: "compiles_rose", did: "compiled their query", stage: compileStage,
		advice: " OPA compiles queries again after policies or data changed, and keeps those of 100 paths. Write policies and data less often, in larger batches."},
	hangs,
	{kind: repeated, least: 0.5, rule: "requests_repeated", did: "had an input that the same path got in the minute before",
		advice: " Find out whether the client tries the same request again and again."},
}

// stageAdvice says what to do if decisions are slow because of a part of
// partStages, or because of the rest.
var stageAdvice = [parts + 1]string{
	ofEvaluation: " Find the rules and lines that take the time with `regometer replay --policy`, the policy and this log.",
	ofHTTP:       " Look at the other server, and set `timeout` in the call so that decisions do not wait longer than they may.",
	ofCompile:    " Policies or data changed, or the paths of requests have ids in them.",
	ofInput:      " Inputs became larger, or clients send them slowly.",
	parts:        " Check whether OPA waits for a processor: its CPU limit, its neighbours, and garbage collection.",
}

var hangs = feature{kind: unfinished, least: 0.1, rule: "http_send_unfinished", did: "had a call of `http.send` that did not end", stage: httpStage,
	advice: " Such a call reached its time limit, or the decision was cancelled. OPA does not log how long it took, so this time counts as evaluation." + stageAdvice[ofHTTP]}

// OutcomeWord returns an outcome in words.
func OutcomeWord(o outcome.Outcome) string { return features[o.Valid()].word }

// of returns 1 if a decision has the feature, 0 if it lacks the feature, and -1
// if it does not count.
func (f *feature) of(e *event) int8 {
	is, counts := false, true
	switch f.kind {
	case slow:
		is, counts = e.over > f.over, !math.IsNaN(e.over)
		if f.rare {
			is = e.top
		}
	case shifted:
		is = e.outcome == f.outcome
	case untimed:
		is = e.took == 0
	case compiled:
		is, counts = e.parts[ofCompile] > 0, e.took > 0
	case unfinished:
		is = e.parts[ofHTTP] < 0
	case repeated:
		// Of the first minute, nobody knows what came before: few inputs then
		// come again, however often they do later.
		is, counts = e.again, e.asked
	}
	switch {
	case !counts:
		return -1
	case is:
		return 1
	}
	return 0
}

// isRaised reports whether the share of a feature is as much above another one as
// that of a cluster must be, with which a revision may begin.
func (f *feature) isRaised(share, outside float64, revised bool) bool {
	times := float64(rareTimes)
	if revised {
		times = revisedTimes
	}
	rare := (f.rare || f.kind == shifted || f.kind == unfinished) && share >= outside+rarePoints && share >= times*outside
	return rare || !f.rare && share >= outside+f.least
}
