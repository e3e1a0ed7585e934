// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/rollup"
)

// A scan finds the decisions of a sample that stand out. It looks at each
// server, path, client and revision, in each interval of time. As in
// Kulldorff's spatial scan statistic (1997), the candidate with the highest
// likelihood ratio, of two binomial rates to one, is the one that explains
// most. Penalties as in the Bayesian information criterion prefer fewer
// names and ends. So one fault makes one cluster. A cluster must also
// differ by more than parts of the log usually do.
type scan struct {
	events []event // by time
	values [attributes][]value
	label  string // the label that tells servers apart, or ""
	xlogx  []float64
}

// event is a decision. Its names are numbers of values.
type event struct {
	*sampled
	names [attributes]int32
	bin   int
	log   float64 // the logarithm of took
	over  float64 // log minus that of the fastest tenth of its path
	timed bool    // over is known
}

// value is a name of an attribute, with the number of decisions that have it.
type value struct {
	name  string
	count int
}

const (
	scanBins   = 64 // the slices of time in which a scan searches first
	scanNames  = 24 // the names of an attribute that a scan looks at, the most frequent ones
	scanLeast  = 30 // decisions inside, and outside
	scanScore  = 10 // the logarithm of the likelihood ratio, without penalties
	scanRounds = 3  // the clusters of a kind
	anyName    = -1
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
func newScan(kept []sampled) *scan {
	s := &scan{events: make([]event, len(kept)), xlogx: make([]float64, len(kept)+1)}
	if len(kept) == 0 {
		return s
	}
	servers := map[string]string{}
	s.label = serverLabel(kept, servers)
	first, last := kept[0].time, kept[len(kept)-1].time
	width := float64(last)/scanBins - float64(first)/scanBins + 1
	var numbers [attributes]map[string]int32
	for i := range kept {
		d, e := &kept[i], &s.events[i]
		*e = event{sampled: d, bin: min(scanBins-1, int((float64(d.time)-float64(first))/width)), log: math.Log(float64(max(1, d.took)))}
		for a, name := range d.names {
			if a == ofServer {
				name = servers[name]
			}
			n, ok := numbers[a][name]
			if !ok {
				if numbers[a] == nil {
					numbers[a] = map[string]int32{}
				}
				n = int32(len(s.values[a]))
				numbers[a][name] = n
				s.values[a] = append(s.values[a], value{name: name})
			}
			s.values[a][n].count++
			e.names[a] = n
		}
		s.xlogx[i+1] = float64(i+1) * math.Log(float64(i+1))
	}
	s.setOver()
	return s
}

// serverLabel returns the label that tells servers apart: "id", or else the one
// with the most values. It maps the labels of each decision to its value.
func serverLabel(kept []sampled, servers map[string]string) string {
	parsed, values := map[string]map[string]string{}, map[string]map[string]bool{}
	for i := range kept {
		text := kept[i].names[ofServer]
		if parsed[text] != nil {
			continue
		}
		labels := map[string]string{}
		(&decisionlog.Event{Labels: []byte(text)}).EachLabel(func(name, value []byte) { labels[string(name)] = string(value) })
		for name, value := range labels {
			if values[name] == nil {
				values[name] = map[string]bool{}
			}
			values[name][value] = true
		}
		parsed[text] = labels
	}
	label, most := "", 1
	for name, found := range values {
		n := len(found)
		if n > 1 && name == "id" {
			n = math.MaxInt
		}
		if n > most || n == most && most > 1 && name < label {
			label, most = name, n
		}
	}
	for text, labels := range parsed {
		servers[text] = labels[label]
	}
	return label
}

// setOver sets the durations relative to those of the path.
func (s *scan) setOver() {
	logs := make([][]float64, len(s.values[ofPath]))
	for i := range s.events {
		if e := &s.events[i]; e.took > 0 {
			logs[e.names[ofPath]] = append(logs[e.names[ofPath]], e.log)
		}
	}
	for _, of := range logs {
		slices.Sort(of)
	}
	for i := range s.events {
		e := &s.events[i]
		if of := logs[e.names[ofPath]]; e.took > 0 && len(of) >= scanLeast {
			e.over, e.timed = e.log-nearest(of, 0.1), true
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
	over  float64 // of slow decisions: the factor above the fastest tenth
	names []int   // the attributes that clusters of this kind have
	// within says that a subject is only compared with itself at other times.
	within bool
}

var features = []feature{
	{slow, 2.5, []int{ofPath, ofServer, ofRevision}, false},
	{slow, 8, []int{ofPath, ofServer, ofRevision}, false},
	{failed, 0, []int{ofPath, ofServer, ofClient, ofRevision}, false},
	{denied, 0, []int{ofPath}, true},
	{undefined, 0, []int{ofPath}, true},
}

// of returns 1 if a decision has the feature, 0 if it lacks the feature, and -1
// if it does not count.
func (f feature) of(e *event) int8 {
	var is bool
	switch f.kind {
	case slow:
		if !e.timed {
			return -1
		}
		is = e.over > math.Log(f.over)
	case failed:
		is = e.outcome == rollup.Error
	case denied:
		if e.outcome > rollup.Denied {
			return -1
		}
		is = e.outcome == rollup.Denied
	default:
		is = e.outcome == rollup.Undefined
	}
	if is {
		return 1
	}
	return 0
}

// raised reports whether a rate is as high as that of a cluster must be.
func (f feature) raised(in, out tally) bool {
	a, b := in.rate(), out.rate()
	switch f.kind {
	case slow:
		return a >= b+0.15
	case failed:
		return in.has >= failedLeast && a >= failedTimes*b && a >= b+failedPoints
	default:
		return a >= alwaysShare && b <= seldomShare
	}
}

// tally counts decisions, and those that have a feature.
type tally struct{ all, has int }

func (t tally) plus(o tally) tally  { return tally{t.all + o.all, t.has + o.has} }
func (t tally) minus(o tally) tally { return tally{t.all - o.all, t.has - o.has} }
func (t tally) rate() float64       { return float64(t.has) / float64(max(1, t.all)) }

// likelihood returns the logarithm of the greatest likelihood of a rate.
func (s *scan) likelihood(t tally) float64 {
	return s.xlogx[t.has] + s.xlogx[t.all-t.has] - s.xlogx[t.all]
}

// A cluster has decisions of a subject from a time to another.
type cluster struct {
	feature
	subject
	first, last  int  // the first and the last of scan.events
	begins, ends bool // after the first decision of the subject, before the last one
	in, out      tally
	score        float64
	factor       float64 // of slow: how many times as long decisions take
}

func (c *cluster) timed() bool { return c.begins || c.ends }

// has reports whether event i is in the cluster.
func (c *cluster) has(i int, e *event) bool { return i >= c.first && i <= c.last && c.subject.has(e) }

// clusters returns what stands out.
func (s *scan) clusters() (found []cluster) {
	if len(s.events) < 2*scanLeast {
		return nil
	}
	removed := make([]bool, len(s.events)) // slow decisions that are in a cluster
	for k := slow; k <= undefined; k++ {
		clear(removed)
		if k == undefined {
			s.removeUndefined(removed)
		}
		for range scanRounds {
			c, ok := s.strongest(k, removed)
			if !ok {
				break
			}
			found = append(found, c)
			for i := range s.events {
				removed[i] = removed[i] || c.has(i, &s.events[i])
			}
		}
	}
	return found
}

// strongest returns the cluster of a kind with the highest score.
func (s *scan) strongest(k kind, removed []bool) (cluster, bool) {
	var candidates []cluster
	for _, f := range features {
		if f.kind != k {
			continue
		}
		x, total := make([]int8, len(s.events)), tally{}
		for i := range s.events {
			if x[i] = -1; !removed[i] {
				x[i] = f.of(&s.events[i])
			}
			if x[i] >= 0 {
				total = total.plus(tally{1, int(x[i])})
			}
		}
		if total.has < failedLeast {
			continue
		}
		var of []cluster
		add := func(from subject, names []int) {
			for _, a := range names {
				if from[a] != anyName {
					continue
				}
				for n, v := range s.values[a] {
					if sub := from; v.count >= scanLeast && s.rank(a, v.count) < scanNames && len(s.values[a]) > 1 {
						sub[a] = int32(n)
						of = s.appendBest(of, f, sub, x, total)
					}
				}
			}
		}
		of = s.appendBest(of, f, all, x, total)
		add(all, f.names)
		slices.SortStableFunc(of, byScore)
		if len(of) > 0 {
			// Two names must explain much more than one.
			best := of[0]
			of = of[:min(len(of), 8)]
			add(best.subject, f.names)
			of = slices.DeleteFunc(of, func(c cluster) bool { return c.named() > 1 && c.score < best.score+scanScore })
		}
		candidates = append(candidates, of...)
	}
	slices.SortStableFunc(candidates, byScore)
	for _, c := range candidates {
		if c.score >= scanScore && s.verify(&c, removed) {
			return c, true
		}
	}
	return cluster{}, false
}

// removeUndefined marks the decisions of paths that hardly ever have a result.
// pathUndefined reports these.
func (s *scan) removeUndefined(removed []bool) {
	paths := make([]tally, len(s.values[ofPath]))
	f := feature{kind: undefined}
	for i := range s.events {
		p := &paths[s.events[i].names[ofPath]]
		*p = p.plus(tally{1, int(f.of(&s.events[i]))})
	}
	for i := range s.events {
		removed[i] = paths[s.events[i].names[ofPath]].rate() >= undefinedShare
	}
}

func byScore(a, b cluster) int { return cmp.Compare(b.score, a.score) }

// named returns the number of names of a subject.
func (s subject) named() (n int) {
	for _, name := range s {
		if name != anyName {
			n++
		}
	}
	return n
}

// rank returns how many names of an attribute are more frequent.
func (s *scan) rank(a, count int) (n int) {
	for _, v := range s.values[a] {
		if v.count > count {
			n++
		}
	}
	return n
}

// appendBest appends the interval of a subject with the highest score, if there
// is one that qualifies.
func (s *scan) appendBest(to []cluster, f feature, sub subject, x []int8, total tally) []cluster {
	var sums [scanBins + 1]tally // before each slice of time
	at := []int(nil)             // the decisions of the subject
	for i := range s.events {
		if e := &s.events[i]; x[i] >= 0 && sub.has(e) {
			sums[e.bin+1] = sums[e.bin+1].plus(tally{1, int(x[i])})
			at = append(at, i)
		}
	}
	for i := range scanBins {
		sums[i+1] = sums[i+1].plus(sums[i])
	}
	if f.within {
		total = sums[scanBins]
	}
	one := s.likelihood(total)
	penalty := 0.0
	for a, name := range sub {
		if name != anyName {
			penalty += math.Log(float64(len(s.values[a])))
		}
	}
	best := cluster{feature: f, subject: sub}
	try := func(in tally, begins, ends bool) bool {
		out := total.minus(in)
		if in.all < scanLeast || out.all < scanLeast || !f.raised(in, out) {
			return false
		}
		score := s.likelihood(in) + s.likelihood(out) - one - penalty
		for _, end := range []bool{begins, ends} {
			if end {
				score -= math.Log(scanBins)
			}
		}
		if score <= best.score {
			return false
		}
		best.score, best.in, best.out, best.begins, best.ends = score, in, out, begins, ends
		return true
	}
	from, until := 0, 0
	for i := range scanBins {
		for j := i + 1; j <= scanBins; j++ {
			if try(sums[j].minus(sums[i]), sums[i].all > 0, sums[j].all < len(at)) {
				from, until = i, j
			}
		}
	}
	if best.score == 0 {
		return to
	}
	// Find the exact decisions, within a slice of each end.
	before := make([]tally, len(at)+1)
	for i, e := range at {
		before[i+1] = before[i].plus(tally{1, int(x[e])})
	}
	sum := func(bin int) int { return sums[min(max(bin, 0), scanBins)].all }
	first, end := sum(from), sum(until)
	for range 2 {
		if best.begins {
			for i := sum(from - 1); i < min(sum(from+1), end); i++ {
				if try(before[end].minus(before[i]), i > 0, end < len(at)) {
					first = i
				}
			}
		}
		if best.ends {
			for i := max(first+1, sum(until-1)); i <= sum(until+1); i++ {
				if try(before[i].minus(before[first]), first > 0, i < len(at)) {
					end = i
				}
			}
		}
	}
	best.first, best.last = at[first], at[end-1]
	return append(to, best)
}

// The thresholds that a cluster must reach.
const (
	failedLeast  = 10   // errors
	failedTimes  = 3    // the rate divided by the rate outside
	failedPoints = 0.02 // the rate minus the rate outside
	alwaysShare  = 0.95 // denied or undefined inside
	seldomShare  = 0.7  // denied or undefined outside, at most
	slowTimes    = 1.5  // the factor of an interval
	serverTimes  = 2    // the factor of a server from the first decision to the last
	slowNoise    = 2.5  // the logarithm of the factor divided by the usual differences
)

// verify reports whether a cluster differs by more than parts of the log
// usually do.
func (s *scan) verify(c *cluster, removed []bool) bool {
	rest := c.subject // what the cluster is compared with, outside of it
	if !c.timed() {
		rest = all
	}
	value := s.excess(c, removed)
	var in, out []float64
	for i := range s.events {
		e := &s.events[i]
		if x := value(i, e); math.IsNaN(x) {
			continue
		} else if c.has(i, e) {
			in = append(in, x)
		} else if rest.has(e) {
			out = append(out, x)
		}
	}
	if len(in) < scanLeast || len(out) < scanLeast {
		return false
	}
	difference := mean(in) - mean(out)
	switch c.kind {
	case slow:
		c.factor = math.Exp(difference)
		if c.timed() && c.factor < slowTimes || !c.timed() && c.factor < serverTimes {
			return false
		}
		size := min(max(len(in)/8, 10), 100)
		inside, outside := means(in, size), means(out, size)
		if len(inside) < 3 || len(outside) < 3 {
			return false
		}
		usual, high := nearest(outside, 0.5), nearest(outside, 0.95)
		return nearest(inside, 0.25) > high && mean(in)-usual >= slowNoise*(high-usual)
	case failed:
		if difference < failedPoints || c.in.rate() < failedTimes*(c.in.rate()-difference) {
			return false
		}
		// As for counts whose variance is above that of the Poisson
		// distribution.
		size := max(min(len(in), len(out)/8), 1)
		usual, p, chi2 := mean(out), c.out.rate(), 0.0
		rates := means(out, size)
		for _, rate := range rates {
			chi2 += (rate - usual) * (rate - usual) * float64(size)
		}
		noise := chi2 / (max(p*(1-p), 1/float64(len(out))) * float64(max(1, len(rates)-1)))
		return c.score >= scanScore*max(1, noise)
	default:
		return true
	}
}

// excess returns a function that says by how much a decision exceeds what is
// expected of its path and its time. The function returns NaN if this is
// unknown.
func (s *scan) excess(c *cluster, removed []bool) func(int, *event) float64 {
	value := func(i int, e *event) float64 {
		x := c.of(e)
		if removed[i] || x < 0 {
			return math.NaN()
		}
		if c.kind == slow {
			return e.over
		}
		return float64(x)
	}
	type sum struct{ n, x float64 }
	paths := make([]sum, len(s.values[ofPath]))
	add := func(to *sum, x float64) { to.n, to.x = to.n+1, to.x+x }
	for i := range s.events {
		if e := &s.events[i]; !c.has(i, e) {
			if x := value(i, e); !math.IsNaN(x) {
				add(&paths[e.names[ofPath]], x)
			}
		}
	}
	least := 10.0
	ofPath := func(i int, e *event) float64 {
		p := paths[e.names[ofPath]]
		if p.n < least {
			return math.NaN()
		}
		return value(i, e) - p.x/p.n
	}
	if c.kind != slow || c.subject == all {
		return ofPath
	}
	var others [scanBins]sum // at the same time
	for i := range s.events {
		if e := &s.events[i]; !c.subject.has(e) {
			if x := ofPath(i, e); !math.IsNaN(x) {
				add(&others[e.bin], x)
			}
		}
	}
	return func(i int, e *event) float64 {
		x := ofPath(i, e)
		if o := others[e.bin]; o.n >= least {
			x -= o.x / o.n
		}
		return x
	}
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// means returns the sorted means of runs of values. It leaves out the rest.
func means(values []float64, size int) (found []float64) {
	for run := range slices.Chunk(values, size) {
		if len(run) == size {
			found = append(found, mean(run))
		}
	}
	slices.Sort(found)
	return found
}

// only returns the revision that all decisions of a cluster have, if hardly any
// other decision of its subject has it.
func (s *scan) only(c *cluster, a int) (string, bool) {
	if c.subject[a] != anyName {
		return s.values[a][c.subject[a]].name, true
	}
	counts, outside := map[int32]int{}, map[int32]int{}
	total := 0
	for i := range s.events {
		if e := &s.events[i]; c.has(i, e) {
			counts[e.names[a]]++
			total++
		} else if c.subject.has(e) {
			outside[e.names[a]]++
		}
	}
	for name, n := range counts {
		if float64(n) >= 0.95*float64(total) && float64(outside[name]) <= 0.05*float64(n) && s.values[a][name].name != "" {
			return s.values[a][name].name, true
		}
	}
	return "", false
}

// gaps returns the longest times without decisions, if they are much longer
// than all others: the indices of the decisions after them.
func (s *scan) gaps() (found []int) {
	for i := 1; i < len(s.events); i++ {
		found = append(found, i)
	}
	length := func(i int) int64 { return s.events[i].time - s.events[i-1].time }
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(length(b), length(a)) })
	for n := min(scanRounds, len(found)-scanLeast); n > 0; n-- {
		if l := length(found[n-1]); l >= int64(gapLeast) && length(found[0]) <= int64(gapMost) && l >= gapTimes*length(found[n]) {
			slices.Sort(found[:n])
			return found[:n]
		}
	}
	return nil
}
