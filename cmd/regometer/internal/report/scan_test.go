// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
	t := &traffic{Rand: rand.New(rand.NewPCG(seed, 3)), decisions: 8000, span: 4 * time.Hour, paths: 5, servers: 5, revisions: 1}
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
	fault         fault
}

// A fault changes a decision of a log, which may be of the subject and within
// the times of the finding.
type fault func(r *rand.Rand, d *served, isOf bool)

func fails(percent int) fault {
	return func(r *rand.Rand, d *served, isOf bool) {
		if isOf && r.IntN(100) < percent {
			d.result = "error"
		}
	}
}

func results(in string) fault {
	return func(_ *rand.Rand, d *served, isOf bool) {
		if isOf {
			d.result = in
		}
	}
}

func slower(times float64) fault {
	return func(_ *rand.Rand, d *served, isOf bool) {
		if isOf {
			d.took *= times
		}
	}
}

func usual(*rand.Rand, *served, bool) {}

func lost(_ *rand.Rand, d *served, isOf bool) { d.lost = d.lost || isOf }

// sends makes decisions wait for another server.
func sends(ns float64, counter string) fault {
	return func(_ *rand.Rand, d *served, isOf bool) {
		if isOf {
			d.took += ns / 0.7 // evaluation contains it
			d.metrics = fmt.Sprintf(`,"timer_rego_builtin_http_send_ns":%d,"%s":1`, int64(ns), counter)
		}
	}
}

const (
	sendHits, sendRequests = "counter_rego_builtin_http_send_interquery_cache_hits", "counter_rego_builtin_http_send_network_requests"
	third                  = 20. / 60 // of an hour
)

var plantedFaults = map[string][]planted{
	"error burst":                   {{"errors_rose", "", 2, 2 + third, fails(20)}},
	"path undefined from a time on": {{"undefined_rose", "path app1/allow", 2.5, 0, results("undefined")}},
	"revision makes a path slower":  {{"revision_slower", "path app1/allow revision b=v1", 2, 0, slower(3)}},
	"revision slower":               {{"revision_slower", "revision b=v1", 2, 0, slower(3)}},
	"revision a little slower":      {{"revision_slower", "revision b=v1", 2, 0, slower(1.4)}},
	"server slower":                 {{"server_slower", "server opa-2", 0, 0, slower(3)}},
	"server much slower":            {{"server_slower", "server opa-2", 0, 0, slower(20)}},
	"server slower from early on":   {{"server_slower", "server opa-2", 0.4, 0, slower(3)}},
	"errors of a server":            {{"errors_high", "server opa-3", 0, 0, fails(10)}},
	"client slower":                 {{"client_slower", "client 10.0.0.7", 0, 0, slower(8)}},
	"client slower for an hour":     {{"client_slower", "client 10.0.0.7", 2, 3, slower(20)}},
	"errors of a client":            {{"errors_high", "client 10.0.0.7", 0, 0, fails(33)}},
	"client denied":                 {{"denied_high", "client 10.0.0.7", 0, 0, results("false")}},
	"client denied from a time on":  {{"denied_rose", "client 10.0.0.7", 1, 0, results("false")}},
	"client denied from early on":   {{"denied_high", "client 10.0.0.7", 0, 0, results("false")}},
	"path slower until a time":      {{"latency_rose", "path app1/allow", 0, 1, slower(5)}},
	"15 minutes of latency":         {{"latency_rose", "", 1, 1.25, slower(10)}},
	"constant errors":               {{"errors_high", "", 0, 0, fails(15)}},
	"all denied":                    {{"denied_rose", "", 3, 0, results("false")}},
	"gap":                           {{"decisions_missing", "", 1, 1 + 2*third, lost}},
	"slow http.send from a time on": {{"latency_rose", "path app1/allow", 1.5, 0, sends(60e6, sendHits)}},
	"uncached http.send":            {{"http_send_uncached", "?", 0, 0, sends(5e6, sendRequests)}},
	"three faults":                  {{"errors_rose", "", 3, 3 + third, fails(20)}, {"decisions_missing", "", 1, 1.5, lost}, {"server_slower", "server opa-2", 0, 0, slower(3)}},
	"two faults of a kind":          {{"latency_rose", "", 1, 1.25, slower(10)}, {"server_slower", "server opa-2", 2, 0, slower(10)}},
	"path undefined but for an error": {{"path_undefined", "path app1/allow", 0, 0, func(r *rand.Rand, d *served, isOf bool) {
		if isOf && d.result != "error" && r.IntN(100) > 0 {
			d.result = "undefined"
		}
	}}},
	"pod slower": {{"server_slower", "server opa-2", 0, 0, func(r *rand.Rand, d *served, isOf bool) {
		d.label = fmt.Sprintf(`"id":"x","pod":"%s","node`, d.server) // of two equal ones, the first
		slower(3)(r, d, isOf)
	}}},
	"decisions without a client slower": {{"client_slower", "client (none)", 0, 0, func(_ *rand.Rand, d *served, _ bool) {
		if d.client == "10.0.0.7" {
			d.client = ""
			d.took *= 8
		}
	}}},
	"slow server for two hours": {{"server_missing", "server opa-9", 3, 0, usual}, {"server_slower", "server opa-9", 1, 3, func(_ *rand.Rand, d *served, _ bool) {
		if d.server == "opa-2" && d.within(1, 3) {
			d.server = "opa-9"
			d.took *= 5
		}
	}}},
	"cache misses": {{"queries_recompiled", "?", 0, 0, func(r *rand.Rand, d *served, _ bool) {
		if r.IntN(4) == 0 {
			d.took += 3e5
			d.metrics = `,"timer_rego_query_compile_ns":300000`
		}
	}}},
	"huge inputs": {{"handler_outside_rego", "?", 0, 0, func(_ *rand.Rand, d *served, _ bool) {
		d.metrics = `,"timer_rego_input_parse_ns":8000000`
		d.took += 8e6
	}}},
	"five faults": {
		{"errors_high", "server opa-3", 0, 0, fails(10)}, {"denied_rose", "path app2/allow", 2, 0, results("false")},
		{"decisions_missing", "", 3, 3.25, lost}, {"latency_rose", "", 1, 1.25, slower(10)}, {"undefined_rose", "path app1/allow", 1.5, 0, results("undefined")},
	},
}

func (d *served) within(from, to float64) bool {
	return d.at.Hours() >= from && (to == 0 || d.at.Hours() < to)
}

// isOf reports whether a decision is of a subject. A bundle's revision has
// decisions of other paths too, which are not others to compare with.
func (d *served) isOf(subject string) bool {
	names := map[string]string{"path": d.path, "server": d.server, "client": cmp.Or(d.client, none), "revision": "b=" + d.revision}
	for i, pair := 0, strings.Fields(subject); i+1 < len(pair); i += 2 {
		if names[pair[i]] != pair[i+1] {
			return false
		}
	}
	return true
}

// TestPlantedFaults: each fault has one finding, which names its subject and
// its times.
func TestPlantedFaults(t *testing.T) {
	for name, faults := range plantedFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newTraffic(1)
			log.fault = func(d *served) {
				for _, p := range slices.Backward(faults) {
					p.fault(log.Rand, d, d.isOf(p.subject) && d.within(p.from, p.to))
				}
			}
			if strings.HasPrefix(name, "revision") {
				log.revisions = 2
			}
			if name == "three faults" { // more than a sample has
				log.decisions *= 9
			}
			lines := log.log()
			found := readLog(t, lines, Options{Workers: 2}).Report().Findings
			slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(position(faults, a), position(faults, b)) })
			if len(found) != len(faults) {
				t.Fatalf("found %+v, want findings of %+v", found, faults)
			}
			// With the times of a wrapper, only rules for the whole log run.
			r := readLog(t, strings.ReplaceAll(lines, `"timestamp"`, `"@timestamp"`), Options{Workers: 2}).Report()
			if text := fmt.Sprint(r.Findings); !strings.Contains(text, "(100 %) have no valid `timestamp`") || len(r.byScan) > 0 {
				t.Error(text)
			}
			for i, want := range faults {
				checkPlanted(t, &found[i], want)
				if want.subject != "?" && len(faults) == 1 { // TestRules checks those of the whole log
					checkFigures(t, log, &found[i], want)
				}
			}
		})
	}
}

// A path that has all errors of some minutes is named, also if all paths
// together explain them as well.
func TestErrorsNameTheirPath(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		log := newTraffic(seed)
		log.decisions, log.paths, log.errors = 20_000, 3, make([]float64, 3)
		log.fault = func(d *served) { fails(10)(log.Rand, d, d.path == "app1/allow" && d.within(2, 2.2)) }
		found := readLog(t, log.log(), Options{}).Report().Findings
		if len(found) != 1 || found[0].Rule != "errors_rose" || found[0].Path != "app1/allow" {
			t.Errorf("seed %d: %+v", seed, found)
		}
	}
}

// position returns the place of a finding's rule among faults.
func position(faults []planted, f Finding) int {
	return slices.IndexFunc(faults, func(p planted) bool { return p.rule == f.Rule })
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
	if strings.Contains(want.subject, "client") { // The log has one of its decisions in 100 s.
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

// checkFigures compares the figures of a finding with the decisions of the log,
// which are all in the sample. What the command selects is tested where it runs,
// by TestSuggestedCommands.
func checkFigures(t *testing.T, log *traffic, f *Finding, want planted) {
	from, to := must(time.Parse(time.RFC3339Nano, f.From)), must(time.Parse(time.RFC3339Nano, f.To))
	name, _, _ := strings.Cut(f.Rule, "_")
	result, isOutcome := map[string]string{"errors": "error", "denied": "false", "undefined": "undefined", "path": "undefined"}[name]
	ofItself := want.from > 0 || want.to > 0 // compared with itself at other times
	var in, has, out, hasOut, logs float64
	times := map[time.Time]bool{}
	for _, d := range log.kept {
		times[d.time()] = true
		is := 0.0
		if d.result == result {
			is = 1
		}
		switch isOf := d.isOf(want.subject); {
		case isOf && !d.time().Before(from) && !d.time().After(to):
			in, has, logs = in+1, has+is, logs+math.Log(d.took/d.usual)
		case isOf || !ofItself:
			out, hasOut = out+1, hasOut+is
		}
	}
	near := func(name string, want, tolerance float64) {
		if got := f.Figures[name]; math.Abs(got-want) > tolerance {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	switch {
	case f.Rule == "decisions_missing":
		near("seconds", to.Sub(from).Seconds(), 1e-6)
	case isOutcome:
		near("share", has/in, 1e-9)
		if out > 0 && name != "path" {
			near("share_outside", hasOut/out, 1e-9)
		}
		near("decisions", in, 0)
	default:
		planted := math.Exp(logs / in)
		near("factor", planted, planted*(0.02+3/math.Sqrt(in)))
		near("decisions", in, 0)
	}
	for _, at := range []time.Time{from, to} {
		if !times[at] {
			t.Errorf("no decision is made at %v", at)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestHealthyTraffic: of 200 healthy logs, at most two have a fault.
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
			found := readLog(t, log.log(), Options{Workers: 2}).Report().Findings
			if found = slices.DeleteFunc(found, func(f Finding) bool { return f.Severity == Info }); len(found) > 0 {
				alarms++
				t.Logf("log %d: %+v", seed, found)
			}
		})
	}
	if alarms > max(1, logs/100) {
		t.Errorf("%d of %d healthy logs have a fault", alarms, logs)
	}
}
