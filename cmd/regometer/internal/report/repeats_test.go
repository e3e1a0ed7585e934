// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// eventsOf returns events from one second after the other.
func eventsOf(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `{"decision_id":"%08x-1bc0-4000-8000-000000000480","path":"a/%d","timestamp":"2026-01-02T%02d:%02d:%02dZ","metrics":{"timer_server_handler_ns":5}}`+"\n",
			uint32(i)*0x9e3779b9, i%3, i/3600%24, i/60%60, i%60)
	}
	return b.String()
}

// Repeats are counted exactly, wherever they are.
func TestRepeats(t *testing.T) {
	thousand := eventsOf(0, 1000)
	const without = `{"path":"a","labels":{},"metrics":{}}` + "\n"
	for name, test := range map[string]struct {
		log      string
		count    int64
		from, to string
		reused   int64
	}{
		"none":    {thousand + strings.Repeat(without, 2), 0, "", "", 0},
		"twice":   {thousand + thousand, 1000, "00:00:00", "00:16:39", 0},
		"a chunk": {eventsOf(0, 81358) + eventsOf(7200, 7600), 400, "02:00:00", "02:06:39", 0},
		"thrice":  {strings.Repeat(eventsOf(5, 6), 3) + thousand, 3, "00:00:05", "00:00:05", 0},
		"another time and path": {thousand + strings.ReplaceAll(eventsOf(1, 2), "00:00:01", "00:00:01.5") + strings.ReplaceAll(eventsOf(61, 62), "a/1", "a/2") +
			strings.ReplaceAll(eventsOf(62, 63), `"timestamp"`, `"at"`), 0, "", "", 3},
	} {
		for _, workers := range []int{1, 3} {
			r := readLog(t, test.log, Options{Workers: workers}).Report()
			in := r.Inputs.Repeats
			if in.Count != test.count || in.Reused != test.reused || in.Sample != 0 || in.WithoutID != int64(strings.Count(test.log, without)) {
				t.Errorf("%s: %+v", name, in)
			}
			for rule, n := range map[string]int64{"ids_repeated": test.count, "ids_reused": test.reused} {
				f := findingOf(r, rule)
				if (f.Text != "") != (n > 0) || n > 0 && !strings.Contains(f.Text, "include "+text.Count(n)+" ") {
					t.Errorf("%s: %s says %s", name, rule, f.Text)
				}
			}
			if f := findingOf(r, "ids_repeated"); test.count > 0 && (f.From != "2026-01-02T"+test.from+"Z" || f.To != "2026-01-02T"+test.to+"Z" ||
				f.Figures["without"] != float64(r.Total.Decisions)-float64(test.count)) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// Copies of a report, and reports that overlap, have repeats.
func TestRepeatsOfMerged(t *testing.T) {
	folder := t.TempDir()
	x := readLog(t, eventsOf(0, 1000)+eventsOf(990, 1000), Options{})
	a, c := save(t, x, filepath.Join(folder, "a.rgm")), save(t, x, filepath.Join(folder, "c.rgm"))
	b := save(t, readLog(t, eventsOf(900, 2000)+eventsOf(900, 905)+`{"path":"a","labels":{},"metrics":{}}`, Options{Unique: true}), filepath.Join(folder, "b.rgm"))
	for _, test := range []struct {
		files          []string
		count, leftOut int64
		from, to       string
	}{
		{[]string{a}, 10, 0, "00:16:30", "00:16:39"},
		{[]string{a, c}, 1020, 0, "00:00:00", "00:16:39"},
		{[]string{a, b}, 110, 5, "00:15:00", "00:16:39"},
		{[]string{b}, 0, 5, "", ""},
	} {
		x, err := LoadAll(test.files...)
		if err != nil {
			t.Fatal(err)
		}
		r := x.Report()
		f := findingOf(r, "ids_repeated")
		if in := r.Inputs.Repeats; in.Count != test.count || in.LeftOut != test.leftOut || in.WithoutID != test.leftOut/5 || test.count > 0 && (f.From != "2026-01-02T"+test.from+"Z" || f.To != "2026-01-02T"+test.to+"Z") {
			t.Errorf("%v: %+v, %+v", test.files, r.Inputs.Repeats, f)
		}
	}
}

// With Unique, each decision counts once, in all figures. Those without an id
// count.
func TestUnique(t *testing.T) {
	const without = `{"path":"a","labels":{},"metrics":{}}` + "\n"
	log := eventsOf(0, 1000) + eventsOf(0, 500) + strings.Repeat(without, 2)
	want := outputs(t, readLog(t, eventsOf(0, 1000)+strings.Repeat(without, 2), Options{Slowest: 1000}))
	for _, workers := range []int{1, 3} {
		o := Options{Slowest: 1000, Unique: true, Workers: workers}
		x := readLog(t, log, o)
		r := x.Report()
		if in := r.Inputs.Repeats; in.LeftOut != 500 || in.Count != 0 || in.WithoutID != 2 || r.Total.Decisions != 1002 ||
			x.servers.members()[0].Decisions() != 1000 || x.clients.members()[0].Decisions() != 1002 {
			t.Errorf("%d decisions, %+v", r.Total.Decisions, in)
		}
		if got := inputText(r); !strings.Contains(got, " 1,002 decisions") || !strings.Contains(got, " Left out: 500 repeats.") || !strings.Contains(got, ": 2 decisions.") {
			t.Error(got)
		}
		groups := regexp.MustCompile(`(?s)"groups":.*"slowest"`)
		if got, want := groups.FindString(outputs(t, x)["JSON"]), groups.FindString(want["JSON"]); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		o.Inputs = []string{write(t, filepath.Join(t.TempDir(), "log"), log)}
		if n := len(eachOf(t, o)); n != 1002 {
			t.Errorf("Each gets %d decisions", n)
		}
	}
}

// Beyond the limit, the numbers are estimates.
func TestRepeatsBeyondLimit(t *testing.T) {
	before := repeats.MaxKeys
	defer func() { repeats.MaxKeys = before }()
	repeats.MaxKeys = 4096
	log := eventsOf(0, 40_000)
	for _, unique := range []bool{false, true} {
		o := Options{Unique: unique}
		r := readLog(t, log, o).Report()
		if in := r.Inputs.Repeats; in.Sample <= int64(repeats.MaxKeys/4) || in.Sample > int64(repeats.MaxKeys) || findingOf(r, "ids_repeated").Text != "" {
			t.Errorf("without repeats: %+v", in)
		}
		r = readLog(t, log+eventsOf(10_000, 30_000), o).Report()
		in := r.Inputs.Repeats
		if all := in.Count + in.LeftOut; in.Sample == 0 || all < 18_000 || all > 22_000 || (in.LeftOut > 0) != unique || in.Count < 10_000 {
			t.Errorf("unique %v: %+v", unique, in)
		}
		if f := findingOf(r, "ids_repeated").Text; !strings.Contains(f, "repeats (estimated from") || strings.Contains(f, "were left out") != unique {
			t.Error(f)
		}
	}
	// A sample in which all decisions are twice says so exactly.
	if in := readLog(t, log+log+strings.Repeat(`{"path":"a","labels":{},"metrics":{}}`+"\n", 9999), Options{}).Report().Inputs.Repeats; in.Count != 40_000 {
		t.Errorf("each twice: %+v", in)
	}
}
