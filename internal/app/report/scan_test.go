// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
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
}

// served is a decision of traffic.
type served struct {
	at                     time.Duration
	path, server, revision string
	took                   float64 // ns
	result                 string  // or "error" or "undefined"
	lost                   bool
}

func newTraffic(seed uint64) *traffic {
	t := &traffic{Rand: rand.New(rand.NewPCG(seed, 3)), decisions: 72_000, span: 4 * time.Hour, paths: 5, servers: 5, revisions: 1}
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
	begin := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
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
			revision: fmt.Sprintf("v%d", int(at*time.Duration(t.revisions)/t.span)),
			took:     1e5 * float64(1+p%4) * math.Exp(0.6*t.NormFloat64()+0.3*t.season*season+minutes[at/time.Minute]), result: "true"}
		if t.Float64() < t.denied[p] {
			d.result = "false"
		}
		if t.Float64() < t.errors[p] {
			d.result = "error"
		}
		if t.fault != nil {
			t.fault(d)
		}
		if d.lost {
			continue
		}
		result := `"result":` + d.result
		switch d.result {
		case "error":
			result = `"error":{"code":"internal_error"}`
		case "undefined":
			result = `"req_id":1`
		}
		fmt.Fprintf(&b, `{"labels":{"id":"%s","version":"1"},"decision_id":"%016x","bundles":{"b":{"revision":"%s"}},"path":"%s",%s,`+
			`"requested_by":"10.0.0.%d:4000","timestamp":"%s","metrics":{"timer_rego_query_eval_ns":%d,"timer_server_handler_ns":%d}}`+"\n",
			d.server, t.Uint64(), d.revision, d.path, result, t.IntN(50), begin.Add(d.at).Format(time.RFC3339Nano), int64(d.took*0.7), int64(d.took))
	}
	return b.String()
}

// TestPlantedFaults: each fault has one finding, which names its subject and
// its times.
func TestPlantedFaults(t *testing.T) {
	hours := func(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }
	within := func(d *served, from, to float64) bool { return d.at >= hours(from) && d.at < hours(to) }
	for name, test := range map[string]struct {
		rule, subject string
		from, to      float64 // hours; 0 stands for the beginning and the end
		fault         func(r *rand.Rand, d *served)
	}{
		"error burst": {"errors_rose", "", 2, 2 + 20./60, func(r *rand.Rand, d *served) {
			if within(d, 2, 2+20./60) && r.IntN(5) == 0 {
				d.result = "error"
			}
		}},
		"path undefined but for an error": {"path_undefined", "?", 0, 0, func(r *rand.Rand, d *served) {
			if d.path == "app1/allow" && d.result != "error" && r.IntN(100) > 0 {
				d.result = "undefined"
			}
		}},
		"path undefined from a time on": {"path_undefined", "path app1/allow", 2.5, 0, func(_ *rand.Rand, d *served) {
			if d.path == "app1/allow" && within(d, 2.5, 9) {
				d.result = "undefined"
			}
		}},
		"revision makes a path slower": {"revision_slower", "path app1/allow revision b=v1", 2, 0, func(_ *rand.Rand, d *served) {
			d.revision = "v0"
			if within(d, 2, 9) {
				d.revision = "v1"
				if d.path == "app1/allow" {
					d.took *= 3
				}
			}
		}},
		"revision slower": {"revision_slower", "revision b=v1", 2, 0, func(_ *rand.Rand, d *served) {
			d.revision = "v0"
			if within(d, 2, 9) {
				d.revision = "v1"
				d.took *= 3
			}
		}},
		"server slower": {"server_slower", "server opa-2", 0, 0, func(_ *rand.Rand, d *served) {
			if d.server == "opa-2" {
				d.took *= 3
			}
		}},
		"server much slower": {"server_slower", "server opa-2", 0, 0, func(_ *rand.Rand, d *served) {
			if d.server == "opa-2" {
				d.took *= 20
			}
		}},
		"errors of a server": {"errors_high", "server opa-3", 0, 0, func(r *rand.Rand, d *served) {
			if d.server == "opa-3" && r.IntN(10) == 0 {
				d.result = "error"
			}
		}},
		"15 minutes of latency": {"latency_rose", "", 1, 1.25, func(_ *rand.Rand, d *served) {
			if within(d, 1, 1.25) {
				d.took *= 10
			}
		}},
		"constant errors": {"errors_high", "?", 0, 0, func(r *rand.Rand, d *served) {
			if r.IntN(100) < 15 {
				d.result = "error"
			}
		}},
		"all denied": {"all_denied", "", 3, 0, func(_ *rand.Rand, d *served) {
			if within(d, 3, 9) {
				d.result = "false"
			}
		}},
		"gap": {"decisions_missing", "", 1, 1 + 40./60, func(_ *rand.Rand, d *served) { d.lost = within(d, 1, 1+40./60) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newTraffic(1)
			log.fault = func(d *served) { test.fault(log.Rand, d) }
			found := readLog(t, log.log(), Options{Workers: 2}).Report().Findings
			if len(found) != 1 || found[0].Rule != test.rule {
				t.Fatalf("found %+v, want one finding of %s", found, test.rule)
			}
			f := found[0]
			t.Log(f.Text)
			if test.subject == "?" { // all decisions count, not a sample
				return
			}
			var subject []string
			for _, s := range []string{"path " + f.Path, "server " + f.Server, "client " + f.Client, "revision " + f.Revision} {
				if !strings.HasSuffix(s, " ") {
					subject = append(subject, s)
				}
			}
			if got := strings.Join(subject, " "); got != test.subject {
				t.Errorf("the subject is %q, want %q", got, test.subject)
			}
			begin := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
			if test.to == 0 {
				test.to = 4
			}
			for got, want := range map[string]float64{f.From: test.from, f.To: test.to} {
				if at, err := time.Parse(time.RFC3339, got); err != nil || at.Sub(begin.Add(hours(want))).Abs() > time.Minute {
					t.Errorf("a time is %s, want %s", got, begin.Add(hours(want)))
				}
			}
		})
	}
}

// TestHealthyTraffic: of 200 healthy logs, at most two have a finding.
// REGOMETER_HEALTHY_LOGS is another number of logs.
func TestHealthyTraffic(t *testing.T) {
	t.Parallel()
	logs, large := 200, 6_000
	if n, err := strconv.Atoi(os.Getenv("REGOMETER_HEALTHY_LOGS")); err == nil {
		logs, large = n, 1_000_000
	}
	alarms := 0
	for seed := range logs {
		log := newTraffic(uint64(seed))
		log.decisions = int(1000 * math.Pow(float64(large)/1000, log.Float64()))
		log.span = time.Duration((1 + 47*log.Float64()) * float64(time.Hour))
		log.season, log.waves = 0.8*log.Float64(), 0.2*log.Float64()
		log.paths, log.servers, log.revisions = 1+log.IntN(30), 1+log.IntN(12), 1+log.IntN(3)
		if found := readLog(t, log.log(), Options{Workers: 2}).Report().Findings; len(found) > 0 {
			alarms++
			t.Logf("log %d: %+v", seed, found)
		}
	}
	if alarms > max(1, logs/100) {
		t.Errorf("%d of %d healthy logs have a finding", alarms, logs)
	}
}
