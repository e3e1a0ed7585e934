// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
)

// savedJSON returns the JSON of a saved report.
func savedJSON(t testing.TB, x *Data) string {
	t.Helper()
	return written(t, x.writeJSON)
}

// packed returns a saved report with this JSON.
func packed(text string) []byte {
	return append([]byte(savedMagic+savedVersion+"\n"), zstandard(text)...)
}

// saveAndLoad returns x as it is after it was saved and loaded.
func saveAndLoad(t *testing.T, x *Data) *Data {
	t.Helper()
	x, err := load(strings.NewReader(written(t, x.Save)))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// save saves a report into a file.
func save(t *testing.T, x *Data, file string) string {
	t.Helper()
	return write(t, file, written(t, x.Save))
}

// A report that was interrupted says so after it was saved and merged.
func TestInterruptedIsSaved(t *testing.T) {
	t.Parallel()
	part := readLog(t, eventLine, Options{})
	part.interrupted = true
	for _, order := range [][2]*Data{{part, readLog(t, eventLine, Options{})}, {readLog(t, eventLine, Options{}), part}} {
		x := saveAndLoad(t, order[0])
		if err := x.Merge(saveAndLoad(t, order[1])); err != nil || !x.Report().Interrupted {
			t.Errorf("%v: it does not say that it was interrupted", err)
		}
	}
}

// The JSON of a saved report with one decision, by its parts.
const (
	tableJSON = `"width":120000000000,"overflow":0}`
	small     = `{"by":"path","inputs":{"files":1,"bytes":2,"decisions":3,"other_lines":4,"problems":[],` +
		`"repeats":{"count":0,"left_out":0,"reused_ids":0,"sample":0,"without_id":0},` +
		`"gaps":{"without_time":0,"without_duration":0,"with_unreadable_metric":0,"with_hidden_result":0,"with_a_gap":0,"not_selected_without_time":0}},` +
		`"sample_limit":4503599627370496,"tables":[{"table":"groups",` + tableJSON + `,{"table":"revisions",` + tableJSON + "]}\n" + sliceJSON + "\n"
	sliceJSON = `{"table":"groups","key":"k","from":-20,"to":-19,"errors":[{"code":"internal_error","count":1}],"begin":-120000000000,"outcomes":[1,0,0,0,0,0],` +
		`"stages":[` + stageJSON + `],"counters":[{"counter":"c","total":340282366920938463463}]}`
	stageJSON = `{"stage":"rego_query_eval","durations":{"min":1000000000,"max":1000000000,"sum":1000000000,"buckets":[[0,1]]},"self":1000000000}`
	aKey      = `"//////////+AAAAAAAAAAA=="`
)

// TestKeysBounded: more decision ids than a report has are refused.
func TestKeysBounded(t *testing.T) {
	before := repeats.MaxKeys
	defer func() { repeats.MaxKeys = before }()
	repeats.MaxKeys = 0
	_, err := load(bytes.NewReader(packed(strings.Replace(small, `,"tables"`, `,"ids":{"level":0,"list":[`+aKey+`]},"tables"`, 1))))
	if err == nil || !strings.Contains(err.Error(), "more than 0") {
		t.Error(err)
	}
}

// TestLoadErrors: damaged files and invalid content give an error that names
// the file and describes the fault.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	loadFile := func(name string, content []byte) error {
		file := write(t, filepath.Join(folder, "x.rgm"), string(content))
		_, err := Load(file)
		if err != nil && !strings.Contains(err.Error(), file) {
			t.Errorf("%s: the error %q does not name the file", name, err)
		}
		return err
	}
	good := packed(small)
	if err := loadFile("good", good); err != nil {
		t.Fatal(err)
	}
	if err := loadFile("with spaces", packed(strings.ReplaceAll(small, ",", " ,\n "))); err != nil {
		t.Errorf("JSON with spaces: %v", err)
	}
	bomb := packed(strings.Repeat(" ", 2<<20))
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":           {nil, "not a saved report"},
		"a log":           {[]byte(`{"decision_id":"1"}`), "not a saved report"},
		"another version": {[]byte(savedMagic + "21\n"), `has format version "21", but this regometer reads only version 1`},
		"a long version":  {[]byte(savedMagic + strings.Repeat("1", 1<<20)), "has format version"},
		"half":            {good[:len(good)/2], "damaged"},
		"without the end": {good[:len(good)-1], "damaged"},
		"a byte more":     {append(bytes.Clone(good), 0), "damaged"},
		"many spaces":     {bomb, "damaged"},
	} {
		if err := loadFile(name, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"bytes":2`, `"byte":2`, "unknown"},
		{`"files":1`, `"files":1,"files":1`, "duplicate"},
		{`"files":1`, `"files":1e400`, "files"},
		{`"files":1`, `"files":-1`, "2^56"},
		{`"bytes":2`, `"bytes":72057594037927937`, "2^56"},
		{`"by":"path"`, `"by":"x"`, "unknown grouping"},
		{`"by":"path"`, "\"by\":\"\xff\"", "UTF-8"},
		{`"by":"path"`, `"by":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "damaged"},
		{`"from":-20`, `"from":7`, "times of group"},
		{`{"table":"groups",`, `{"table":"paths",`, "other tables"},
		{`"tables":[{"table":"groups",` + tableJSON + `,{"table":"revisions",` + tableJSON, `"tables":[`, "other tables"},
		{`"table":"groups","key"`, `"table":"whole","key"`, `no table "whole"`},
		{`,"tables"`, `,"servers":{"list":[{"name":"b","from":0,"to":1},{"name":"a","from":0,"to":1}]},"tables"`, "not in order"},
		{`,"tables"`, `,"clients":{"list":[{"name":"b","from":1,"to":0}]},"tables"`, "of a server or client"},
		{`"problems":[]`, `"problems":7`, "unmarshal JSON number into"},
		{`,"tables"`, `,"ids":{"level":65,"list":[]},"tables"`, "from 0 to 64"},
		{`,"tables"`, `,"ids":{"level":0,"list":["MTIz"]},"tables"`, "damaged"},
		{`,"tables"`, `,"ids":{"level":0,"list":["` + strings.Repeat("A", 20) + `AA=="]},"tables"`, "invalid, or not in order"},
		{`,"tables"`, `,"ids":{"level":0,"list":["` + strings.Repeat("/", 20) + `/w=="]},"tables"`, "invalid, or not in order"}, // its time
		{`,"tables"`, `,"ids":{"level":0,"list":[` + aKey + "," + aKey + `]},"tables"`, "invalid, or not in order"},
		{`,"tables"`, `,"ids":{"level":64,"repeats":[{"count":0,"first":0,"last":0}],"list":[]},"tables"`, "from 0 to 63"},
		{`,"tables"`, `,"ids":{"level":0,"repeats":[{"count":1,"first":1,"last":0}],"list":[]},"tables"`, "1 decisions that repeat"},
		{`,"tables"`, `,"ids":{"without":-1,"level":0,"list":[]},"tables"`, "-1 decisions that"},
		{`,"tables"`, `,"largest":{"count":1,"sizes":{"total":32768,"max":32768}},"tables"`, "largest of 1 events"},
		{`,"tables"`, `,"largest":{"count":0,"sizes":{"total":32769,"max":32769}},"tables"`, "largest of 0 events"},
		{`,"tables"`, `,"largest":{"count":1,"sizes":{"total":32769,"max":32770}},"tables"`, "largest of 1 events"},
		{`,"tables"`, `,"largest":{"count":72057594037927937,"sizes":{"total":32769,"max":1}},"tables"`, "largest of 72057594037927937"},
		{`,"begin"`, `,"sizes":{"total":1,"max":2},"begin"`, "can have these sizes"},
		{`,"begin"`, `,"sizes":{"total":1,"max":1,"result":2},"begin"`, "can have these sizes"},
		{`,"begin"`, `,"sizes":{"total":1},"begin"`, "can have these sizes"},
		{`"width":120000000000`, `"width":180000000000`, "doubled"},
		{`"width":120000000000`, `"width":-9223372036854775808`, "doubled"},
		{sliceJSON, `[]`, "damaged"},
		{`"key":"k"`, `"key":""`, "invalid name"},
		{`"key":"k"`, `"key":"` + strings.Repeat("k", 1025) + `"`, "invalid name"},
		{`"begin":-120000000000`, `"begin":-10`, "no slice of time begins at -10"},
		{`[1,0,0,0,0,0]`, `[0,0,0,0,0,0]`, "no decisions"},
		{`[1,0,0,0,0,0]`, `[1,0,0,0,0]`, "damaged"},
		{`[1,0,0,0,0,0]`, `[18446744073709551615,1,0,0,0,0]`, "too large"},
		{`[1,0,0,0,0,0]`, `[18446744073709551616,1,0,0,0,0]`, "range"},
		{`[1,0,0,0,0,0]`, `[1.5,0,0,0,0,0]`, "1.5"},
		{`"count":1}],"begin"`, `"count":0}],"begin"`, "no decisions"},
		{`"stage":"rego_query_eval",`, ``, "invalid name"},
		{`"self":1000000000`, `"self":1000000001`, "less time"},
		{`"sum":1000000000`, `"sum":1000000001`, "sum"},
		{`"sum":1000000000`, `"sum":1e9`, "invalid sum"},
		{`"sum":1000000000`, `"sum":340282366920938463463374607431768211456`, "invalid sum"},
		{`[0,1]`, `[0,0]`, "have counts"},
		{`[0,1]`, `[0,1.0]`, "invalid syntax"},
		{`[0,1]`, `[0]`, "damaged"},
		{`[0,1]`, `[0,1],[0,1]`, "ascend"},
		{`[0,1]`, `[0,1],[2048,1]`, "within 2048"},
		{`[0,1]`, `[1,1]`, "smallest"},
		{`[0,1]`, `[0,18446744073709551615]`, "out of range"},
		{`[0,1]`, `7`, "unmarshal JSON number into"},
		{`340282366920938463463}`, `0}`, "is 0"},
		{`340282366920938463463}`, `170141183460469231731687303715884105728}`, "too large"},
		{`"overflow":0`, `"overflow":9223372036854775808`, "too large"},
		{`:4503599627370496`, `:4503599627370497`, "2^52"},
		{`"with_a_gap":0`, `"with_a_gap":-1`, "a total of the inputs is -1"},
		{`:4503599627370496`, `:9,"names":["a"],"sample":[[9,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0]]`, "decision of the sample"},
		{`:4503599627370496`, `:9,"names":["a"],"sample":[[8,1,0,6,0,0,0,0,0,0,0,0,0,0,0,0]]`, "decision of the sample"},
		{`:4503599627370496`, `:9,"names":["a"],"sample":[[8,1,0,0,0,0,0,0,0,0,0,0,0,0,0]]`, "too few"},
		{`:4503599627370496`, `:9,"names":["a"],"sample":[[8,1,0,0,0,0,0,0,0,0,0,0,0,0,0,1]]`, "name of the sample"},
	} {
		changed := strings.Replace(small, c.old, c.new, 1)
		if err := loadFile(c.new, packed(changed)); changed == small || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: error %v, want one with %q", c.new, err, c.want)
		}
	}
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		at := r.IntN(len(good))
		damaged := bytes.Clone(good)
		damaged[at] ^= byte(1 + r.IntN(255))
		if x, err := load(bytes.NewReader(damaged)); err == nil && savedJSON(t, x) != small {
			t.Fatalf("byte %d of %d is changed, and the report is another one", at, len(good))
		}
	}
	if _, err := Load(folder); err == nil {
		t.Error("a folder is loaded")
	}
	if _, err := Load(filepath.Join(folder, "missing")); err == nil {
		t.Error("a missing file is loaded")
	}
}

// TestLargeCounts: counts near 2^63 are read and written exactly, and two
// reports whose sums could overflow are not merged.
func TestLargeCounts(t *testing.T) {
	t.Parallel()
	load := func(text string) *Data {
		x, err := load(bytes.NewReader(packed(text)))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, c := range []struct{ old, new, want string }{
		{`[1,0,0,0,0,0]`, `[4611686018427387905,0,0,0,0,0]`, "too large"},
		{`340282366920938463463}`, `85070591730234615865843651857942052865}`, "too large"},
		{`"files":1`, `"files":72057594037927936`, "2^56"},
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

// A saved report among logs is a problem that says what reads it.
func TestReadSaved(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	log := write(t, filepath.Join(folder, "log"), eventLine)
	saved := save(t, readLog(t, eventLine, Options{}), filepath.Join(folder, "a.log"))
	if !IsSaved(saved) || IsSaved(log) || IsSaved(saved+".none") {
		t.Error("IsSaved does not tell")
	}
	x := readAll(t, Options{Inputs: []string{folder}})
	if in := x.Report().Inputs; in.Decisions != 1 || len(in.Problems) != 1 || in.Problems[0].Remedy() != saved+" is a saved report, which has no decisions: name the logs, or run regometer merge FILE" {
		t.Errorf("%+v", in)
	}
}

// Whatever the JSON of a file is, loading it fails or gives a report that can
// be used, and that is the same after it was saved and loaded again.
func FuzzLoad(f *testing.F) {
	f.Add(small)
	for seed := range uint64(2) {
		f.Add(savedJSON(f, readLog(f, newLogMaker(seed).log(300), Options{})))
	}
	f.Fuzz(func(t *testing.T, content string) {
		x, err := load(bytes.NewReader(packed(content)))
		if err != nil {
			return
		}
		want := outputs(t, x)
		again, err := load(bytes.NewReader(packed(want["saved"])))
		if err != nil {
			t.Fatal(err)
		}
		requireSame(t, outputs(t, again), want)
		if err := x.Merge(again); err != nil {
			return // the counts are too large for two
		}
		outputs(t, x)
	})
}
