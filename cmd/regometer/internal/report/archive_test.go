// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// A member is a member of an archive in a test.
type member struct {
	name, text string
	kind       byte // a type of package tar; 0 is a file
}

func tarOf(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Size: int64(len(m.text)), Mode: 0o644}
		if m.kind == tar.TypeSymlink || m.kind == tar.TypeLink {
			h.Linkname = "a.log"
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(m.text)) //nolint:errcheck // Close returns the error
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lz4Of returns a file of one frame, with a block for each text.
func lz4Of(t *testing.T, texts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	for _, text := range texts {
		w.Write([]byte(text)) //nolint:errcheck // Close returns the error
		w.Flush()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// inputsOf returns the inputs of a report about a file with this content, in
// which the file is called FILE.
func inputsOf(t *testing.T, content []byte) *Inputs {
	t.Helper()
	name := write(t, filepath.Join(t.TempDir(), "file"), string(content))
	return withoutName(&readAll(t, Options{Inputs: []string{name}}).Report().Inputs, name)
}

// inputsOfStdin returns the same for standard input.
func inputsOfStdin(t *testing.T, content []byte) *Inputs {
	t.Helper()
	x := readAll(t, Options{Inputs: []string{standardInput}, Stdin: bytes.NewReader(content)})
	return withoutName(&x.Report().Inputs, standardInput)
}

func withoutName(in *Inputs, name string) *Inputs {
	for _, p := range in.Problems {
		for i := range p.First {
			p.First[i].File = strings.Replace(p.First[i].File, name, "FILE", 1)
		}
	}
	return in
}

// problemsOf returns the problems as texts, such as "damaged FILE:1".
func problemsOf(in *Inputs) (problems []string) {
	for _, p := range in.Problems {
		for _, place := range p.First {
			problems = append(problems, fmt.Sprintf("%s %s:%d", p.Kind, place.File, place.Line))
		}
	}
	return problems
}

// bzip2Sample has two lines of text.
var bzip2Sample, _ = base64.StdEncoding.DecodeString("QlpoOTFBWSZTWWdi1I0AAALBgAAQDyGcACAAIgBpkIBppolWFgPG1vi7kinChIM7FqRo")

const eventLine = `{"decision_id":"a","labels":{},"metrics":{}}` + "\n"

// Each member of an archive is read like a file of its own: no event joins
// those of the next member, lines count from 1, and only logs are read.
func TestArchives(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 600_000) // more than is read ahead, also if it is compressed
	for i := range random {
		random[i] = ' ' + byte(r.Uint32()%64)
	}
	logs := []member{
		{name: "../" + strings.Repeat("long/", 60) + "b.log.gz", text: string(gzipped(eventLine, eventLine+"text\n"))},
		{name: "a.log", text: eventLine + eventLine + "text " + string(random)},
		{name: "sub/cut.log", text: eventLine + eventLine[:20]},
		{name: "c.log", text: "\xff\xfe" + strings.Join(strings.Split(eventLine, ""), "\x00") + "\x00"},
		{name: "none.txt", text: "text\n"},
		{name: "empty"},
		{name: ".hidden/d.log", text: eventLine},
		{name: "._a.log", text: "text\n"},
		{name: "inner.tar", text: string(tarOf(t, member{name: "a.log", text: eventLine}))},
		{name: "twice.gz", text: string(gzipped(string(gzipped(eventLine))))},
		{name: "last.log", text: eventLine},
	}
	links := []member{
		{name: "folder/", kind: tar.TypeDir}, {name: "link", kind: tar.TypeSymlink}, {name: "hard", kind: tar.TypeLink},
		{name: "pipe", kind: tar.TypeFifo}, {name: "disk", kind: tar.TypeBlock},
	}
	whole := tarOf(t, slices.Concat(links, logs)...)
	want := []string{
		"format_nested FILE:inner.tar:1", "format_nested FILE:twice.gz:1",
		"no_decision_log FILE:none.txt:1", "truncated FILE:sub/cut.log:2",
	}
	for what, archive := range map[string][]byte{
		"tar": whole, "tar.gz": gzipped(string(whole)), "tar.zst": zstandard(string(whole)), "tar.lz4": lz4Of(t, string(whole)),
	} {
		for where, read := range map[string]func(*testing.T, []byte) *Inputs{"file": inputsOf, "standard input": inputsOfStdin} {
			in := read(t, archive)
			if got := problemsOf(in); in.Files != 1 || in.Bytes != int64(len(archive)) || in.Decisions != 7 || in.OtherLines != 3 || !slices.Equal(got, want) {
				t.Errorf("%s, %s: got %d files, %d bytes of %d, %d decisions, %d other lines, problems %q, want 1 file, 7 decisions, 3 other lines, %q",
					what, where, in.Files, in.Bytes, len(archive), in.Decisions, in.OtherLines, got, want)
			}
		}
	}
}

// An archive or a compressed file that was cut anywhere has a problem that says
// so.
func TestCutFiles(t *testing.T) {
	t.Parallel()
	logs := []member{
		{name: "a.log", text: strings.Repeat(eventLine, 40)}, {name: "b.log", text: eventLine}, {name: "empty"},
		{name: "c.log.gz", text: string(gzipped(eventLine))}, {name: ".hidden", text: strings.Repeat("text\n", 300)},
	}
	whole := tarOf(t, logs...)
	isDamaged := func(content []byte) bool {
		return slices.ContainsFunc(inputsOf(t, content).Problems, func(p Problem) bool { return p.Kind == Damaged })
	}
	for what, file := range map[string]struct {
		content []byte
		step    int
	}{
		"tar": {whole[:len(whole)-headSize], 128}, "tar.gz": {gzipped(string(whole)), 19},
		"lz4": {lz4Of(t, eventLine, eventLine, eventLine), 1}, "bzip2": {bzip2Sample, 1},
	} {
		from := 16
		if what == "tar" {
			from = headSize
		}
		for size := from; size < len(file.content); size += file.step {
			if !isDamaged(file.content[:size]) {
				t.Errorf("%s: the first %d of %d bytes are not %s", what, size, len(file.content), Damaged)
			}
		}
		if isDamaged(file.content) {
			t.Errorf("%s: the whole file is %s", what, Damaged)
		}
	}
	// The problem is that of the member, once.
	want := []string{"damaged FILE:a.log:12", "truncated FILE:a.log:12"}
	if got := problemsOf(inputsOf(t, whole[:1024])); !slices.Equal(got, want) {
		t.Errorf("a cut member: got problems %q, want %q", got, want)
	}
	if got, want := problemsOf(inputsOf(t, slices.Concat(whole, tarOf(t, logs...)))), []string{"damaged FILE:1"}; !slices.Equal(got, want) {
		t.Errorf("an archive behind the archive: got problems %q, want %q", got, want)
	}
}

// A file in a form that is not read has one problem, with a remedy.
func TestRefused(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"PK\x03\x04\x14\x00":      "unzip -p FILE | regometer report -",
		"\xfd7zXZ\x00\x00\x04":    "xz -dc FILE | regometer report -",
		"PAR1\x15\x04\x15":        "is a Parquet file: run duckdb -c \"COPY (FROM 'FILE') TO '/dev/stdout' (FORMAT json)\" | regometer report -",
		"SQLite format 3\x00\x10": "an SQLite database: run sqlite3 -json FILE",
		"Obj\x01\x04":             "avro-tools tojson FILE | regometer report -", "LPKSHHRH\x00": "journalctl --all --file FILE -o json | regometer report -",
		zstdMagic + window(28):              "zstd -dc --long=31 FILE | regometer report -",
		string(gzipped("PAR1\x15\x04\x15")): "unpack the outer one",
	} {
		in := inputsOf(t, []byte(content))
		if len(in.Problems) != 1 || in.Problems[0].Count != 1 {
			t.Errorf("%.20q: got problems %q, want one", content, problemsOf(in))
			continue
		}
		remedy := in.Problems[0].Remedy()
		if !strings.HasPrefix(remedy, "FILE") || !strings.Contains(remedy, want) || !strings.HasPrefix(string(in.Problems[0].Kind), string(refused)) {
			t.Errorf("%.20q: got %s with remedy %q, want one with %q", content, in.Problems[0].Kind, remedy, want)
		}
	}
	if in := inputsOf(t, []byte(zstdMagic+window(27))); in.Decisions != 1 || len(in.Problems) > 0 {
		t.Errorf("a window of 128 MiB: got %d decisions, problems %q", in.Decisions, problemsOf(in))
	}
}

// window returns the rest of a zstd frame that has a window of this size, as a
// power of two, and an event.
func window(log int) string {
	block := len(eventLine)<<3 | 1
	return string([]byte{0, byte((log - 10) << 3), byte(block), byte(block >> 8), 0}) + eventLine
}
