// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/regometer/regometer/internal/app/samplelog"
)

var start = time.Date(2026, 3, 4, 23, 59, 58, 0, time.UTC)

// write returns a log, and the truth about it.
func write(t *testing.T, o samplelog.Options) (string, *samplelog.Truth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := samplelog.Write(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	if truth.Inputs.Bytes != int64(b.Len()) {
		t.Errorf("the truth tells of %d bytes, %d were written", truth.Inputs.Bytes, b.Len())
	}
	return b.String(), truth
}

// arrays are the containers without other lines.
var arrays = []string{"upload", "pretty"}

// everything are options that leave nothing out.
func everything(container string) samplelog.Options {
	o := samplelog.Options{
		Decisions: 3000, Seed: 7, Start: start, Rate: 20, Drift: 0.2, Container: container, Paths: 14, BadShare: 0.1,
		Labels: map[string][]string{"team": {"blue", "<red>"}, "app": {"authz"}},
		Bundles: []samplelog.Bundle{
			{Name: "authz", Revision: "a1", NewRevision: "a2", ChangeAt: start.Add(20 * time.Second)},
			{Name: "aaa", Revision: "b&1"},
		},
		Regression: &samplelog.Regression{At: start.Add(30 * time.Second), Stage: "rego_query_eval", Factor: 3},
		File:       "sample.log",
	}
	if !slices.Contains(arrays, container) {
		o.OtherLines = 0.2
	}
	return o
}

// compare fails unless the log says what the truth does.
func compare(t *testing.T, o samplelog.Options, text string, truth *samplelog.Truth) {
	t.Helper()
	got := readLog(t, o.Container, o.File, text)
	got.Inputs.Bytes = truth.Inputs.Bytes
	if g, w := indent(t, got), indent(t, truth); g != w {
		gotLines, wantLines := strings.Split(g, "\n"), strings.Split(w, "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Fatalf("line %d of the truth:\nin the log  %s\nas written %s", i+1, gotLines[i], wantLines[i])
			}
		}
		t.Fatalf("the log has %d lines of truth, want %d", len(gotLines), len(wantLines))
	}
}

func indent(t *testing.T, value any) string {
	t.Helper()
	b, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTruth(t *testing.T) {
	t.Parallel()
	for _, container := range samplelog.Containers() {
		t.Run(container, func(t *testing.T) {
			t.Parallel()
			o := everything(container)
			text, truth := write(t, o)
			compare(t, o, text, truth)
			if truth.Inputs.Decisions != o.Decisions {
				t.Errorf("%d decisions, want %d", truth.Inputs.Decisions, o.Decisions)
			}
			if len(truth.Groups) != o.Paths {
				t.Errorf("%d groups, want %d", len(truth.Groups), o.Paths)
			}

			large := everything(container)
			large.Decisions, large.Size, large.EventBytes = 0, 1<<20, 20_000
			text, truth = write(t, large)
			compare(t, large, text, truth)
			if len(text) < 1<<20 || len(text) > 3<<19 {
				t.Errorf("%d bytes, want little more than %d", len(text), 1<<20)
			}
			if each := int64(len(text)) / truth.Inputs.Decisions; each < 16_000 || each > 40_000 { // some wrap or indent it
				t.Errorf("%d bytes an event, want about 20,000", each)
			}
		})
	}
}

// TestProblems: a log has all the problems that its container can have.
func TestProblems(t *testing.T) {
	t.Parallel()
	common := []string{"bad_metric", "bad_timestamp", "duplicate_key", "negative_metric", "no_metrics"}
	all := append([]string{"invalid_json", "invalid_utf8"}, common...)
	noUTF8 := append([]string{"invalid_json"}, common...)
	notCut := append([]string{"invalid_utf8"}, common...)
	for _, container := range samplelog.Containers() {
		want := all
		switch container {
		case "docker", "fluentbit-message":
			want = noUTF8
		case "upload", "pretty", "pretty-lines":
			want = notCut
		}
		_, truth := write(t, everything(container))
		var kinds []string
		bad := int64(0)
		for _, p := range truth.Inputs.Problems {
			kinds = append(kinds, p.Kind)
			bad += p.Count
		}
		slices.Sort(want)
		if !slices.Equal(kinds, want) {
			t.Errorf("%s: problems %v, want %v", container, kinds, want)
		}
		if bad < 250 || bad > 380 {
			t.Errorf("%s: %d of 3,000 are bad, want about 10 %%", container, bad)
		}
		if others := truth.Inputs.OtherLines; !slices.Contains(arrays, container) && (others < 600 || others > 900) {
			t.Errorf("%s: %d other lines, want about 20 %% of all", container, others)
		}
	}
}

// TestSameDecisions: what is in a log does not depend on its container.
func TestSameDecisions(t *testing.T) {
	t.Parallel()
	var first *samplelog.Truth
	for _, container := range samplelog.Containers() {
		o := everything(container)
		o.BadShare = 0
		_, truth := write(t, o)
		if first == nil {
			first = truth
		}
		if !reflect.DeepEqual(truth.Groups, first.Groups) || !truth.From.Equal(*first.From) || !truth.To.Equal(*first.To) {
			t.Errorf("%s holds other decisions than %s", container, samplelog.Containers()[0])
		}
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	for _, container := range []string{"ndjson", "upload"} {
		o := everything(container)
		plain, want := write(t, o)
		for _, compression := range []string{"gzip", "zstd"} {
			o.Compression = compression
			packed, truth := write(t, o)
			var text []byte
			var err error
			switch compression {
			case "gzip":
				text, err = gunzip(packed)
			case "zstd":
				var d *zstd.Decoder
				if d, err = zstd.NewReader(strings.NewReader(packed)); err == nil {
					text, err = io.ReadAll(d)
					d.Close()
				}
			}
			if err != nil || string(text) != plain {
				t.Errorf("%s, %s: another text, or error %v", container, compression, err)
			}
			truth.Inputs.Bytes = want.Inputs.Bytes
			if !reflect.DeepEqual(truth, want) {
				t.Errorf("%s, %s: another truth", container, compression)
			}
		}
	}
}

func gunzip(packed string) ([]byte, error) {
	r, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// TestUploadMembers: each member of a gzip file of uploads is a whole array.
func TestUploadMembers(t *testing.T) {
	t.Parallel()
	o := everything("upload")
	o.Compression = "gzip"
	packed, truth := write(t, o)
	in := strings.NewReader(packed)
	r, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	members, events := 0, 0
	for {
		r.Multistream(false)
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		var array []json.RawMessage
		if err := json.Unmarshal(text, &array); err != nil {
			t.Fatalf("member %d: %v", members, err)
		}
		members, events = members+1, events+len(array)
		if err := r.Reset(in); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if members < 3 || int64(events) != truth.Inputs.Decisions {
		t.Errorf("%d members with %d events, want several with %d", members, events, truth.Inputs.Decisions)
	}
}

// TestRegression: the stage of the path becomes slower, and what contains it,
// but nothing else.
func TestRegression(t *testing.T) {
	t.Parallel()
	o := samplelog.Options{Decisions: 20_000, Seed: 3, Start: start, Rate: 100, Container: "ndjson"}
	at := start.Add(100 * time.Second)
	o.Regression = &samplelog.Regression{At: at, Path: "rbac/allow", Stage: "rego_query_eval", Factor: 4}
	text, _ := write(t, o)
	durations := map[string][]int64{}
	for _, p := range unwrap(t, "ndjson", text) {
		e := eventOf(t, p.text)
		for stage, value := range e.timers {
			key := fmt.Sprint(e.path, " ", stage, " ", e.time.Before(at))
			durations[key] = append(durations[key], value)
		}
	}
	median := func(path, stage string, before bool) float64 {
		values := durations[fmt.Sprint(path, " ", stage, " ", before)]
		slices.Sort(values)
		return float64(values[len(values)/2])
	}
	for _, test := range []struct {
		path, stage string
		low, high   float64
	}{
		{"rbac/allow", "rego_query_eval", 3.6, 4.4},
		{"rbac/allow", "server_handler", 1.5, 3},
		{"rbac/allow", "rego_input_parse", 0.9, 1.1},
		{"httpapi/authz/allow", "rego_query_eval", 0.9, 1.1},
	} {
		ratio := median(test.path, test.stage, false) / median(test.path, test.stage, true)
		if ratio < test.low || ratio > test.high {
			t.Errorf("%s of %s takes %.2f times as long, want %v to %v", test.stage, test.path, ratio, test.low, test.high)
		}
	}
}

// TestBundles: the revision changes when it should, and labels are there.
func TestBundles(t *testing.T) {
	t.Parallel()
	o := everything("ndjson")
	o.BadShare, o.OtherLines = 0, 0
	text, _ := write(t, o)
	teams := map[string]int{}
	for _, p := range unwrap(t, "ndjson", text) {
		var e struct {
			Labels    map[string]string
			Timestamp time.Time
			Bundles   map[string]struct{ Revision string }
		}
		decode(t, p.text, &e)
		teams[e.Labels["team"]]++
		want := "a1"
		if !e.Timestamp.Before(o.Bundles[0].ChangeAt) {
			want = "a2"
		}
		if got := e.Bundles["authz"].Revision; got != want || e.Bundles["aaa"].Revision != "b&1" {
			t.Fatalf("at %v: bundles %v, want revision %s", e.Timestamp, e.Bundles, want)
		}
	}
	if len(teams) != 2 || teams["blue"] < teams["<red>"] { // of three servers two are blue
		t.Errorf("teams %v", teams)
	}

	o.Bundles = []samplelog.Bundle{{Revision: "old"}}
	text, _ = write(t, o)
	if n := strings.Count(text, `,"revision":"old",`); n != int(o.Decisions) {
		t.Errorf("%d events have the revision, want %d", n, o.Decisions)
	}
}

// TestTimes: on average the rate is kept, and times ascend.
func TestTimes(t *testing.T) {
	t.Parallel()
	_, truth := write(t, samplelog.Options{Decisions: 100_000, Start: start, Rate: 50})
	if !truth.From.After(start) || truth.From.After(start.Add(time.Minute)) {
		t.Errorf("the first decision is at %v", truth.From)
	}
	if rate := 100_000 / truth.To.Sub(*truth.From).Seconds(); rate < 35 || rate > 70 {
		t.Errorf("%.1f decisions a second, want about 50", rate)
	}
}

func TestManyPaths(t *testing.T) {
	t.Parallel()
	names := samplelog.PathNames(5000)
	slices.Sort(names)
	if len(slices.Compact(names)) != 5000 {
		t.Error("names of paths are not different")
	}
	o := samplelog.Options{Decisions: 8000, Paths: 100_000, Container: "ndjson"}
	text, truth := write(t, o)
	compare(t, o, text, truth)
	if len(truth.Groups) < 3000 {
		t.Errorf("%d paths have decisions, want thousands", len(truth.Groups))
	}
}

// failingWriter fails after so many bytes.
type failingWriter int

func (f *failingWriter) Write(p []byte) (int, error) {
	if *f -= failingWriter(len(p)); *f < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"none", "gzip", "zstd"} {
		f := failingWriter(100_000)
		_, err := samplelog.Write(&f, samplelog.Options{Size: 10 << 20, Compression: compression})
		if err == nil {
			t.Errorf("%s: no error", compression)
		}
	}
}
