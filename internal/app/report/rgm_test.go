// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/samplelog"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
)

// written returns a report in all written forms.
func written(t testing.TB, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	for _, err := range []error{
		report.WriteJSON(&b, r), report.WriteCSV(&b, r), report.WriteMarkdown(&b, r, 5),
		report.WriteTable(&b, r, text.Options{Width: 120, Top: 0}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func readData(t testing.TB, o report.Options) *report.Data {
	t.Helper()
	x, err := report.Read(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// savedJSON returns the JSON of a saved report.
func savedJSON(t testing.TB, x *report.Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := x.Save(&b); err != nil {
		t.Fatal(err)
	}
	return string(unpacked(t, b.Bytes()))
}

func unpacked(t testing.TB, content []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text, err := d.DecodeAll(content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func packed(t testing.TB, text string) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll([]byte(text), nil)
}

// logs writes logs of different containers into a folder, with bad lines and
// others, a copy of one, and one that is none.
func logs(t testing.TB, r *rand.Rand, n int) (files []string) {
	t.Helper()
	folder := t.TempDir()
	containers := samplelog.Containers()
	r.Shuffle(len(containers), func(i, j int) { containers[i], containers[j] = containers[j], containers[i] })
	for i := range n {
		o := samplelog.Options{
			Decisions: 1 + r.Int64N(1500), Seed: uint64(r.IntN(3)), Container: containers[i%len(containers)],
			Compression: []string{"none", "gzip", "zstd"}[r.IntN(3)], Paths: 1 + r.IntN(40), BadShare: 0.03, OtherLines: 0.03,
			Start: time.Date(2026, 1, 1+r.IntN(2), r.IntN(24), 0, 0, 0, time.UTC), Rate: 5,
			Labels:  map[string][]string{"team": {"a", "b", "c"}},
			Bundles: []samplelog.Bundle{{Name: "authz", Revision: fmt.Sprint("r", r.IntN(3))}},
		}
		if o.Container == "upload" || o.Container == "pretty" {
			o.OtherLines = 0
		}
		var b bytes.Buffer
		if _, err := samplelog.Write(&b, o); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(folder, fmt.Sprint("log", r.IntN(1000), ".", i)))
		if err := os.WriteFile(files[i], b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	copied, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(folder, "copy"), filepath.Join(folder, "none"))
	if err := os.WriteFile(files[n], copied, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[n+1], []byte("some text\nthat is no log\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestMergeIsOneReport: logs that are read separately, saved, and merged in any
// order, also after merging some of them, give the report over all of them, and
// the same JSON, byte for byte.
func TestMergeIsOneReport(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			files := logs(t, r, 2+r.IntN(4))
			o := report.Options{
				By:      []string{"path", "stage", "hour", "label:team", "bundle"}[int(seed)%5],
				Slowest: r.IntN(3) * 10,
			}
			if r.IntN(2) == 0 {
				o.Limits = groupby.Limits{Groups: 1 + r.IntN(20), Slices: 1 + r.IntN(50), Names: 1 + r.IntN(3)}
			}
			o.Inputs = files
			whole := readData(t, o)
			want, wantJSON := written(t, whole.Report()), savedJSON(t, whole)

			folder, n := t.TempDir(), 0
			toFile := func(x *report.Data) string {
				file := filepath.Join(folder, fmt.Sprint(n, ".rgm"))
				n++
				save(t, x, file)
				return file
			}
			var saved []string
			for _, file := range files {
				o.Inputs = []string{file}
				x := readData(t, o)
				before := written(t, x.Report())
				saved = append(saved, toFile(x))
				back, err := report.Load(saved[len(saved)-1])
				if err != nil {
					t.Fatal(err)
				}
				if got := written(t, back.Report()); got != before {
					t.Fatalf("saved and loaded:\n%s\nbefore:\n%s", got, before)
				}
			}
			for range 3 {
				list := append([]string(nil), saved...)
				for len(list) > 1 {
					r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
					some := 2 + r.IntN(len(list)-1)
					x, err := report.LoadAll(list[:some]...)
					if err != nil {
						t.Fatal(err)
					}
					list = append(list[some:], toFile(x))
				}
				x, err := report.Load(list[0])
				if err != nil {
					t.Fatal(err)
				}
				if got := written(t, x.Report()); got != want {
					t.Fatalf("merged:\n%s\nwhole:\n%s", got, want)
				}
				if savedJSON(t, x) != wantJSON {
					t.Fatal("the JSON of the merged reports differs")
				}
				if got, want := fmt.Sprintf("%+v", x.Report().Slowest), fmt.Sprintf("%+v", whole.Report().Slowest); got != want {
					t.Fatalf("slowest of the merged ones\n%s\nof the whole\n%s", got, want)
				}
			}
		})
	}
}

// A file that is named twice, by a link too, is merged once.
func TestLoadAllOnce(t *testing.T) {
	t.Parallel()
	log, _ := sample(t, "log", samplelog.Options{Decisions: 10})
	file := filepath.Join(t.TempDir(), "a.rgm")
	save(t, readData(t, report.Options{Inputs: []string{log}}), file)
	link := file + ".link"
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	x, err := report.LoadAll(file, link, file)
	if err != nil {
		t.Fatal(err)
	}
	if n := x.Report().Inputs.Decisions; n != 10 {
		t.Errorf("%d decisions, want 10", n)
	}
}

// What was interrupted says so after it was saved and merged.
func TestInterruptedIsSaved(t *testing.T) {
	t.Parallel()
	log, _ := sample(t, "log", samplelog.Options{Decisions: 10})
	o := report.Options{Inputs: []string{log}}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	part, err := report.Read(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	a, b := filepath.Join(folder, "a.rgm"), filepath.Join(folder, "b.rgm")
	save(t, part, a)
	save(t, readData(t, o), b)
	for _, order := range [][]string{{a, b}, {b, a}} {
		x, err := report.LoadAll(order...)
		if err != nil {
			t.Fatal(err)
		}
		if !x.Report().Interrupted {
			t.Errorf("%v: it does not say that it was interrupted", order)
		}
	}
}

func TestMergeErrors(t *testing.T) {
	t.Parallel()
	log, _ := sample(t, "log", samplelog.Options{Decisions: 10})
	for want, other := range map[string]report.Options{
		"the other by hour":       {By: "hour"},
		"the other the 5":         {Slowest: 5},
		"have other limits":       {Limits: groupby.Limits{Groups: 7}},
		"other limits: make both": {Limits: groupby.Limits{Width: 7}},
	} {
		other.Inputs = []string{log}
		err := readData(t, report.Options{Inputs: []string{log}}).Merge(readData(t, other))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := report.LoadAll(); err == nil {
		t.Error("nothing is loaded")
	}
}

// The JSON of a saved report with one decision, by its parts.
const (
	beforeGroups = `{"regometer_report":2,"by":"path","slowest_limit":1,"files":1,"bytes":2,"decisions":3,"other_lines":4,"from":5,"to":6`
	head         = `{"limits":{"groups":2,"names":1,"width":10,"slices":4,"cells":99},"width":20,"overflow":{"decisions":0,"stages":0,"counters":0}`
	stage        = `{"stage":"rego_query_eval","self":1000000000,"schema":5,"min":1000000000,"max":1000000000,"sum":1000000000,"buckets":[0,1]}`
	slice        = `{"begin":-20,"outcomes":[1,0,0,0,0,0],"stages":[` + stage + `],"counters":[{"counter":"c","total":340282366920938463463}]}`
	group        = `{"key":"k","errors":[{"code":"internal_error","count":1}],"slices":[` + slice + `]}`
	small        = beforeGroups + `,"groups":` + head + `,"list":[` + group + `]},"revisions":` + head + `,"list":[]}}`
)

// TestLoadErrors: damaged files and invalid content give an error that names
// the file and says what is wrong.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	load := func(name string, content []byte) error {
		file := filepath.Join(folder, "x.rgm")
		if err := os.WriteFile(file, content, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := report.Load(file)
		if err != nil && !strings.Contains(err.Error(), file) {
			t.Errorf("%s: the error %q does not name the file", name, err)
		}
		return err
	}
	good := packed(t, small)
	if err := load("good", good); err != nil {
		t.Fatal(err)
	}
	if err := load("with spaces", packed(t, strings.ReplaceAll(small, ",", " ,\n "))); err != nil {
		t.Errorf("JSON with spaces: %v", err)
	}
	bomb := packed(t, `{"regometer_report":`+strings.Repeat(" ", 2<<20))
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":            {nil, "not a saved report"},
		"a log":            {[]byte(`{"decision_id":"1"}`), "not a saved report"},
		"a log in zstd":    {packed(t, `{"decision_id":"1"}`), "not a saved report"},
		"an older release": {[]byte("\x89RGM\r\n\x1a\n\x01\x01"), "older regometer: run report --save again"},
		"half":             {good[:len(good)/2], "damaged"},
		"without the end":  {good[:len(good)-1], "damaged"},
		"a byte more":      {append(bytes.Clone(good), 0), "damaged"},
		"many spaces":      {bomb, "damaged"},
	} {
		if err := load(name, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`report":2`, `report":3`, "has format version 3, and this regometer reads only version 2"},
		{`report":2`, `report":2.5`, "damaged"},
		{`}]},"revisions"`, `}]},"revision"`, "unknown"},
		{`"files":1`, `"files":1,"files":1`, "duplicate"},
		{`"files":1`, `"files":1e400`, "files"},
		{`"files":1`, `"files":-1`, "2^56"},
		{`"bytes":2`, `"bytes":72057594037927937`, "2^56"},
		{`"by":"path"`, `"by":"x"`, "unknown grouping"},
		{`"by":"path"`, "\"by\":\"\xff\"", "UTF-8"},
		{`"by":"path"`, `"by":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "damaged"},
		{`limit":1`, `limit":1000001`, "from 0 to 1000000"},
		{`"from":5`, `"from":7`, "first and its last time"},
		{`,"groups"`, `,"problems":[{"kind":"b","count":1,"first":[]},{"kind":"a","count":1,"first":[]}],"groups"`, "not in order"},
		{`,"groups"`, `,"problems":[{"kind":"b","count":1,"first":[{},{},{},{},{},{}]}],"groups"`, "more than 5"},
		{`,"groups"`, `,"ids":[{"hash":"0000000000000001","count":1}],"groups"`, "too large"},
		{`,"groups"`, `,"id_shift":8,"ids":[{"hash":"0100000000000000","count":1}],"groups"`, "not one of the sample"},
		{`,"groups"`, `,"id_shift":8,"ids":[{"hash":"1","count":1}],"groups"`, "16 digits"},
		{`,"groups"`, `,"id_shift":8,"ids":[{"hash":"0000000000000001","count":4294967296}],"groups"`, "range"},
		{`,"groups"`, `,"slowest":[{"outcome":"allowed"}],"groups"`, "no stages"},
		{`,"groups"`, `,"slowest":[{"outcome":"x","stages":[{"stage":"s","took":1}]}],"groups"`, "unknown outcome"},
		{`,"groups"`, `,"slowest":[{"outcome":"error","stages":[{"stage":"s","took":-1}]}],"groups"`, "took -1"},
		{`,"groups"`, `,"slowest":[{"outcome":"error","stages":[{"stage":"s","took":1}]},{"outcome":"error","stages":[{"stage":"s","took":1}]}],"groups"`, "at most 1"},
		{head + `,"list":[` + group + `]}`, `{"list":[]}`, "width of the slices"},
		{head + `,"list":[` + group + `]}`, head + `}`, "no groups"},
		{`"groups":2`, `"groups":-2`, "limits: Groups is -2"},
		{`"width":20`, `"width":30`, "doubled"},
		{`"width":20`, `"width":-9223372036854775808`, "doubled"},
		{group, group + "," + group, "not in order"},
		{group, `[]`, "damaged"},
		{`"key":"k",`, ``, "invalid name"},
		{`"key":"k"`, `"key":"` + strings.Repeat("k", 1025) + `"`, "invalid name"},
		{`"slices":[` + slice + `]`, `"slices":[]`, "no decisions"},
		{`,"slices":[` + slice + `]`, ``, "no slices"},
		{slice, slice + "," + slice, "do not ascend"},
		{`"begin":-20`, `"begin":-10`, "no slice of time begins at -10"},
		{`[1,0,0,0,0,0]`, `[0,0,0,0,0,0]`, "no decisions"},
		{`[1,0,0,0,0,0]`, `[1,0,0,0,0]`, "damaged"},
		{`[1,0,0,0,0,0]`, `[18446744073709551615,1,0,0,0,0]`, "too large"},
		{`[1,0,0,0,0,0]`, `[18446744073709551616,1,0,0,0,0]`, "range"},
		{`[1,0,0,0,0,0]`, `[1.5,0,0,0,0,0]`, "1.5"},
		{`"count":1}],"slices"`, `"count":0}],"slices"`, "no decisions"},
		{`"count":1}],"slices"`, `"count":1},{"code":"a","count":1}],"slices"`, "not in order"},
		{stage, stage + "," + stage, "order of their names"},
		{`"stage":"rego_query_eval",`, ``, "invalid name"},
		{`"schema":5`, `"schema":4`, "it must be 5"},
		{`"self":1000000000`, `"self":1000000001`, "less time"},
		{`"sum":1000000000`, `"sum":1000000001`, "sum"},
		{`"sum":1000000000`, `"sum":1e9`, "invalid sum"},
		{`"sum":1000000000`, `"sum":340282366920938463463374607431768211456`, "invalid sum"},
		{`[0,1]`, `[0,0]`, "invalid count"},
		{`[0,1]`, `[0,1.0]`, "invalid count"},
		{`[0,1]`, `[0]`, "damaged"},
		{`[0,1]`, `[0,1,0,1]`, "ascend"},
		{`[0,1]`, `[0,1,640,1]`, "within 640"},
		{`[0,1]`, `[1,1]`, "smallest"},
		{`[0,1]`, `[0,18446744073709551615]`, "sum"},
		{`[0,1]`, `7`, "in brackets"},
		{`340282366920938463463}`, `0}`, "is 0"},
		{`340282366920938463463}`, `170141183460469231731687303715884105728}`, "too large"},
		{`"decisions":0`, `"decisions":9223372036854775808`, "too large"},
	} {
		changed := strings.Replace(small, c.old, c.new, 1)
		if err := load(c.new, packed(t, changed)); changed == small || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: error %v, want one with %q", c.new, err, c.want)
		}
	}
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		at := r.IntN(len(good))
		damaged := bytes.Clone(good)
		damaged[at] ^= byte(1 + r.IntN(255))
		file := filepath.Join(folder, "damaged.rgm")
		if err := os.WriteFile(file, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		if x, err := report.Load(file); err == nil && savedJSON(t, x) != small {
			t.Fatalf("byte %d of %d is changed, and the report is another one", at, len(good))
		}
	}
	if _, err := report.Load(folder); err == nil {
		t.Error("a folder is loaded")
	}
	if _, err := report.Load(filepath.Join(folder, "missing")); err == nil {
		t.Error("a missing file is loaded")
	}
}

// TestLargeCounts: counts near 2^63 are read and written exactly, and two
// reports whose sums could overflow are not merged.
func TestLargeCounts(t *testing.T) {
	t.Parallel()
	load := func(text string) *report.Data {
		file := filepath.Join(t.TempDir(), "x.rgm")
		if err := os.WriteFile(file, packed(t, text), 0o666); err != nil {
			t.Fatal(err)
		}
		x, err := report.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, c := range []struct{ old, new, want string }{
		{`[1,0,0,0,0,0]`, `[4611686018427387905,0,0,0,0,0]`, "too large"},
		{`340282366920938463463}`, `85070591730234615865843651857942052865}`, "too large"},
		{`"files":1`, `"files":72057594037927936`, "2^56"},
		{`,"groups"`, `,"id_shift":8,"ids":[{"hash":"0000000000000001","count":4294967295}],"groups"`, "too often"},
	} {
		changed := strings.Replace(small, c.old, c.new, 1)
		x := load(changed)
		if got := savedJSON(t, x); got != changed {
			t.Errorf("got\n%s\nwant\n%s", got, changed)
		}
		if err := x.Merge(load(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.new, err, c.want)
		}
	}
}

// A saved report among logs is an error that says what reads it.
func TestReadSaved(t *testing.T) {
	t.Parallel()
	log, _ := sample(t, "log", samplelog.Options{Decisions: 10})
	saved := filepath.Join(filepath.Dir(log), "a.log")
	save(t, readData(t, report.Options{Inputs: []string{log}}), saved)
	if !report.IsSaved(saved) || report.IsSaved(log) || report.IsSaved(saved+".none") {
		t.Error("IsSaved does not tell")
	}
	for _, inputs := range [][]string{{saved}, {log, saved}, {filepath.Dir(log)}} {
		_, err := report.Read(context.Background(), report.Options{Inputs: inputs})
		if err == nil || !strings.Contains(err.Error(), saved) || !strings.Contains(err.Error(), "regometer merge") {
			t.Errorf("%v: error %v", inputs, err)
		}
	}
}

// save saves a report into a file.
func save(t *testing.T, x *report.Data, file string) {
	t.Helper()
	var b bytes.Buffer
	if err := x.Save(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzLoad: whatever the JSON of a file, loading it fails or gives a report
// that can be used, and that is the same after it was saved and loaded again.
func FuzzLoad(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 9))
	f.Add(small)
	for i := range 2 {
		f.Add(savedJSON(f, readData(f, report.Options{Inputs: logs(f, r, 1+i), Slowest: 2 * i})))
	}
	file := filepath.Join(f.TempDir(), "fuzz.rgm")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(file, packed(t, content), 0o666); err != nil {
			t.Fatal(err)
		}
		x, err := report.Load(file)
		if err != nil {
			return
		}
		text := written(t, x.Report())
		once := savedJSON(t, x)
		save(t, x, file)
		again, err := report.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if savedJSON(t, again) != once || written(t, again.Report()) != text {
			t.Fatal("it is another one after it was saved")
		}
		if err := x.Merge(again); err != nil {
			return // the counts are too large for two
		}
		written(t, x.Report())
	})
}
