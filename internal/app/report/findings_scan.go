// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/outcome"
)

const (
	highErrors     = 50              // errors of the log
	highPath       = 0.2             // of the decisions of a path
	highShare      = 0.05            // of the decisions
	startLong      = 3 * time.Minute // a slow start ends within this time for each server,
	startDecisions = 100             // or has at most so many decisions of each server,
	startNear      = time.Minute     // a server or revision begins in this time, or in the first quarter
	medianRose     = 1.25            // by which a median must differ to describe slow decisions
	loadTimes      = 1.5             // a load is high if so many times as many decisions come as at other times
	snapEvents     = 5               // decisions of a subject between a begin and the first decision of a revision that is taken for it,
	snapShare      = 50              // or so many of a cluster's decisions for each of them
)

// findScanned returns the findings of a scan, those of most decisions first.
func findScanned(r *Report, s *scan) (found []Finding) {
	clusters := s.findClusters()
	for _, i := range s.findPauses() {
		if f := s.describePause(r, i); f.Text != "" {
			found = append(found, f)
		}
	}
	if !slices.ContainsFunc(clusters, func(c cluster) bool { return c.kind == slow }) {
		found = append(found, s.findDrift(r))
	}
	extra := func(c *cluster) float64 { return float64(c.in.has) - c.out.rate()*float64(c.in.all) }
	slices.SortStableFunc(clusters, func(a, b cluster) int { return cmp.Compare(extra(&b), extra(&a)) })
	compiles := slices.ContainsFunc(clusters, func(c cluster) bool { return c.kind == compiled })
	started := map[kind]bool{}
	for i := range clusters {
		c := &clusters[i]
		f := s.describe(r, c)
		// The largest start speaks for others.
		if f.Text == "" || compiles && c.kind == slow && f.Stage == compileStage || f.start && started[c.kind] {
			continue
		}
		started[c.kind] = started[c.kind] || f.start
		found = append(found, f)
	}
	return found
}

func at(ns int64) string { return text.Time(ns, text.ToTheSecond) }

// second returns the second of a time.
func second(ns int64) time.Time { return time.Unix(0, ns).Truncate(time.Second) }

// attributeWords are the words for the attributes, and their groupings.
var attributeWords = [attributes][2]string{{"path", ""}, {"server", ""}, {"client", "requested_by"}, {"bundle revision", "bundle"}, {}}

// describe returns the finding of a cluster, without a text if the tables
// contradict it.
func (s *scan) describe(r *Report, c *cluster) (f Finding) {
	s.turn(c)
	from, to := s.period(r, c)
	f.setTimes(from, to)
	f.Severity, f.Figures = Fault, map[string]float64{}
	var subjects, paths []string
	by := s.servers.by()
	for a, is := range []*string{&f.Path, &f.Server, &f.Client, &f.Revision, &f.Key} {
		if c.subject[a] == anyName && !(a == ofRevision && c.timed()) {
			continue
		}
		*is = s.findCommon(c, a)
		if *is == "" && c.subject[a] == anyName {
			continue
		}
		if first, last, ok := s.seen(r, a, *is); ok && c.subject[a] == anyName { // nobody had the revision before
			from, to = max(from, first), min(to, last)
			f.setTimes(from, to)
			c.first, c.last = max(c.first, s.from(from)), min(c.last, s.from(to+1)-1)
		}
		subjects = append(subjects, attributeWords[a][0]+" "+name(cmp.Or(*is, none)))
		if a == ofServer {
			subjects[len(subjects)-1] += s.servers.idOf(*is)
		}
		if by = cmp.Or(attributeWords[a][1], by); a == ofKey {
			by = r.By
			subjects[len(subjects)-1] = name(by) + " " + name(*is)
		}
	}
	what := "the decisions"
	if len(subjects) > 0 {
		what += " of " + strings.Join(subjects, " and ")
	}
	if f.Path != "" {
		paths = []string{patternOf(f.Path)}
	}
	// A name that begins or ends far from the ends of the log has times too.
	far := (r.To - r.From) / 50
	begins, ends := c.begins || from-r.From > far, c.ends || r.To-to > far
	when, since, until := "", time.Time{}, time.Time{}
	if begins {
		when, since = fmt.Sprintf("From %s UTC on, ", at(from)), second(from)
	}
	if ends {
		when, until = fmt.Sprintf("Until %s UTC, ", at(to)), second(to).Add(time.Second)
	}
	if begins && ends {
		when = fmt.Sprintf("From %s to %s UTC, ", at(from), at(to))
	}
	var said bool
	mild := c.over == math.Log(slowLow)
	if c.kind == slow && (mild || c.in.rate() >= 0.5) {
		said = s.describeSlow(r, c, &f, what, from, to)
	}
	if c.kind != slow || !said && !mild {
		said = s.describeShare(r, c, &f, what, from, to)
	}
	if !said {
		return Finding{}
	}
	if when == "" {
		f.Text = strings.ToUpper(f.Text[:1]) + f.Text[1:]
	}
	f.Text = when + f.Text
	if !s.complete {
		shows := " A sample of %s shows this."
		if _, estimated := f.Figures["share_low"]; c.kind == shifted && !estimated {
			shows = " The times are those of a sample of %s."
		}
		f.Text += fmt.Sprintf(shows, text.Plural(len(s.events), "decision"))
		f.Figures["sample"] = float64(len(s.events))
	}
	r.suggest(&f, by, paths, since, until)
	return f
}

// turn makes a cluster of allowed or denied decisions that ends before the log
// one of the outcome that rose then, because people ask for what changed.
func (s *scan) turn(c *cluster) {
	if c.kind != shifted || c.begins || !c.ends || c.outcome > outcome.OtherResult {
		return
	}
	before, after := s.outcomes(c)
	for o := range after {
		if after.share(outcome.Outcome(o))-before.share(outcome.Outcome(o)) > after.share(c.outcome)-before.share(c.outcome) {
			c.outcome = outcome.Outcome(o)
		}
	}
	own := s.narrow(c.subject)
	for _, i := range own {
		if int(i) > c.last && c.subject.has(&s.events[i]) {
			c.first, c.last = int(i), len(s.events)-1
			break
		}
	}
	c.begins, c.ends = true, false
	c.in = tally{int(after.sum()), int(after[c.outcome])}
	c.out = tally{int(before.sum()), int(before[c.outcome])}
}

// period returns the times of a cluster. Those of names are exact. If a
// revision begins next to the begin of a cluster, it begins there.
func (s *scan) period(r *Report, c *cluster) (from, to int64) {
	from, to = r.From, r.To
	for a, n := range c.subject {
		if n != anyName {
			if first, last, ok := s.seen(r, a, s.values[a][n].name); ok {
				from, to = max(from, first), min(to, last)
			}
		}
	}
	if c.ends {
		to = s.events[c.last].time
	}
	if !c.begins {
		return from, to
	}
	from = s.events[c.first].time
	own := s.narrow(c.subject)
	at, _ := slices.BinarySearch(own, int32(c.first))
	near := max(snapEvents, min(c.in.all/snapShare, 100))
	low, high := s.events[own[max(0, at-near)]].time, s.events[own[min(len(own)-1, at+near)]].time
	for _, v := range r.Revisions {
		if v.First > low && v.First <= high {
			from = v.First
			c.first = s.from(from)
		}
	}
	return from, to
}

// from returns the index of the first event from a time on.
func (s *scan) from(time int64) int {
	at, _ := slices.BinarySearchFunc(s.events, time, func(e event, t int64) int { return cmp.Compare(e.time, t) })
	return at
}

// seen returns the first and the last time of a name.
func (s *scan) seen(r *Report, attribute int, name string) (first, last int64, ok bool) {
	if attribute == ofServer {
		for _, x := range s.servers.list {
			if x.name == name {
				return x.first, x.last, true
			}
		}
		return 0, 0, false
	}
	if attribute == ofClient {
		if c := r.clients.get(name); c != nil {
			return c.first, c.last, true
		}
		return 0, 0, false
	}
	g := r.who[attribute].Get(name)
	if g == nil {
		return 0, 0, false
	}
	return g.First, g.Last, true
}

// outcomes counts the outcomes in a cluster and of the decisions with which it
// is compared.
func (s *scan) outcomes(c *cluster) (in, out outcomes) {
	for i := range s.events {
		switch e := &s.events[i]; {
		case c.has(i, e):
			in[e.outcome]++
		case c.others().has(e):
			out[e.outcome]++
		}
	}
	return in, out
}

type outcomes [outcome.Cancelled + 1]uint64

func (o *outcomes) sum() (n uint64) {
	for _, k := range o {
		n += k
	}
	return n
}

func (o *outcomes) share(of outcome.Outcome) float64 { return Ratio(o[of], o.sum()) }

// tables returns what outcomes returns, of the whole log, from the slices of
// time that are wholly inside and outside. It returns false if no table has
// them.
func (s *scan) tables(r *Report, c *cluster, from, to int64) (in, out outcomes, ok bool) {
	named, name := attributes, ""
	for a, n := range c.subject {
		if n != anyName && named < attributes {
			return in, out, false
		}
		if n != anyName {
			named, name = a, s.values[a][n].name
		}
	}
	width := r.Width
	switch {
	case (named == ofServer || named == ofClient) && c.timed():
		return in, out, false
	case named == ofServer:
		for _, x := range s.servers.list {
			if x.name == name {
				in = x.outcomes
			}
		}
	case named == ofClient:
		if x := r.clients.get(name); x != nil {
			in = x.counts()
		}
	case named < attributes:
		width = r.who[named].Width()
	}
	add := func(g outcomes, slices []groupby.Slice) {
		if !c.timed() {
			for o, n := range g {
				in[o] += n
			}
			return
		}
		for _, p := range slices {
			for o, n := range p.Outcomes {
				switch {
				case p.Begin >= from && (p.Begin+width <= to || to == r.To):
					in[o] += n
				case p.Begin+width <= from || p.Begin > to:
					out[o] += n
				}
			}
		}
	}
	if named == attributes {
		add(r.Total.Outcomes, timed(r.Total.Slices))
	} else if groups := r.who[named]; groups != nil {
		if g := groups.Get(name); g != nil {
			add(g.Outcomes, timed(g.Slices))
		}
	}
	if !c.timed() {
		for o, n := range r.Total.Outcomes {
			out[o] = n - min(n, in[o])
		}
	}
	return in, out, in.sum() >= scanLeast && out.sum() >= scanLeast
}

// ends of the names of rules about outcomes, and what decisions did.
var outcomeRules = [len(outcomes{})][2]string{
	outcome.Allowed:     {"allowed", "were allowed"},
	outcome.Denied:      {"denied", "were denied"},
	outcome.OtherResult: {"other", "had another result"},
	outcome.Undefined:   {"undefined", "had no result"},
	outcome.Error:       {"errors", "failed"},
	outcome.Cancelled:   {"cancelled", "were cancelled"},
}

// advice says what to do about outcomes that rose.
var outcomeAdvice = [len(outcomes{})]string{
	outcome.Allowed:   " Check at once whether the policy, or its data, allows what it should not.",
	outcome.Denied:    " Check whether the policy, its data, or the requests changed.",
	outcome.Undefined: " Check whether clients spell the path like the packages and rules, and whether OPA has loaded the bundle that contains these.",
	outcome.Cancelled: " Clients gave up, or their time limit was too short: look at the durations at this time.",
}

// describeShare describes a cluster whose decisions often have a feature.
func (s *scan) describeShare(r *Report, c *cluster, f *Finding, what string, from, to int64) bool {
	others := "the others"
	if c.timed() {
		others = "those at other times"
	}
	about := ""
	a, b := s.outcomes(c)
	if c.kind == shifted { // with the decisions of other clusters
		c.in, c.out = tally{int(a.sum()), int(a[c.outcome])}, tally{int(b.sum()), int(b[c.outcome])}
		if !c.raised(c.in.rate(), c.out.rate()) {
			return false
		}
	}
	in, out := c.in.rate(), c.out.rate()
	has, of := float64(c.in.has), float64(c.in.all)
	if !s.complete {
		has, of, about = math.Round(has/s.share), s.estimate(f, of), "about "
		f.Figures["share_low"], f.Figures["share_high"] = wilson(in, float64(c.in.all))
		f.Figures["share_outside_low"], f.Figures["share_outside_high"] = wilson(out, float64(c.out.all))
		whole, rest, ok := s.tables(r, c, from, to)
		if ok && !c.timed() { // the tables know how many there are
			of = float64(whole.sum())
			has = math.Round(in * of)
			f.Figures["decisions"] = of
			delete(f.Figures, "decisions_low")
			delete(f.Figures, "decisions_high")
		}
		if ok && c.kind == shifted {
			a, b = whole, rest
			in, out = a.share(c.outcome), b.share(c.outcome)
			has = math.Round(in * of)
			delete(f.Figures, "share_low")
			delete(f.Figures, "share_high")
			delete(f.Figures, "share_outside_low")
			delete(f.Figures, "share_outside_high")
			if !c.timed() {
				about = ""
			}
			if !c.raised(in, out) {
				return false
			}
		}
	}
	f.Figures["share"], f.Figures["share_outside"] = in, out
	if about == "" {
		f.Figures["decisions"] = of
	}
	did := map[kind]string{slow: c.longer(), unfinished: "had a call of `http.send` that did not end", untimed: "had no durations", compiled: "compiled their query", repeated: "had an input that the same path got in the minute before"}[c.kind]
	f.Rule = map[kind]string{slow: c.slower(f), unfinished: "http_send_unfinished", untimed: "metrics_missing", compiled: "compiles_rose", repeated: "requests_repeated"}[c.kind]
	advice := map[kind]string{
		unfinished: httpStops,
		untimed:    " Find out what removes `metrics` there, or whether this server has another version or configuration of OPA.",
		compiled:   " OPA compiles queries again after policies or data changed, and keeps those of 100 paths. Write policies and data less often, in larger batches.",
		repeated:   " Find out whether the client tries the same request again and again.",
	}[c.kind]
	if c.kind == shifted {
		did, advice = outcomeRules[c.outcome][1], outcomeAdvice[c.outcome]
		f.Rule = outcomeRules[c.outcome][0] + "_high"
		if c.timed() || f.Revision != "" {
			f.Rule = outcomeRules[c.outcome][0] + "_rose"
		}
		if before, after := b.share(outcome.Allowed), a.share(outcome.Allowed); c.outcome != outcome.Allowed && math.Abs(before-after) >= rarePoints {
			advice = fmt.Sprintf(" The share of allowed ones is %s, against %s.", text.Percent(after), text.Percent(before)) + advice
			f.Figures["allowed"], f.Figures["allowed_outside"] = after, before
			if _, estimated := f.Figures["share_low"]; estimated {
				f.Figures["allowed_low"], f.Figures["allowed_high"] = wilson(after, float64(a.sum()))
				f.Figures["allowed_outside_low"], f.Figures["allowed_outside_high"] = wilson(before, float64(b.sum()))
			}
		}
		if c.outcome == outcome.Error {
			advice = commonest(r.Total.Errors) + advice
		} else if c.outcome != outcome.Cancelled && f.Client != "" && f.Path == "" && f.Server == "" {
			f.Severity = Info // clients may change what they ask for
		}
	}
	if (c.kind == compiled || c.kind == slow) && s.starts(r, c, from, to) {
		f.Severity, f.start = Info, true
		advice = startAdvice
	} else if times := s.busy(c, from, to); c.kind == slow && c.ends && times >= loadTimes {
		f.Severity, advice = Info, busyAdvice(times)
	}
	f.Text = fmt.Sprintf("%s of %s %s (%s%s of %s), against %s of %s.%s", text.Percent(in), what, did, about,
		text.Count(uint64(has)), text.Count(uint64(of)), text.Percent(out), others, advice)
	if c.kind == slow {
		is := func(i int, e *event) bool { return c.has(i, e) && c.of(e) == 1 }
		in, out := s.durationsOf(is, func(i int, e *event) bool { return c.has(i, e) })
		if len(in.took) > 0 && len(out.took) > 0 {
			f.Figures["median_ns"], f.Figures["median_outside_ns"] = in.median(), out.median()
			f.Text += fmt.Sprintf(" Their median is %s, and that of the rest %s.", text.Duration(in.median()), text.Duration(out.median()))
			advice := f.explain(&in, &out)
			if c.rare && f.Path == "" { // not because of a rule
				advice = stageAdvice[parts]
			}
			if f.Severity == Fault {
				f.Text += advice
			}
		}
	}
	return true
}

// wilson returns the 95 % interval of a share of n decisions (Wilson 1927).
func wilson(p, n float64) (low, high float64) {
	const z2 = 1.96 * 1.96
	middle, half := (p+z2/2/n)/(1+z2/n), math.Sqrt(z2*(p*(1-p)/n+z2/4/n/n))/(1+z2/n)
	return max(0, middle-half), min(1, middle+half)
}

// starts reports whether a cluster is a start: it begins with servers or a
// revision, and is short, or has few decisions of each server.
func (s *scan) starts(r *Report, c *cluster, from, to int64) bool {
	near := func(first int64) bool {
		return first > r.From+int64(startNear) && first >= from-int64(startNear) && first <= to
	}
	soon := from + max(int64(startNear), (to-from)/4)
	n, begins := 0, false
	for _, x := range s.servers.list {
		if near(x.first) {
			n, begins = n+1, begins || x.first <= soon
		}
	}
	for _, v := range r.Revisions {
		if near(v.First) {
			n, begins = max(n, len(s.servers.list)), begins || v.First <= soon
		}
	}
	few := float64(c.in.all)/s.share <= float64(startDecisions*n)
	return begins && c.ends && (few || to-from <= int64(n)*int64(startLong))
}

// busy returns how many times as many decisions came in the times of a cluster
// as at other times.
func (s *scan) busy(c *cluster, from, to int64) float64 {
	first, last := s.events[0].time, s.events[len(s.events)-1].time
	n, inside := float64(c.last-c.first+1), float64(to)-float64(from)
	rest := float64(last) - float64(first) - inside
	return n / max(1, inside) / ((float64(len(s.events)) - n + 1) / max(1, rest))
}

// describeSlow describes a cluster of slow decisions.
func (s *scan) describeSlow(r *Report, c *cluster, f *Finding, what string, from, to int64) bool {
	in, out := s.durationsOf(c.has, func(_ int, e *event) bool { return c.others().has(e) })
	if len(in.took) == 0 || len(out.took) == 0 {
		return false
	}
	after, before := in.median(), out.median()
	if after < medianRose*before {
		return false
	}
	others := "the others with the same paths"
	if c.timed() {
		others = "those of the same paths at other times"
	}
	f.Rule = c.slower(f)
	f.Figures["median_ns"], f.Figures["median_outside_ns"], f.Figures["factor"] = after, before, after/before
	f.Figures["decisions"] = math.Round(in.weight)
	about := ""
	if !s.complete {
		about = "about "
		f.Figures["median_low_ns"], f.Figures["median_high_ns"] = in.interval()
		f.Figures["median_outside_low_ns"], f.Figures["median_outside_high_ns"] = out.interval()
		f.Figures["factor_low"] = f.Figures["median_low_ns"] / f.Figures["median_outside_high_ns"]
		f.Figures["factor_high"] = f.Figures["median_high_ns"] / f.Figures["median_outside_low_ns"]
		s.estimate(f, in.weight)
	}
	f.Text = fmt.Sprintf("%s had a median of %s (%s%s), and %s of %s.", what, text.Duration(after), about,
		text.Plural(uint64(f.Figures["decisions"]), "decision"), others, text.Duration(before))
	advice := f.explain(&in, &out)
	if times := s.busy(c, from, to); s.starts(r, c, from, to) {
		f.Severity, f.start, advice = Info, true, startAdvice
	} else if c.ends && times >= loadTimes {
		f.Severity, advice = Info, busyAdvice(times)
	} else if f.Client != "" && !c.timed() && to-from < (r.To-r.From)/2 {
		f.Severity, advice = Info, " It came only for a part of the log, as a batch does."
	}
	f.Text += advice
	return true
}

// estimate sets the number of decisions from those in the sample, with a 95 %
// interval.
func (s *scan) estimate(f *Finding, n float64) float64 {
	half := 1.96 * math.Sqrt(n*(1-s.share))
	f.Figures["decisions"] = math.Round(n / s.share)
	f.Figures["decisions_low"], f.Figures["decisions_high"] = max(n, (n-half)/s.share), (n+half)/s.share
	return f.Figures["decisions"]
}

// explain says which stage takes most of a difference, and returns advice.
func (f *Finding) explain(in, out *took) (advice string) {
	part, most := 0, 0.0
	for i, x := range in.parts {
		if x-out.parts[i] > most {
			part, most = i, x-out.parts[i]
		}
	}
	if most <= 0 {
		return ""
	}
	f.Stage = append(partStages[:], handlerStage)[part]
	f.Text += fmt.Sprintf(" Most of the difference is in stage %s: %s a decision on average, and %s.", name(f.Stage), text.Duration(in.parts[part]), text.Duration(out.parts[part]))
	if part == ofEvaluation && f.Server != "" && f.Path == "" { // a rule would be slow on all servers
		return stageAdvice[parts]
	}
	return stageAdvice[part]
}

// longer says how long slow decisions took, of which few are in a cluster.
func (c *cluster) longer() string {
	if c.rare {
		return fmt.Sprintf("are among the slowest %s of their path and took more than %d times as long as its fastest tenth", text.Percent(1-topShare), topTimes)
	}
	return fmt.Sprintf("took more than %.3g times as long as the fastest tenth of their path", math.Exp(c.over))
}

// slower returns the rule of slow decisions.
func (c *cluster) slower(f *Finding) string {
	rule := "latency_rose"
	for a, is := range [attributes]string{f.Path, f.Server, f.Client, f.Revision, f.Key} {
		if by := [attributes]string{"", "server_slower", "client_slower", "revision_slower", "group_slower"}[a]; by != "" && (is != "" || c.subject[a] != anyName) {
			rule = by
		}
	}
	return rule
}

func busyAdvice(times float64) string {
	return fmt.Sprintf(" %.1f times as many decisions came as at other times.", times)
}

const startAdvice = " Servers or revisions began then, and their caches were empty."

// stageAdvice says what to do if decisions are slow because of a part of
// partStages, or because of the rest.
var stageAdvice = [parts + 1]string{
	ofEvaluation: " Find the expensive rules with `opa eval --profile` and the input of a slow decision.",
	ofHTTP:       " Look at the other server, and set `timeout` in the call so that decisions do not wait longer than they may.",
	ofCompile:    " Policies or data changed, or the paths of requests have ids in them.",
	ofInput:      " Inputs became larger, or clients send them slowly.",
	parts:        " Check whether OPA waits for a processor: its CPU limit, its neighbours, and garbage collection.",
}

// took has the durations of decisions, sorted, each with a weight.
type took struct {
	took, weights  []float64
	weight, square float64 // the sum of the weights, and of their squares
	parts          [parts + 1]float64
}

func (t *took) add(e *event, weight float64) {
	t.took, t.weights = append(t.took, float64(e.took)), append(t.weights, weight)
	t.weight, t.square = t.weight+weight, t.square+weight*weight
	p := e.parts
	if p[ofHTTP] < 0 { // it did not finish
		p[ofHTTP] = p[ofEvaluation]
	}
	p[ofEvaluation] -= min(p[ofEvaluation], p[ofHTTP])
	rest := float64(e.took)
	for i, x := range p {
		t.parts[i] += weight * max(0, float64(x))
		rest -= float64(x)
	}
	t.parts[parts] += weight * max(0, rest)
}

// durationsOf returns the durations of some decisions, and of those with which
// they are compared. These have weights by path, so that both have the same
// paths.
func (s *scan) durationsOf(isIn, isOut func(i int, e *event) bool) (in, out took) {
	paths := make([][2]float64, len(s.values[ofPath]))
	for i := range s.events {
		if e := &s.events[i]; e.took > 0 {
			if isIn(i, e) {
				paths[e.names[ofPath]][0]++
			} else if isOut(i, e) {
				paths[e.names[ofPath]][1]++
			}
		}
	}
	for i := range s.events {
		e := &s.events[i]
		if n := paths[e.names[ofPath]]; e.took > 0 && n[0] > 0 && n[1] > 0 {
			if isIn(i, e) {
				in.add(e, 1)
			} else if isOut(i, e) {
				out.add(e, n[0]/n[1])
			}
		}
	}
	in.sort()
	out.sort()
	return in, out
}

func (t *took) sort() {
	order := make([]int, len(t.took))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(t.took[a], t.took[b]) })
	x, w := make([]float64, len(order)), make([]float64, len(order))
	for i, from := range order {
		x[i], w[i] = t.took[from], t.weights[from]
	}
	t.took, t.weights = x, w
	for i := range t.parts {
		t.parts[i] /= max(1, t.weight)
	}
}

// quantile returns a quantile by the weights.
func (t *took) quantile(q float64) float64 {
	sum := 0.0
	for i, w := range t.weights {
		if sum += w; sum >= q*t.weight {
			return t.took[i]
		}
	}
	return t.took[len(t.took)-1]
}

func (t *took) median() float64 { return t.quantile(0.5) }

// interval returns the 95 % interval of the median (Woodruff 1952).
func (t *took) interval() (low, high float64) {
	half := 0.98 * math.Sqrt(t.square) / max(1, t.weight)
	return t.quantile(max(0, 0.5-half)), t.quantile(min(1, 0.5+half))
}

const (
	driftBlocks = 16  // parts of the decisions, by time
	driftTimes  = 1.5 // the duration in the last quarter divided by that in the first
	driftRank   = 0.9 // the rank correlation of the parts' durations with time
)

// findDrift reports that durations grew slowly from the begin to the end.
func (s *scan) findDrift(r *Report) (f Finding) {
	var known []int
	for i := range s.events {
		if s.events[i].known {
			known = append(known, i)
		}
	}
	size := len(known) / driftBlocks
	if size < scanLeast {
		return f
	}
	var blocks [driftBlocks]float64
	for i, k := range known[:size*driftBlocks] {
		blocks[i/size] += s.events[k].over / float64(size)
	}
	squares := 0.0 // of the differences of the ranks (Spearman 1904)
	for i, x := range blocks {
		rank := 0
		for _, y := range blocks {
			if y < x {
				rank++
			}
		}
		squares += float64((rank - i) * (rank - i))
	}
	const n = driftBlocks
	first, last := known[len(known)/4], known[len(known)*3/4]
	in, out := s.durationsOf(func(i int, _ *event) bool { return i > last }, func(i int, _ *event) bool { return i < first })
	if 1-6*squares/(n*(n*n-1)) < driftRank || in.weight == 0 || out.weight == 0 || in.median() < driftTimes*out.median() {
		return f
	}
	f.Rule, f.Severity = "latency_drifted", Info
	f.setTimes(r.From, r.To)
	f.Figures = map[string]float64{"median_ns": in.median(), "median_outside_ns": out.median(), "factor": in.median() / out.median()}
	f.Text = fmt.Sprintf("Durations grew from the begin of the log to its end: the median of the first quarter is %s, and of the last quarter %s, for decisions of the same paths. "+
		"Look for data that grow, for a leak, or for a load that grows. A part of a day may look like this too.", text.Duration(out.median()), text.Duration(in.median()))
	if !s.complete {
		f.Text += fmt.Sprintf(" A sample of %s shows this.", text.Plural(len(s.events), "decision"))
	}
	r.suggest(&f, "hour", nil, time.Time{}, time.Time{})
	return f
}

// high returns a function that reports a high share of errors or cancelled
// decisions, of all or of paths, that no scan explains.
func high(of outcome.Outcome) func(*Report) Finding {
	return func(r *Report) (f Finding) {
		did, rule := outcomeRules[of][1], outcomeRules[of][0]
		if r.scanned(rule+"_rose", rule+"_high") {
			return f
		}
		var paths []string
		n, all := uint64(0), uint64(0)
		for _, g := range r.Groups.Sums() {
			if k := g.Outcomes[of]; r.By == "path" && k >= highErrors && Ratio(k, g.Decisions) >= highPath {
				paths = append(paths, fmt.Sprintf("%s (%s of %s)", name(g.Key), text.Count(k), text.Count(g.Decisions)))
				f.Path = g.Key
				n, all = n+k, all+g.Decisions
			}
		}
		whole := r.Total.Outcomes[of]
		switch {
		case len(paths) > 1:
			f.Path = ""
		case len(paths) == 0 && (whole < highErrors || Ratio(whole, r.Total.Decisions) < highShare):
			return f
		case len(paths) == 0:
			n, all = whole, r.Total.Decisions
		}
		f.setTimes(r.From, r.To)
		f.Figures = map[string]float64{"decisions": float64(all), "share": Ratio(n, all)}
		f.Text = fmt.Sprintf("%s of %s decisions (%s) %s", text.Count(n), text.Count(all), text.Percent(Ratio(n, all)), did)
		if len(paths) > 0 {
			f.Text += " on " + text.Plural(len(paths), "path") + ": " + listed(paths, func(s string) string { return s })
		}
		f.Text += "."
		if of == outcome.Error {
			f.Text += commonest(r.Total.Errors) + " Find the cause in the messages of the errors in the log, and the paths with `--by path`."
		} else {
			f.Text += outcomeAdvice[of]
		}
		return f
	}
}
