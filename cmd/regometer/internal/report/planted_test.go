// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/contrast"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/outcome"
)

// The flags of TestFindings.
var (
	seeds    = flag.Int("seeds", 0, "logs with each fault and size")
	healthy  = flag.Int("healthy", 0, "healthy logs of each kind and size")
	ofSizes  = flag.String("sizes", "1000,5000,20000,81000", "decisions of the healthy logs; 500000 and 2000000 take long")
	only     = flag.String("only", "", "regular expression: only these faults and healthy logs")
	writesTo = flag.String("write", "", "a page, named from the root of the repository, in which to replace the table")
)

// newSceneOf returns a scene whose seed depends on its name only.
func newSceneOf(name string, decisions int) *scene {
	h := fnv.New64a()
	fmt.Fprint(h, name)
	return newScene(h.Sum64(), decisions)
}

// find writes the log of a scene, and returns the report's findings.
func (s *scene) find(t *testing.T, truths ...*truth) []report.Finding {
	t.Helper()
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(s.generate(w, func(d *decision) {
			for _, t := range truths {
				t.see(d)
			}
		}))
	}()
	x, err := report.Read(t.Context(), report.Options{Inputs: []string{"-"}, Stdin: r})
	if err != nil {
		t.Fatal(err)
	}
	return x.Report().Findings
}

// faultNamed returns the fault with a name.
func faultNamed(name string) *fault {
	return &faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == name })]
}

// isRight says whether a verdict is right in all.
func (v *verdict) isRight() bool {
	return v.found && v.cause && v.time && (v.figure || !v.judged)
}

// Each fault of the largest size, or of all, is found, with the right cause, begin and
// figures.
func TestPlantedFaults(t *testing.T) {
	for i := range faults {
		f := &faults[i]
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for i, size := range f.sizes {
				if i > 0 && !f.all {
					break
				}
				s := newSceneOf(f.name, 30_000)
				planted := s.plant(f, size.value)
				found := s.find(t, planted)
				if v, others := judge([]*truth{planted}, found); !v[0].isRight() || others != nil {
					t.Errorf("%s: %+v, and %v: %+v", size.text, v[0], others, found)
				}
				if n := len(slices.DeleteFunc(found, func(f report.Finding) bool { return f.Severity == report.Info })); n > 1 {
					t.Errorf("%s: %d findings of one fault", size.text, n)
				}
			}
		})
	}
}

// Of a fault and what follows from it, only the fault is said.
func TestCauseOnly(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{"metrics gone on one pod": "metrics_missing", "http.send times out, from a time on": "http_send_unfinished"} {
		for _, whole := range []bool{true, false} {
			s, f := newSceneOf(name, 20_000), *faultNamed(name)
			f.whole = whole
			found := slices.DeleteFunc(s.find(t, s.plant(&f, f.sizes[0].value)), func(f report.Finding) bool { return f.Severity == report.Info })
			if len(found) != 1 || found[0].Rule != rule {
				t.Errorf("%s, always %t: %+v", name, whole, found)
			}
		}
	}
}

// Faults of one log do not hide one another.
func TestFaultsTogether(t *testing.T) {
	t.Parallel()
	for i, names := range [][]string{
		{"errors for 20 minutes", "a pause without decisions", "one server slower"},
		{"errors of one server", "allowed 90 % → less, one path", "undefined rises on a path", "a pause without decisions"},
		{"one client denied", "http.send slower, uncached"},
		{"errors of one server", "errors rise on a path"}, // on the same path
	} {
		s := newSceneOf(fmt.Sprint(i), 60_000)
		var truths []*truth
		for _, name := range names {
			f := *faultNamed(name)
			if i == 3 {
				f.ofPath = rbacPath
			}
			truths = append(truths, s.plant(&f, f.sizes[0].value))
		}
		found := s.find(t, truths...)
		v, others := judge(truths, found)
		for i, name := range names {
			if !v[i].isRight() {
				t.Errorf("%v: %s: %+v in %+v", names, name, v[i], found)
			}
		}
		if others != nil {
			t.Errorf("%v: also %v: %+v", names, others, found)
		}
	}
}

// TestHealthyTraffic: of some 200 healthy logs, at most one has a fault.
func TestHealthyTraffic(t *testing.T) {
	t.Parallel()
	logs, alarms := 0, 0
	for _, h := range healthyScenes {
		for _, decisions := range []int{1000, 2500, 6000} {
			for n := range 3 {
				logs++
				name := fmt.Sprintf("%s, %d, %d", h.name, decisions, n)
				s := newSceneOf(name, decisions)
				h.shape(s, rand.New(rand.NewPCG(s.seed, 3)))
				found := s.find(t)
				if _, others := judge(nil, found); others != nil {
					alarms++
					t.Logf("%s: %v in %+v", name, others, found)
				}
			}
		}
	}
	if alarms > 1 {
		t.Errorf("%d of %d healthy logs have a fault", alarms, logs)
	}
}

// Queries that are compiled again and again are a fault, though they begin with a
// bundle. Servers that come and go are none.
func TestSeverity(t *testing.T) {
	t.Parallel()
	storm := faultNamed("all decisions compile after a bundle")
	s := newSceneOf(storm.name, 30_000)
	if found := s.find(t, s.plant(storm, storm.sizes[0].value)); !slices.ContainsFunc(found, func(f report.Finding) bool { return f.Rule == "compiles_rose" && f.Severity == report.Fault }) {
		t.Errorf("a storm of compilations is no fault: %+v", found)
	}
	for _, h := range healthyScenes {
		for _, usual := range []struct {
			scene, rule string
			decisions   int
		}{{"servers come", "server_missing", 60_000}, {"canary on all servers", "revision_slower", 20_000}} {
			if !strings.HasPrefix(h.name, usual.scene) {
				continue
			}
			s := newSceneOf(h.name+", 20000, seed 0", usual.decisions)
			h.shape(s, rand.New(rand.NewPCG(s.seed, 3)))
			if found := s.find(t); !slices.ContainsFunc(found, func(f report.Finding) bool { return f.Rule == usual.rule && f.Severity == report.Info }) {
				t.Errorf("%s: no %s, or a fault: %+v", h.name, usual.rule, found)
			}
		}
	}
}

// What the clients of a server ask for is no fault of the server.
func TestClientsOfServers(t *testing.T) {
	t.Parallel()
	for seed := range 3 {
		s := newSceneOf(fmt.Sprint("clients ", seed), 20_000)
		for _, h := range healthyScenes {
			if strings.HasPrefix(h.name, "sticky clients") {
				h.shape(s, rand.New(rand.NewPCG(s.seed, 3)))
			}
		}
		found := s.find(t)
		if _, others := judge(nil, found); others != nil {
			t.Errorf("seed %d: %+v", seed, found)
		}
	}
}

// In a log of one day, an outcome that follows the hour is no fault, and a step
// beside it is one.
func TestOneDay(t *testing.T) {
	t.Parallel()
	for seed := range 10 {
		for _, step := range []bool{false, true} {
			s := newSceneOf(fmt.Sprint("one day ", seed), 5000-2500*(seed%2))
			s.followDay(day)
			var planted []*truth
			if step {
				planted = append(planted, s.plant(faultNamed("allowed 90 % → less, one path"), 30))
			}
			found := s.find(t, planted...)
			if v, others := judge(planted, found); others != nil || step && !(v[0].found && v[0].cause) {
				t.Errorf("seed %d, step %t: %v in %+v", seed, step, others, found)
			}
		}
	}
}

// The only client of a log, such as a gateway, is no burst. Clients that asked
// before, though seldom, are not new.
func TestOneClient(t *testing.T) {
	t.Parallel()
	for seed := range 5 {
		s := newSceneOf(fmt.Sprint("one client ", seed), 5000)
		s.clients = 1 + seed%2*19
		s.change(func(r *rand.Rand, d *decision) {
			if d.x > 0.95 || d.x > 0.06 && s.clients > 1 {
				d.setAllowed(r, 0.4)
			}
		})
		if found := s.find(t); !slices.ContainsFunc(found, func(f report.Finding) bool { return f.Rule == "denied_rose" && f.Severity == report.Fault }) {
			t.Errorf("seed %d: %+v", seed, found)
		}
	}
}

// A client that asks only in a storm of retries is named too, from its begin on.
func TestNewClientRepeats(t *testing.T) {
	t.Parallel()
	s := newSceneOf("new client", 20_000)
	bot := s.clients
	s.before = func(r *rand.Rand, d *decision) {
		if d.x > 0.5 && d.x < 0.54 && r.IntN(3) > 0 {
			d.path, d.client, d.input = &s.paths[0], bot, resent
		}
	}
	storm := &truth{fault: &fault{rules: []string{"requests_repeated"}}}
	found := s.find(t, storm)
	i := slices.IndexFunc(found, func(f report.Finding) bool { return f.Rule == "requests_repeated" })
	first := storm.decisions[slices.IndexFunc(storm.decisions, func(d decision) bool { return d.client == bot })].at
	if from, err := time.Parse(time.RFC3339Nano, found[max(i, 0)].From); err != nil || from.UnixNano() < first || from.UnixNano() > first+int64(5*time.Second) {
		t.Errorf("it begins at %v and not %v", from, time.Unix(0, first).UTC())
	}
	if want := "Client `" + clientName(bot) + "` has nearly all of them."; i < 0 || found[i].Client != clientName(bot) || !strings.Contains(strings.ReplaceAll(found[i].Text, "\n", " "), want) {
		t.Errorf("no finding with %q: %+v", want, found)
	}
}

// A start hides no drift.
func TestDriftAndStart(t *testing.T) {
	t.Parallel()
	s := newSceneOf("drift of a path, 2.5 times, seed 1", 81_000)
	rules := ""
	for _, f := range s.find(t, s.plant(faultNamed("drift of a path"), 2.5)) {
		rules += " " + f.Rule + " " + f.Severity
	}
	if !strings.Contains(rules, "latency_drifted") || !strings.Contains(rules, "revision_slower info") {
		t.Errorf("found%s", rules)
	}
}

// The errors of a user who asks for several paths in sessions are one finding.
func TestSessionsOfUser(t *testing.T) {
	t.Parallel()
	for seed := range 3 {
		s := newSceneOf(fmt.Sprint("sessions ", seed), 20_000)
		s.change(func(r *rand.Rand, d *decision) {
			if math.Mod(d.x*5+0.5, 1) < 0.06 && r.IntN(3) == 0 {
				d.outcome = outcome.Failed
			}
		})
		if found := s.find(t); found == nil || len(found) > 1 && found[1].Severity == report.Fault || !strings.Contains(found[0].Text, "others like it") {
			t.Errorf("seed %d: %+v", seed, found)
		}
	}
}

// A cluster is that of the client who has nearly all of it, also if its decisions
// are few.
func TestOwner(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		s := newSceneOf(fmt.Sprint("owner ", seed), 20_000)
		s.paths[4].weight = 0.05
		s.change(func(r *rand.Rand, d *decision) {
			if d.x > 0.5 && d.client == 0 && d.path == &s.paths[4] && r.IntN(3) == 0 {
				d.outcome = outcome.Cancelled
			}
		})
		if found := s.find(t); found == nil || found[0].Client != clientName(0) {
			t.Errorf("seed %d: %+v", seed, found)
		}
	}
}

// A change that is nearly as likely at a revision as elsewhere began with it, also
// in a small log.
func TestBeginsWithRevision(t *testing.T) {
	t.Parallel()
	for seed := range 6 {
		s := newSceneOf(fmt.Sprint("begins with revision ", seed), 1500)
		planted := s.plant(faultNamed("allowed 80 % → less, new revision"), 30)
		found := s.find(t, planted)
		first := planted.decisions[slices.IndexFunc(planted.decisions, func(d decision) bool { return d.revision == planted.revision })].at
		if len(found) == 0 || found[0].Revision != "main="+planted.revision || found[0].From != text.Time(first, time.RFC3339Nano) {
			t.Errorf("seed %d: %+v", seed, found)
		}
	}
}

// A server that stays as it was when all others change is named, with its share
// since then.
func TestOneServerStays(t *testing.T) {
	t.Parallel()
	for seed := range 3 {
		s := newSceneOf(fmt.Sprint("one stays ", seed), 60_000)
		for i := len(s.servers); i < 30; i++ {
			s.servers = append(s.servers, newServer(rand.New(rand.NewPCG(s.seed, 4)), i))
		}
		stays, allowed, all := s.servers[7], 0, 0
		s.change(func(r *rand.Rand, d *decision) {
			if d.x >= 0.5 && d.path == &s.paths[0] {
				if d.server != stays {
					d.setAllowed(r, 0.3)
				} else {
					all, allowed = all+1, allowed+count(d.outcome == outcome.Allowed)
				}
			}
		})
		found := s.find(t)
		i := slices.IndexFunc(found, func(f report.Finding) bool { return f.Rule == "allowed_high" && f.Server == stays.pod })
		if j := slices.IndexFunc(found, func(f report.Finding) bool { return f.Rule == "denied_rose" && f.Server == "" }); i < 0 || j < 0 || found[i].From != found[j].From {
			t.Errorf("seed %d: %+v", seed, found)
		} else if f := found[i].Figures; math.Abs(f["decisions"]-float64(all)) > 5 || math.Abs(f["share"]-float64(allowed)/float64(all)) > 0.02 {
			t.Errorf("seed %d: %d of %d, got %v", seed, allowed, all, f)
		}
	}
}

// TestFindings plants the faults in all sizes, and prints what the report finds.
func TestFindings(t *testing.T) {
	if *seeds+*healthy == 0 {
		t.Skip("run make findings")
	}
	wanted := regexp.MustCompile(*only)
	var rows, kinds, wrong []string
	for i := range faults {
		f := &faults[i]
		row := "| " + f.name
		for _, z := range f.sizes {
			if *seeds > 0 && wanted.MatchString(f.name+", "+z.text) {
				row += " | " + z.text + ": " + scoreOf(t, f, z)
			}
		}
		if strings.Contains(row, " | ") {
			rows = append(rows, row+" |\n")
		}
	}
	var decisions []int
	if err := json.Unmarshal([]byte("["+*ofSizes+"]"), &decisions); err != nil {
		t.Fatal(err)
	}
	logs, bad := 0, 0
	for _, h := range healthyScenes {
		if *healthy == 0 || !wanted.MatchString(h.name) {
			continue
		}
		kinds = append(kinds, h.name)
		for _, n := range decisions {
			for i := range *healthy {
				logs++
				s := newSceneOf(fmt.Sprintf("%s, %d, seed %d", h.name, n, i), n)
				h.shape(s, rand.New(rand.NewPCG(s.seed, 3)))
				found := s.find(t)
				if _, others := judge(nil, found); others != nil {
					bad++
					wrong = append(wrong, fmt.Sprintf("%s of %d decisions (%s)", h.name, n, strings.Join(others, ", ")))
					t.Logf("%s, %d, seed %d: %+v", h.name, n, i, found)
				}
			}
		}
	}
	var text string
	if rows != nil {
		text = "| fault | size: found | size: found | size: found |\n|---|---|---|---|\n" + strings.Join(rows, "") + "\n"
	}
	if logs > 0 {
		low, high := contrast.Wilson(float64(bad)/float64(logs), float64(logs))
		text += fmt.Sprintf("Of %d healthy logs, %d have a fault: %.2f %% to %.2f %% with 95 %% confidence (Wilson). They are: %s.\n",
			logs, bad, 100*low, 100*high, strings.Join(kinds, "; "))
	}
	if wrong != nil {
		text += "These have a fault: " + strings.Join(wrong, "; ") + ".\n"
	}
	if *writesTo == "" {
		fmt.Print(text)
		return
	}
	page := filepath.Join("../../../..", *writesTo)
	data, err := os.ReadFile(page)
	table := regexp.MustCompile(`(?s)(<!-- findings: make findings -->\n).*(<!-- findings: end -->)`)
	if err == nil && table.Match(data) {
		err = os.WriteFile(page, table.ReplaceAll(data, []byte("${1}"+text+"${2}")), 0o644)
	}
	if err != nil || !table.Match(data) {
		t.Fatalf("%s lacks the table, or %v", page, err)
	}
}

// scoreOf says in how many of the logs with a fault of a size it is found, and
// in how many of these less is right.
func scoreOf(t *testing.T, f *fault, z size) string {
	right, also := map[string]int{}, map[string]int{}
	for n := range *seeds {
		s := newSceneOf(fmt.Sprintf("%s, %s, seed %d", f.name, z.text, n), 81_000)
		planted := s.plant(f, z.value)
		findings := s.find(t, planted)
		verdicts, others := judge([]*truth{planted}, findings)
		v := verdicts[0]
		for what, is := range map[string]bool{"found": v.found, "cause": v.cause, "time": v.time, "figures": v.figure, "judged": v.judged} {
			right[what] += count(is)
		}
		for _, rule := range others {
			also[rule]++
		}
		if !v.isRight() || others != nil {
			t.Logf("%s, %s, seed %d: %+v, from %v on: %+v", f.name, z.text, n, v, time.Unix(0, planted.at(planted.begin)).UTC(), findings)
		}
	}
	var less []string
	for _, what := range [][2]string{{"cause", "found"}, {"time", "found"}, {"figures", "judged"}} {
		if right[what[0]] < right[what[1]] {
			less = append(less, fmt.Sprintf("%s %d", what[0], right[what[0]]))
		}
	}
	score := fmt.Sprintf("%d of %d", right["found"], *seeds)
	if less != nil {
		score += " (" + strings.Join(less, ", ") + ")"
	}
	for _, rule := range slices.Sorted(maps.Keys(also)) {
		score += fmt.Sprintf(", and %s %d", rule, also[rule])
	}
	return score
}

// With the times of a wrapper, no rule compares times.
func TestWrapperTimes(t *testing.T) {
	t.Parallel()
	s := newSceneOf("wrapper", 5000)
	s.plant(faultNamed("errors rise on a path"), 30)
	var log bytes.Buffer
	if err := s.generate(&log, func(*decision) {}); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(log.String(), `"timestamp"`, `"@timestamp"`)
	x, err := report.Read(t.Context(), report.Options{Inputs: []string{"-"}, Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	notRun := x.Report().NotRun()
	if len(notRun) != 1 || !strings.Contains(notRun[0].Reason, "wrappers") || !slices.Contains(notRun[0].Rules, "errors_rose") {
		t.Errorf("got %+v", notRun)
	}
	for _, f := range x.Report().Findings {
		if slices.Contains(notRun[0].Rules, f.Rule) && f.Rule != "errors_high" {
			t.Errorf("found %+v", f)
		}
	}
}
