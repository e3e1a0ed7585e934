// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/samplelog"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/rollup"
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

func readRollup(t testing.TB, o report.Options) *report.Data {
	t.Helper()
	x, err := report.Read(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func rollupBinary(t testing.TB, x *report.Data) []byte {
	t.Helper()
	text, err := x.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
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
// the same file, byte for byte.
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
				o.Limits = rollup.GroupLimits{Groups: 1 + r.IntN(20), Slices: 1 + r.IntN(50), Names: 1 + r.IntN(3)}
			}
			o.Inputs = files
			whole := readRollup(t, o)
			want, wantFile := written(t, whole.Report()), rollupBinary(t, whole)

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
				x := readRollup(t, o)
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
				if !bytes.Equal(rollupBinary(t, x), wantFile) {
					t.Fatal("the file of the merged ones differs")
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
	save(t, readRollup(t, report.Options{Inputs: []string{log}}), file)
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
	save(t, readRollup(t, o), b)
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
		"the other by hour":     {By: "hour"},
		"the other the 5":       {Slowest: 5},
		"have other options":    {Limits: rollup.GroupLimits{Groups: 7}},
		"have other options: m": {Limits: rollup.GroupLimits{Width: 7}},
	} {
		other.Inputs = []string{log}
		err := readRollup(t, report.Options{Inputs: []string{log}}).Merge(readRollup(t, other))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := report.LoadAll(); err == nil {
		t.Error("nothing is loaded")
	}
}

// withChecksum returns content with its checksum.
func withChecksum(content []byte) []byte {
	content = bytes.Clone(content)
	return binary.LittleEndian.AppendUint32(content, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}

// withoutSection returns a file, which is given without its checksum, with an
// empty section.
func withoutSection(file []byte, number int) []byte {
	for at := 9; ; {
		size, n := binary.Uvarint(file[at+1:])
		begin := at + 1 + n
		if int(file[at]) == number {
			return withChecksum(append(append(bytes.Clone(file[:at+1]), 0), file[begin+int(size):]...))
		}
		at = begin + int(size)
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	log, _ := sample(t, "log", samplelog.Options{Decisions: 50, BadShare: 0.1})
	good := rollupBinary(t, readRollup(t, report.Options{Inputs: []string{log}, Slowest: 3}))
	folder := t.TempDir()
	load := func(name string, content []byte) error {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, content, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := report.Load(file)
		if err != nil && !strings.Contains(err.Error(), file) {
			t.Errorf("%s: the error %q does not name the file", name, err)
		}
		return err
	}
	if err := load("good", good); err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(good)
	newer[8] = 2
	magic, text := good[:9], good[:len(good)-4]
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":            {nil, "no saved report"},
		"log":              {[]byte(`{"decision_id":"1"}`), "no saved report"},
		"magic alone":      {good[:8], "too early"},
		"newer":            {newer, "use a newer one"},
		"newer and short":  {newer[:12], "use a newer one"},
		"half":             {good[:len(good)/2], "checksum"},
		"without the end":  {good[:len(good)-1], "checksum"},
		"a byte more":      {append(bytes.Clone(good), 0), "checksum"},
		"no sections":      {withChecksum(magic), "damaged"},
		"another section":  {withChecksum(append(bytes.Clone(magic), 9, 0)), "section 9"},
		"a section more":   {withChecksum(append(bytes.Clone(text), 7, 0)), "2 bytes more"},
		"a long section":   {withChecksum(append(bytes.Clone(magic), 1, 100)), "too early"},
		"empty options":    {withChecksum(append(bytes.Clone(magic), 1, 0)), "options: it ends"},
		"no such grouping": {withChecksum(append(bytes.Clone(magic), 1, 3, 1, 'x', 0)), "unknown grouping"},
	} {
		if err := load(name, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	for i, name := range []string{"options", "inputs", "decision ids", "slowest decisions", "groups", "revisions"} {
		if err := load(name, withoutSection(text, 1+i)); err == nil || !strings.Contains(err.Error(), "damaged ("+name+": ") {
			t.Errorf("section %s is empty: error %v", name, err)
		}
	}
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		at := r.IntN(len(good))
		damaged := bytes.Clone(good)
		damaged[at] ^= byte(1 + r.IntN(255))
		if load("damaged", damaged) == nil {
			t.Fatalf("byte %d of %d is another one, and nothing is said", at, len(good))
		}
	}
	if _, err := report.Load(folder); err == nil {
		t.Error("a folder is loaded")
	}
	if _, err := report.Load(filepath.Join(folder, "missing")); err == nil {
		t.Error("a missing file is loaded")
	}
}

// A saved report among logs is an error that says what reads it.
func TestReadSaved(t *testing.T) {
	t.Parallel()
	log, _ := sample(t, "log", samplelog.Options{Decisions: 10})
	saved := filepath.Join(filepath.Dir(log), "a.log")
	save(t, readRollup(t, report.Options{Inputs: []string{log}}), saved)
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

// FuzzLoad: whatever a file holds, loading it is an error or gives what can be
// used, and is saved and loaded again as it is. The checksum is made right,
// since nothing else would come further than that.
func FuzzLoad(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 9))
	f.Add([]byte{})
	for i := range 3 {
		o := report.Options{Inputs: logs(f, r, 1+i), Slowest: 2 * i}
		text := rollupBinary(f, readRollup(f, o))
		f.Add(text[:len(text)-4])
		o.Inputs = o.Inputs[len(o.Inputs)-1:]
		text = rollupBinary(f, readRollup(f, o))
		f.Add(text[:len(text)-4])
	}
	file := filepath.Join(f.TempDir(), "fuzz.rgm")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(file, withChecksum(content), 0o666); err != nil {
			t.Fatal(err)
		}
		x, err := report.Load(file)
		if err != nil {
			return
		}
		text := written(t, x.Report())
		once := rollupBinary(t, x)
		save(t, x, file)
		again, err := report.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(rollupBinary(t, again), once) || written(t, again.Report()) != text {
			t.Fatal("it is another one after it was saved")
		}
		if err := x.Merge(again); err != nil {
			t.Fatal(err)
		}
		written(t, x.Report())
	})
}
