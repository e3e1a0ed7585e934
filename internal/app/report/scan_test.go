// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/race"
)

// traffic makes a log of a service. Its fault, if any, changes decisions.
type traffic struct {
	*rand.Rand
	decisions                 int
	span                      time.Duration
	season, waves             float64 // of the rate and of latencies, as logarithms
	paths, servers, revisions int
	denied, errors            []float64 // by path
	fault                     func(d *served)
	kept                      []*served // without those that are lost
}

// served is a decision of traffic.
type served struct {
	at                             time.Duration
	path, server, client, revision string
	took, usual                    float64 // ns: with the fault, and without
	metrics                        string  // more of them, each after a comma
	result                         string  // or "error" or "undefined"
	code                           string  // of the error
	label                          string  // that tells servers apart
	lost                           bool
}

func newTraffic(seed uint64) *traffic {
	t := &traffic{Rand: rand.New(rand.NewPCG(seed, 3)), decisions: sampleSize - 100, span: 4 * time.Hour, paths: 5, servers: 5, revisions: 1}
	for range 40 {
		t.denied, t.errors = append(t.denied, 0.6*t.Float64()), append(t.errors, 0.01*t.Float64())
	}
	return t
}

// log returns the log, as OPA writes it.
func (t *traffic) log() string {
	var b bytes.Buffer
	minutes := make([]float64, int(t.span/time.Minute)+1) // logarithms of latencies
	for i := 1; i < len(minutes); i++ {
		minutes[i] = 0.9*minutes[i-1] + 0.436*t.waves*t.NormFloat64()
	}
	phase := t.Float64()
	for i := 0; i < t.decisions; {
		at := time.Duration(t.Float64() * float64(t.span))
		season := math.Sin(2 * math.Pi * (phase + at.Hours()/24))
		if t.Float64() > math.Exp(t.season*(season-1)) {
			continue
		}
		i++
		p := min(int(t.ExpFloat64()*float64(t.paths)/3), t.paths-1)
		d := &served{at: at, path: fmt.Sprintf("app%d/allow", p), server: fmt.Sprintf("opa-%d", (t.IntN(t.servers)+p*t.IntN(2))%t.servers),
			client: fmt.Sprintf("10.0.0.%d", t.IntN(50)), revision: fmt.Sprintf("v%d", int(at*time.Duration(t.revisions)/t.span)),
			took: 1e5 * float64(1+p%4) * math.Exp(0.6*t.NormFloat64()+0.3*t.season*season+minutes[at/time.Minute]), result: "true"}
		if t.Float64() < t.denied[p] {
			d.result = "false"
		}
		if t.Float64() < t.errors[p] {
			d.result = "error"
		}
		d.code, d.label = "internal_error", `"id`
		if i%4 == 0 {
			d.code = "eval_conflict_error"
		}
		if d.usual = d.took; t.fault != nil {
			t.fault(d)
		}
		if d.lost {
			continue
		}
		t.kept = append(t.kept, d)
		result := `"result":` + d.result
		switch d.result {
		case "error":
			result = `"error":{"code":"` + d.code + `"}`
		case "undefined":
			result = `"req_id":1`
		}
		fmt.Fprintf(&b, `{"labels":{%s":"%s","version":"1"},"decision_id":"%016x","bundles":{"b":{"revision":"%s"}},"path":"%s",%s,`+
			`"requested_by":"%s:4000","timestamp":"%s","metrics":{"timer_rego_query_eval_ns":%d,"timer_server_handler_ns":%d%s}}`+"\n",
			d.label, d.server, t.Uint64(), d.revision, d.path, result, d.client, d.time().Format(time.RFC3339Nano), int64(d.took*0.7), int64(d.took), d.metrics)
	}
	return b.String()
}

func (d *served) time() time.Time { return time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC).Add(d.at) }

// planted is a finding that a fault must have.
type planted struct {
	rule, subject string
	from, to      float64 // hours; 0 stands for the beginning and the end
}

func (d *served) within(from, to float64) bool { return d.at.Hours() >= from && d.at.Hours() < to }

var plantedFaults = map[string]struct {
	want  []planted
	fault func(r *rand.Rand, d *served)
}{
	"error burst": {[]planted{{"errors_rose", "", 2, 2 + 20./60}}, func(r *rand.Rand, d *served) {
		if d.within(2, 2+20./60) && r.IntN(5) == 0 {
			d.result = "error"
		}
	}},
	"path undefined but for an error": {[]planted{{"path_undefined", "path app1/allow", 0, 0}}, func(r *rand.Rand, d *served) {
		if d.path == "app1/allow" && d.result != "error" && r.IntN(100) > 0 {
			d.result = "undefined"
		}
	}},
	"path undefined from a time on": {[]planted{{"path_undefined", "path app1/allow", 2.5, 0}}, func(_ *rand.Rand, d *served) {
		if d.path == "app1/allow" && d.within(2.5, 9) {
			d.result = "undefined"
		}
	}},
	"revision makes a path slower": {[]planted{{"revision_slower", "path app1/allow revision b=v1", 2, 0}}, func(_ *rand.Rand, d *served) {
		d.revision = "v0"
		if d.within(2, 9) {
			d.revision = "v1"
			if d.path == "app1/allow" {
				d.took *= 3
			}
		}
	}},
	"revision slower": {[]planted{{"revision_slower", "revision b=v1", 2, 0}}, func(_ *rand.Rand, d *served) {
		d.revision = "v0"
		if d.within(2, 9) {
			d.revision = "v1"
			d.took *= 3
		}
	}},
	"revision a little slower": {[]planted{{"revision_slower", "revision b=v1", 2, 0}}, func(_ *rand.Rand, d *served) {
		d.revision = "v0"
		if d.within(2, 9) {
			d.revision = "v1"
			d.took *= 1.4
		}
	}},
	"server slower": {[]planted{{"server_slower", "server opa-2", 0, 0}}, func(_ *rand.Rand, d *served) {
		if d.server == "opa-2" {
			d.took *= 3
		}
	}},
	"pod slower": {[]planted{{"server_slower", "server opa-2", 0, 0}}, func(_ *rand.Rand, d *served) {
		d.label = fmt.Sprintf(`"id":"x","pod":"%s","node`, d.server) // of two equal ones, the first
		if d.server == "opa-2" {
			d.took *= 3
		}
	}},
	"server much slower": {[]planted{{"server_slower", "server opa-2", 0, 0}}, func(_ *rand.Rand, d *served) {
		if d.server == "opa-2" {
			d.took *= 20
		}
	}},
	"errors of a server": {[]planted{{"errors_high", "server opa-3", 0, 0}}, func(r *rand.Rand, d *served) {
		if d.server == "opa-3" && r.IntN(10) == 0 {
			d.result = "error"
		}
	}},
	"client slower": {[]planted{{"client_slower", "client 10.0.0.7", 0, 0}}, func(_ *rand.Rand, d *served) {
		if d.client == "10.0.0.7" {
			d.took *= 8
		}
	}},
	"decisions without a client slower": {[]planted{{"client_slower", "client (none)", 0, 0}}, func(_ *rand.Rand, d *served) {
		if d.client == "10.0.0.7" {
			d.client = ""
			d.took *= 8
		}
	}},
	"slow server for two hours": {[]planted{{"server_slower", "server opa-9", 1, 3}}, func(_ *rand.Rand, d *served) {
		if d.server == "opa-2" && d.within(1, 3) {
			d.server = "opa-9"
			d.took *= 5
		}
	}},
	"client slower for an hour": {[]planted{{"client_slower", "client 10.0.0.7", 2, 3}}, func(_ *rand.Rand, d *served) {
		if d.client == "10.0.0.7" && d.within(2, 3) {
			d.took *= 20
		}
	}},
	"errors of a client": {[]planted{{"errors_high", "client 10.0.0.7", 0, 0}}, func(r *rand.Rand, d *served) {
		if d.client == "10.0.0.7" && r.IntN(3) == 0 {
			d.result = "error"
		}
	}},
	"client denied": {[]planted{{"all_denied", "client 10.0.0.7", 0, 0}}, func(_ *rand.Rand, d *served) {
		if d.client == "10.0.0.7" {
			d.result = "false"
		}
	}},
	"client denied from a time on": {[]planted{{"all_denied", "client 10.0.0.7", 1, 0}}, func(_ *rand.Rand, d *served) {
		if d.client == "10.0.0.7" && d.within(1, 9) {
			d.result = "false"
		}
	}},
	"client denied from early on": {[]planted{{"all_denied", "client 10.0.0.7", 0.2, 0}}, func(_ *rand.Rand, d *served) {
		if d.client == "10.0.0.7" && d.within(0.2, 9) {
			d.result = "false"
		}
	}},
	"server slower from early on": {[]planted{{"server_slower", "server opa-2", 0.4, 0}}, func(_ *rand.Rand, d *served) {
		if d.server == "opa-2" && d.within(0.4, 9) {
			d.took *= 3
		}
	}},
	"path slower until a time": {[]planted{{"latency_rose", "path app1/allow", 0, 1}}, func(_ *rand.Rand, d *served) {
		if d.path == "app1/allow" && d.within(0, 1) {
			d.took *= 5
		}
	}},
	"15 minutes of latency": {[]planted{{"latency_rose", "", 1, 1.25}}, func(_ *rand.Rand, d *served) {
		if d.within(1, 1.25) {
			d.took *= 10
		}
	}},
	"constant errors": {[]planted{{"errors_high", "", 0, 0}}, func(r *rand.Rand, d *served) {
		if r.IntN(100) < 15 {
			d.result = "error"
		}
	}},
	"all denied": {[]planted{{"all_denied", "", 3, 0}}, func(_ *rand.Rand, d *served) {
		if d.within(3, 9) {
			d.result = "false"
		}
	}},
	"gap": {[]planted{{"decisions_missing", "", 1, 1 + 40./60}}, func(_ *rand.Rand, d *served) { d.lost = d.within(1, 1+40./60) }},
	"slow http.send": {[]planted{{"stage_dominates", "?", 0, 0}}, func(_ *rand.Rand, d *served) {
		d.send(60e6, "counter_rego_builtin_http_send_interquery_cache_hits")
	}},
	"slow http.send from a time on": {[]planted{{"latency_rose", "path app1/allow", 1.5, 0}}, func(_ *rand.Rand, d *served) {
		d.send(1e4, "counter_rego_builtin_http_send_interquery_cache_hits")
		if d.usual = d.took; d.path == "app1/allow" && d.within(1.5, 9) {
			d.send(60e6, "counter_rego_builtin_http_send_interquery_cache_hits")
		}
	}},
	"uncached http.send": {[]planted{{"http_send_uncached", "?", 0, 0}}, func(_ *rand.Rand, d *served) {
		d.send(5e6, "counter_rego_builtin_http_send_network_requests")
	}},
	"cache misses": {[]planted{{"queries_recompiled", "?", 0, 0}}, func(r *rand.Rand, d *served) {
		if r.IntN(4) == 0 {
			d.took += 3e5
			d.metrics = `,"timer_rego_query_compile_ns":300000`
		}
	}},
	"huge inputs": {[]planted{{"handler_outside_rego", "?", 0, 0}}, func(_ *rand.Rand, d *served) {
		d.metrics = `,"timer_rego_input_parse_ns":8000000`
		d.took += 8e6
	}},
	"three faults": {[]planted{{"errors_rose", "", 3, 3 + 20./60}, {"decisions_missing", "", 1, 1.5}, {"server_slower", "server opa-2", 0, 0}}, func(r *rand.Rand, d *served) {
		d.lost = d.within(1, 1.5)
		if d.server == "opa-2" {
			d.took *= 3
		}
		if d.within(3, 3+20./60) && r.IntN(5) == 0 {
			d.result = "error"
		}
	}},
	"two faults of a kind": {[]planted{{"latency_rose", "", 1, 1.25}, {"server_slower", "server opa-2", 2, 0}}, func(_ *rand.Rand, d *served) {
		if d.within(1, 1.25) {
			d.took *= 10
		}
		if d.server == "opa-2" && d.within(2, 9) {
			d.took *= 10
		}
	}},
	"five faults": {[]planted{{"errors_high", "server opa-3", 0, 0}, {"all_denied", "path app2/allow", 2, 0}, {"decisions_missing", "", 3, 3.25}, {"latency_rose", "", 1, 1.25}, {"path_undefined", "path app1/allow", 1.5, 0}}, func(r *rand.Rand, d *served) {
		d.lost = d.within(3, 3.25)
		switch {
		case d.server == "opa-3" && r.IntN(10) == 0:
			d.result = "error"
		case d.path == "app1/allow" && d.within(1.5, 9):
			d.result = "undefined"
		case d.path == "app2/allow" && d.within(2, 9):
			d.result = "false"
		}
		if d.within(1, 1.25) {
			d.took *= 10
		}
	}},
}

// send makes a decision wait for another server.
func (d *served) send(ns float64, counter string) {
	d.took += ns / 0.7 // evaluation contains it
	d.metrics = fmt.Sprintf(`,"timer_rego_builtin_http_send_ns":%d,"%s":1`, int64(ns), counter)
}

// TestPlantedFaults: each fault has one finding, which names its subject and
// its times.
func TestPlantedFaults(t *testing.T) {
	for name, test := range plantedFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newTraffic(1)
			log.fault = func(d *served) { test.fault(log.Rand, d) }
			isSampled := name == "three faults" // too large for checkFigures
			if isSampled {
				log.decisions *= 9
			}
			found := readLog(t, log.log(), Options{Workers: 2}).Report().Findings
			if len(found) != len(test.want) {
				t.Fatalf("found %+v, want findings of %+v", found, test.want)
			}
			for i, want := range test.want {
				checkPlanted(t, &found[i], want)
				if !isSampled {
					log.checkFigures(t, &found[i], want)
				}
			}
		})
	}
}

func checkPlanted(t *testing.T, f *Finding, want planted) {
	t.Log(f.Text)
	var subject []string
	for _, s := range []string{"path " + f.Path, "server " + f.Server, "client " + f.Client, "revision " + f.Revision} {
		if !strings.HasSuffix(s, " ") {
			subject = append(subject, s)
		}
	}
	if want.subject == "?" { // of the whole log, without fields
		want.subject, want.from, want.to = "", -1, -1
	}
	if got := strings.Join(subject, " "); f.Rule != want.rule || got != want.subject && !strings.Contains(want.subject, none) {
		t.Errorf("%s has the subject %q, want %s with %q", f.Rule, got, want.rule, want.subject)
	}
	begin := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	if want.to == 0 {
		want.to = 4
	}
	tolerance := time.Minute
	if f.Client != "" { // The sample has one of its decisions in 100 s.
		tolerance = 5 * time.Minute
	}
	for got, want := range map[string]float64{f.From: want.from, f.To: want.to} {
		at, err := time.Parse(time.RFC3339, got)
		if wanted := begin.Add(time.Duration(want * float64(time.Hour))); want >= 0 && (err != nil || at.Sub(wanted).Abs() > tolerance) {
			t.Errorf("%s: a time is %s, want %s", f.Rule, got, wanted)
		}
	}
	if want.from >= 0 && len(f.Figures) == 0 {
		t.Errorf("%s has no figures", f.Rule)
	}
}

// checkFigures compares the text, the figures and the command of a finding with
// the decisions of the log, which are all in the sample.
func (log *traffic) checkFigures(t *testing.T, f *Finding, want planted) {
	if want.subject == "?" {
		return // TestRules checks it
	}
	from, to := must(time.Parse(time.RFC3339Nano, f.From)), must(time.Parse(time.RFC3339Nano, f.To))
	scanned := strings.Contains(f.Text, " A sample of ")
	result, did := "", ""
	switch f.Rule {
	case "errors_rose", "errors_high":
		result, did = "error", "failed"
	case "all_denied":
		result, did = "false", "were denied"
	case "path_undefined":
		result, did = "undefined", "had no result"
	}
	label := log.kept[0].label
	subject, of, by, flags := map[string]string{}, "", "label:"+label[strings.LastIndexByte(label, '"')+1:], ""
	for i, pair := 0, strings.Fields(want.subject); i < len(pair); i += 2 {
		subject[pair[i]] = strings.TrimPrefix(strings.Replace(pair[i+1], none, "", 1), "b=")
		of += []string{" of ", " and "}[min(i, 1)] + strings.Replace(pair[i], "rev", "bundle rev", 1) + " `" + pair[i+1] + "`"
		switch pair[i] {
		case "path":
			flags = " --path " + pair[i+1]
		case "client":
			by = "requested_by"
		case "revision":
			by = "bundle"
		}
	}
	within := f.Rule == "path_undefined" || f.Rule == "all_denied" && subject["server"]+subject["client"] == ""
	var in, has, out, hasOut, slow, logs float64
	var times []time.Time
	var took [2][]float64 // of evaluation: outside and inside
	begins, ends := false, false
	for _, d := range log.kept {
		times = append(times, d.time())
		if f.Rule == "all_denied" && d.result != "true" && d.result != "false" {
			continue
		}
		is, isSubject := 0.0, true
		if d.result == result {
			is = 1
		}
		for what, name := range map[string]string{"path": d.path, "server": d.server, "client": d.client, "revision": d.revision} {
			if want, ok := subject[what]; ok && name != want && (what != "revision" || len(subject) == 1) {
				isSubject = false
			}
		}
		begins, ends = begins || isSubject && d.time().Before(from), ends || isSubject && d.time().After(to)
		switch {
		case isSubject && !d.time().Before(from) && !d.time().After(to):
			in, has, logs = in+1, has+is, logs+math.Log(d.took/d.usual)
			if took[1] = append(took[1], d.took*0.7); d.took > d.usual {
				slow++
			}
		case isSubject || !within:
			out, hasOut, took[0] = out+1, hasOut+is, append(took[0], d.took*0.7)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	second := func(at time.Time) string { return at.Format("2006-01-02 15:04:05") }
	when, who := "", "The decisions"+of
	switch {
	case begins && ends:
		when = fmt.Sprintf("From %s to %s UTC, ", second(from), second(to))
	case begins:
		when = fmt.Sprintf("From %s UTC on, ", second(from))
	case ends:
		when = fmt.Sprintf("Until %s UTC, ", second(to))
	}
	if when != "" || did != "" {
		who = "the decisions" + of
	}
	figures, sentence := map[string]float64{}, ""
	switch {
	case f.Rule == "decisions_missing":
		for i, at := range times[1:] {
			if gap := at.Sub(times[i]).Seconds(); gap > figures["seconds"] {
				figures["seconds"], sentence = gap, fmt.Sprintf("for %s, there is no decision. No other pause is a tenth as long. "+
					"Find out whether OPA, its clients or the shipping of its log stopped.", text.LongDuration(gap*1e9))
			}
		}
		ends = false // for the command
	case scanned && did != "":
		figures["share"], figures["share_outside"] = has/in, hasOut/out
		sentence = fmt.Sprintf("%s of %s %s, against %s of the others.", text.Percent(has/in), who, did, text.Percent(hasOut/out))
		if did == "failed" {
			failed := 0
			for _, d := range log.kept {
				failed += strings.Count(d.result+d.code, "errorinternal_error")
			}
			sentence += fmt.Sprintf(" The most frequent error of the log is `internal_error` (%s).", text.Count(failed))
		}
	case did != "":
		figures["decisions"], figures["share"] = in, has/in
		sentence = fmt.Sprintf("%s of %s decisions (%s) failed, at all", text.Count(int(has)), text.Count(int(in)), text.Percent(has/in))
		if f.Rule == "path_undefined" {
			sentence = fmt.Sprintf("1 path hardly ever had a result, in %s decisions (%s of all): `%s` (%[1]s).", text.Count(int(in)), text.Percent(in/float64(len(log.kept))), f.Path)
		}
	default:
		factor := f.Figures["factor"]
		if planted := math.Exp(logs / in); math.Abs(math.Log(factor/planted)) > 0.01+1.8/math.Sqrt(in) || slow < 0.99*in {
			t.Errorf("the factor is %v, want %v; %v of %v decisions are slow", factor, planted, slow, in)
		}
		if figures["factor"], sentence = factor, fmt.Sprintf("%s took %.1f times as long as the others with the same path.", who, factor); !scanned {
			sentence = fmt.Sprintf("Evaluation became slower with bundle revision `%s`, at %s UTC.", f.Revision, second(from))
			var values []float64
			for _, q := range []float64{0.5, 0.99} {
				for i := range took {
					values = append(values, nearest(sorted(took[i]), q))
				}
			}
			checkDurations(t, f.Text, values...)
		}
	}
	command := ""
	if begins {
		flags += " --since " + from.Truncate(time.Second).Format(time.RFC3339)
	}
	if ends {
		flags += " --until " + to.Truncate(time.Second).Add(time.Second).Format(time.RFC3339)
	}
	if scanned {
		sentence += fmt.Sprintf(" A sample of %s shows this.", text.Plural(len(log.kept), "decision"))
	}
	if scanned || f.Rule == "decisions_missing" {
		command = "regometer report --by " + by + flags + " "
		sentence = when + sentence + " Look at the decisions with this command:"
	}
	if !strings.HasPrefix(f.Text, sentence) || scanned && f.Text != sentence {
		t.Errorf("got\n%s\nwant\n%s", f.Text, sentence)
	}
	if !maps.EqualFunc(f.Figures, figures, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*b }) {
		t.Errorf("figures %v, want %v", f.Figures, figures)
	}
	if !strings.HasPrefix(f.Command, command) || (f.Command == "") != (command == "") {
		t.Errorf("command %s, want %s", f.Command, command)
	}
	for _, at := range []time.Time{from, to} {
		if (scanned || f.Revision == "") && !slices.ContainsFunc(times, at.Equal) {
			t.Errorf("no decision is made at %v", at)
		}
	}
	if want.from == 0 && !from.Equal(times[0]) || want.to == 0 && !to.Equal(times[len(times)-1]) {
		t.Errorf("from %v to %v, want the first and the last time", from, to)
	}
}

// checkDurations checks that a text begins with these durations, in ns and
// within 2 %.
func checkDurations(t *testing.T, text string, want ...float64) {
	t.Helper()
	got := regexp.MustCompile(`([0-9.]+) (ns|µs|ms|s)\b`).FindAllStringSubmatch(text, -1)
	for i, ns := range want {
		if d, err := time.ParseDuration(got[i][1] + got[i][2]); err != nil || math.Abs(float64(d)/ns-1) > 0.02 {
			t.Errorf("duration %d is %v, want %v ns", i, got[i], ns)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestHealthyTraffic: of 200 healthy logs, at most two have a finding.
// REGOMETER_HEALTHY_LOGS is another number of logs.
func TestHealthyTraffic(t *testing.T) {
	t.Parallel()
	logs, large := 200, 6_000
	if n, err := strconv.Atoi(os.Getenv("REGOMETER_HEALTHY_LOGS")); err == nil {
		logs, large = n, 1_000_000
	} else if race.Enabled {
		logs = 20 // each has the same goroutines
	}
	alarms := 0
	for seed := range logs {
		log := newTraffic(uint64(seed))
		log.decisions = int(1000 * math.Pow(float64(large)/1000, log.Float64()))
		log.span = time.Duration((1 + 47*log.Float64()) * float64(time.Hour))
		log.season, log.waves = 0.8*log.Float64(), 0.2*log.Float64()
		log.paths, log.servers, log.revisions = 1+log.IntN(30), 1+log.IntN(12), 1+log.IntN(3)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { // whose end removes the log
			if found := readLog(t, log.log(), Options{Workers: 2}).Report().Findings; len(found) > 0 {
				alarms++
				t.Logf("log %d: %+v", seed, found)
			}
		})
	}
	if alarms > max(1, logs/100) {
		t.Errorf("%d of %d healthy logs have a finding", alarms, logs)
	}
}
