// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/internal/logread"
)

// lower lowers a limit until the test ends.
func lower(t *testing.T, limit *int, to int) {
	usual := *limit
	*limit = to
	t.Cleanup(func() { *limit = usual })
}

// logged is a decision of a log, and the duration of its evaluation.
type logged struct {
	id, path string
	took     int64
	size     int
}

func sampled(all []logged) []*decision {
	s := newSample()
	for _, x := range all {
		e := &logread.Event{DecisionID: []byte(x.id), Path: []byte(x.path), Input: make([]byte, x.size)}
		s.add(e, x.took, func() *decision { return newDecision(e, x.took, nil) })
	}
	return s.decisions()
}

// A sample stands for all decisions, keeps the slowest and rare paths, and does
// not depend on the order.
func TestSample(t *testing.T) {
	lower(t, &sampleSize, 500)
	rng := rand.New(rand.NewPCG(1, 2))
	var all []logged
	total := map[string]float64{}
	for i := range 20_000 {
		x := logged{id: fmt.Sprint(i), path: "usual", took: int64(40_000 * math.Exp(rng.NormFloat64()))}
		if i%100 == 0 {
			x.path = "other"
		}
		all, total[x.path] = append(all, x), total[x.path]+float64(x.took)
	}
	all[7].took, all[8].path = 1e9, "rare"
	total["usual"] += 1e9
	var ids []string
	for range 3 {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		kept := sampled(all)
		got, decisions := map[string]float64{}, 0.0
		var now []string
		for _, d := range kept {
			got[string(d.Path)] += d.Of * float64(d.took)
			decisions += d.Of
			now = append(now, string(d.DecisionID))
		}
		if ids == nil {
			ids = now
		}
		if !slices.Equal(ids, now) || len(now) > sampleSize || len(now) < sampleSize/2 || !slices.Contains(now, "7") || !slices.Contains(now, "8") {
			t.Fatalf("a sample of %d decisions differs, or lacks one", len(now))
		}
		if math.Abs(decisions-20_000) > 1e-6 {
			t.Errorf("the decisions stand for %v", decisions)
		}
		for _, path := range []string{"usual", "other"} {
			if got := got[path] / total[path]; math.Abs(got-1) > 0.1 {
				t.Errorf("the decisions of %s take %.2f times as long", path, got)
			}
		}
	}
}

// Thresholds limit the decisions of the log, and not those of the sample, and
// times are those of all decisions.
func TestSampleThresholds(t *testing.T) {
	lower(t, &sampleSize, 50)
	var log strings.Builder
	for i := range 1000 {
		log.WriteString(event(i, "p/usual", `"revision":"r1","input":{"user":"x"},"result":true`))
		if i < 200 {
			log.WriteString(event(i, "p/allow", `"input":{"user":"x"},"result":false`))
		}
	}
	o := Options{Policy: loaded(lay(t, ".manifest", `{"revision": "r2"}`, "p.rego", usual+"usual if input.user\n"))}
	o.Thresholds = thresholds("changed>16.6%", "changed>17%", "changed>199", "changed>200", "denied-to-allowed>199")
	var failed []string
	r := replayed(t, log.String(), o)
	for _, c := range r.Checks(nil) {
		if c.Failed {
			failed = append(failed, c.Name+": "+c.Texts[0])
		}
	}
	want := []string{"changed>16.6%: 200 of 1,200 decisions (estimated from the sample)", "changed>199: 200 of 1,200 decisions (estimated from the sample)",
		"denied-to-allowed>199: 200 of 1,200 decisions (estimated from the sample)"}
	if !slices.Equal(failed, want) {
		t.Errorf("exceeded are %q, want %q", failed, want)
	}
	// What is not estimated is said to be that of the sample.
	var b bytes.Buffer
	all := r.Checks(nil)
	noError(output.Write(&b, r, output.Options{Width: 200}), output.WriteGitHub(&b, all[len(all)-1:]))
	for _, part := range []string{"Results in the sample\n", "of the decisions in the sample.", "denied-to-allowed in the sample, such as", "no evaluation in the sample reached"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%s is missing in\n%s", part, b.String())
		}
	}
	lines := 0.0
	for _, l := range r.Profile.Lines {
		lines += l.Time
	}
	if all := r.Profile.Time; math.Abs(lines/all-1) > 0.02 || r.Decisions > 50 {
		t.Errorf("the lines take %v of %v in %d decisions", lines, all, r.Decisions)
	}
}

// Large decisions make a sample smaller, also if a layer has no more than one.
func TestSampleBytes(t *testing.T) {
	lower(t, &sampleBytes, 1<<20)
	var all []logged
	for i := range 2000 {
		all = append(all, logged{id: fmt.Sprint(i), path: "p", size: 10_000}, logged{id: fmt.Sprint("small", i), path: fmt.Sprint("p", i), size: 10})
	}
	for range 100 {
		all = append(all, logged{id: "huge", path: "huge", size: 1 << 20})
	}
	size, kept := 0, sampled(all)
	for _, d := range kept {
		size += d.size
	}
	if size > sampleBytes || len(kept) < 200 {
		t.Errorf("%d decisions take %d bytes", len(kept), size)
	}
}
