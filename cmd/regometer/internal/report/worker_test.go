// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/race"
)

// logMaker makes logs whose decisions tie, collide and go beyond limits.
type logMaker struct{ *rand.Rand }

func newLogMaker(seed uint64) *logMaker { return &logMaker{rand.New(rand.NewPCG(seed, 2))} }

func (m *logMaker) oneOf(texts ...string) string { return texts[m.IntN(len(texts))] }

// event returns a decision in one line.
func (m *logMaker) event() string {
	var fields []string
	field := func(often int, name, value string) {
		if m.IntN(100) < often {
			fields = append(fields, `"`+name+`":`+value)
		}
	}
	field(90, "path", m.oneOf(`"a"`, fmt.Sprintf(`"p/%d"`, m.IntN(60)), `"p/`+"\xff"+`"`, `"p/`+"\xfe"+`"`, `"p\/\ud800"`, `"/"`, `"other"`))
	field(3, "query", `"data.x = y"`)
	field(80, "decision_id", m.oneOf(fmt.Sprintf(`"id %d"`, m.IntN(30)), fmt.Sprintf(`"id %d"`, m.Uint64()), `""`))
	field(20, "trace_id", m.oneOf(`"t"`, `"u"`))
	field(90, "timestamp", m.oneOf(
		`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.000000001Z"`, `"1969-12-31T23:59:00Z"`, `"yesterday"`,
		fmt.Sprintf(`"2026-01-02T%02d:%02d:00Z"`, m.IntN(24), m.IntN(60)), fmt.Sprintf(`"%d-05-05T05:05:05Z"`, 1678+m.IntN(580)),
	))
	field(90, "result", m.oneOf(
		`true`, `false`, `{"allow":true}`, `{"allow":false,"a\nb":1}`, `{"allow":true,"\n`+"\xff"+`":1}`, `{"deny":["a"]}`, `"x"`, `null`,
	))
	field(5, "error", m.oneOf(`{"code":"eval_conflict_error"}`, `{"code":"eval_cancel_error"}`, `{"code":"strange"}`, `"text"`))
	field(30, "bundles", m.oneOf(`{}`, fmt.Sprintf(`{"b":{"revision":"%d"}}`, m.IntN(400)), `{"b":{"revision":"x"},"a":{}}`))
	field(50, "revision", fmt.Sprintf(`"r%d"`, m.IntN(4)))
	field(20, "requested_by", m.oneOf(`"[::1]:80"`, `"10.0.0.1:81"`, `"client`+"\xff"+`"`))
	field(5, "input", m.oneOf(`{"path":[1, {"x": "}"}]}`, `"\u0000"`))
	field(95, "metrics", "{"+m.metrics()+"}")
	m.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return `{"labels":{"team":"` + m.oneOf("a", "b", "\xff", "c") + `"},` + strings.Join(fields, ",") + "}"
}

func (m *logMaker) metrics() string {
	var metrics []string
	for range m.IntN(7) {
		key := m.oneOf(
			"timer_rego_query_eval_ns", "timer_rego_query_eval_ns", "timer_server_handler_ns", "timer_eval_op_plug_ns", "counter_server_query_cache_hit",
			fmt.Sprintf("timer_n%d_ns", m.IntN(50)), fmt.Sprintf("counter_n%d", m.IntN(50)), fmt.Sprintf("timer_eval_op_%d_ns", m.IntN(9)),
			"timer_\xff_ns", "timer_\xfe_ns", "counter_\xff\xff", "timer_other_ns", "counter_other", "histogram_h",
			"timer_"+strings.Repeat("long", 200+m.IntN(90))+"_ns",
		)
		value := m.oneOf(
			"0", "1", "2", "1000", "1000", "1000", fmt.Sprint(m.IntN(5000)), fmt.Sprint(m.Int64N(1<<40)),
			"-3", fmt.Sprint(uint64(1)<<63>>m.IntN(60)-1), "9223372036854775808", "1e3", "1.5", `"7"`,
		)
		metrics = append(metrics, `"`+key+`":`+value)
	}
	return strings.Join(metrics, ",")
}

// line returns one or more lines of a log.
func (m *logMaker) line(container int) string {
	event := m.event()
	switch m.IntN(60) {
	case 0:
		return m.oneOf("", "plain text", `{"msg":"no event"}`, "[", "]", "}", `{"labels":`) + "\n"
	case 1:
		return event[:m.IntN(len(event))] + "\n"
	case 2:
		return event + m.oneOf(" ", "", ",") + m.event() + m.event() + "\n"
	case 3:
		var pretty bytes.Buffer
		if json.Indent(&pretty, []byte(event), "", " ") == nil {
			return pretty.String() + "\n"
		}
	}
	quoted := func(s string) string {
		text, _ := json.Marshal(s)
		return string(text)
	}
	const at = "2026-01-02T03:04:05.6Z "
	stream := m.oneOf("stdout", "stdout", "stdout", "stderr")
	half := m.IntN(len(event))
	switch container {
	case 1: // docker
		if m.IntN(150) == 0 {
			return fmt.Sprintf(`{"log":%s,"stream":"%s"}`+"\n", quoted(event[:half]), stream) +
				fmt.Sprintf(`{"log":%s,"stream":"%s"}`+"\n", quoted(event[half:]+"\n"), stream)
		}
		return fmt.Sprintf(`{"log":%s,"stream":"stdout"}`+"\n", quoted(event+"\n"))
	case 2: // CRI
		if m.IntN(4) == 0 {
			return at + stream + " P " + event[:half] + "\n" + m.line(2) + at + stream + " F " + event[half:] + "\n"
		}
		return at + stream + " F " + event + "\n"
	case 3: // one that is never whole, and lines behind it
		return at + stream + " P " + event[:half] + "\n" + event + "\n" + event + "\n"
	}
	return event + "\n"
}

// value returns a value of many lines: an array of events or of wrappers, most
// often with one in each line. It may be broken, or lack its end.
func (m *logMaker) value(events int) string {
	open := m.oneOf("[\n", "[", `{"events":[`+"\n", "{\n\"a\": {\n\"hits\": [\n")
	form, separator := m.oneOf("%s", `{"event":%s}`), m.oneOf(",\n", ",\n", "\n,", ",\n  ", "\n")
	var list []string
	for range events {
		list = append(list, fmt.Sprintf(form, m.event()))
	}
	text := open + strings.Join(list, separator) + "\n"
	if m.IntN(4) > 0 {
		text += "]" + strings.Repeat("}", strings.Count(open, "{")) + "\n"
	}
	if m.IntN(4) > 0 {
		return text
	}
	var inDocker strings.Builder
	for line := range strings.Lines(text) {
		quoted, _ := json.Marshal(line)
		fmt.Fprintf(&inDocker, `{"log":%s,"stream":"stderr"}`+"\n", quoted)
	}
	return inDocker.String()
}

// log returns a log of about this number of lines.
func (m *logMaker) log(lines int) string {
	var b strings.Builder
	if m.IntN(6) == 0 { // a table, of which each line with a message would be an event by itself
		b.WriteString("message,decision_id,path\n")
		for n := range lines {
			message := fmt.Sprintf(`"{""decision_id"":""d%d"",""path"":""q"",""metrics"":{},""input"":""%0300d""}"`, n, n)
			if n%300 > 200 {
				message = ""
			}
			fmt.Fprintf(&b, "%s,d%d,p\n", message, n)
		}
		return b.String()
	}
	for lines > 0 {
		container := m.IntN(5)
		if container == 4 {
			events := 1 + m.IntN(200)
			b.WriteString(m.value(events))
			lines -= events
			continue
		}
		for range min(lines, 1+m.IntN(200)) {
			b.WriteString(m.line(container))
			lines--
		}
	}
	if m.IntN(2) == 0 { // it ends within a line
		event := m.event()
		b.WriteString(event[:m.IntN(len(event))])
	}
	return b.String()
}

// readLog reads a log of this text.
func readLog(t testing.TB, text string, o Options) *Data {
	t.Helper()
	o.Inputs = []string{write(t, filepath.Join(t.TempDir(), "log"), text)}
	return readAll(t, o)
}

// readAll returns the data of some inputs.
func readAll(t testing.TB, o Options) *Data {
	t.Helper()
	x, err := Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// outputs returns all outputs of x, by their names.
func outputs(t testing.TB, x *Data) map[string]string {
	t.Helper()
	r := x.Report()
	if !slices.IsSortedFunc(r.Slowest, func(a, b SlowDecision) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID), cmp.Compare(a.TraceID, b.TraceID))
	}) {
		t.Errorf("the slowest decisions are in the order %+v", r.Slowest)
	}
	all := map[string]string{"saved": savedJSON(t, x), "slowest": fmt.Sprintf("%+v", r.Slowest), "findings": fmt.Sprintf("%+v", r.Findings)}
	for form, write := range map[string]func(io.Writer) error{
		"JSON":     func(w io.Writer) error { return r.WriteJSON(w) },
		"Markdown": func(w io.Writer) error { return output.Write(w, r, output.Options{Format: "markdown"}) },
		"table":    func(w io.Writer) error { return output.Write(w, r, output.Options{Width: 200}) },
	} {
		all[form] = written(t, write)
	}
	return all
}

// requireSame compares outputs, and shows where they differ first.
func requireSame(t testing.TB, got, want map[string]string) {
	t.Helper()
	for form := range want {
		g, w := got[form], want[form]
		if g == w {
			continue
		}
		at := 0
		for at < min(len(g), len(w)) && g[at] == w[at] {
			at++
		}
		from := max(0, at-200)
		t.Errorf("%s: got\n…%.500q\nwant\n…%.500q", form, g[from:], w[from:])
	}
}

// A report depends neither on the number of workers, nor on where files are
// cut, nor on when numbers of metrics are forgotten. Each gets the same
// decisions, in any order. Logs that are read one by one, saved, and merged in
// any order have the same report.
func TestReadAlike(t *testing.T) {
	least, greatest, named := leastPart, greatestPart, maxNamed
	keys, size, bytes, most := repeats.MaxKeys, sampleSize, sampleBytes, maxNames
	defer func() {
		leastPart, greatestPart, maxNamed = least, greatest, named
		repeats.MaxKeys, sampleSize, sampleBytes, maxNames, groupLimits = keys, size, bytes, most, groupby.Limits{}
	}()
	seeds := uint64(16)
	if race.Enabled {
		seeds = 4 // each has the same goroutines
	}
	for seed := range seeds {
		m := newLogMaker(seed)
		folder := t.TempDir()
		var files []string
		for i := range 1 + m.IntN(5) {
			files = append(files, write(t, filepath.Join(folder, fmt.Sprint("log", i)), m.log(1+m.IntN(1200))))
		}
		o := Options{
			Inputs: files, Slowest: 1 + m.IntN(40),
			By: m.oneOf("path", "bundle", "requested_by", "hour", "day", "label:team"),
		}
		groupLimits = groupby.Limits{
			Groups: 1 + m.IntN(30), Names: 1 + m.IntN(8), Width: 1 + m.Int64N(1<<m.IntN(50)), Slices: 1 + m.IntN(20), Cells: 1 + m.IntN(100),
		}
		if m.IntN(3) == 0 {
			o.Paths = []string{"p"}
		}
		leastPart = 1 << 40
		repeats.MaxKeys, sampleSize, sampleBytes, maxNames = 1<<m.IntN(13), 1<<m.IntN(13), 1<<(6+m.IntN(16)), 1<<m.IntN(6)
		inputs, err := InputFiles(files)
		if err != nil {
			t.Fatal(err)
		}
		x, err := ReadFiles(t.Context(), o, inputs)
		if err != nil {
			t.Fatal(err)
		}
		x.options = nil // which are not saved
		want, wantEach := outputs(t, x), eachOf(t, o)
		for _, o.Workers = range []int{1, 2, 3, 8} {
			leastPart, maxNamed = 1+m.Int64N(1<<(8+m.IntN(8))), m.IntN(1<<(6+m.IntN(15)))
			greatestPart = leastPart
			if x, err = ReadFiles(t.Context(), o, inputs); err != nil {
				t.Fatal(err)
			}
			x.options = nil
			requireSame(t, outputs(t, x), want)
			if len(x.sample.kept) > sampleSize || x.sample.names.bytes > sampleBytes {
				t.Errorf("a sample of %d decisions with %d bytes of names", len(x.sample.kept), x.sample.names.bytes)
			}
			if each := eachOf(t, o); !slices.Equal(each, wantEach) {
				t.Error("Each gets other decisions")
			}
			if t.Failed() {
				t.Fatalf("seed %d: %d workers, parts of %d", seed, o.Workers, leastPart)
			}
		}
		x.slowest = slowest{} // which are not saved
		want = outputs(t, x)
		var parts []string // saved reports
		for _, file := range files {
			o.Inputs = []string{file}
			if x, err = Read(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			slices.Reverse(x.sample.kept) // a file may have them in any order
			parts = append(parts, save(t, x, filepath.Join(t.TempDir(), "part")))
		}
		for len(parts) > 1 {
			m.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			some := 2 + m.IntN(len(parts)-1)
			if x, err = LoadAll(parts[:some]...); err != nil {
				t.Fatal(err)
			}
			parts = append(parts[some:], save(t, x, filepath.Join(t.TempDir(), "merged")))
		}
		if x, err = Load(parts[0]); err != nil {
			t.Fatal(err)
		}
		if requireSame(t, outputs(t, x), want); t.Failed() {
			t.Fatalf("seed %d: saved and merged", seed)
		}
	}
}

// eachOf returns the decisions that Each gets, sorted.
func eachOf(t *testing.T, o Options) (decisions []string) {
	t.Helper()
	var mu sync.Mutex
	o.Each = func(key func(int32) string, _ func(*logread.Event) func() Place) func(*logread.Event, [][]byte) error {
		var inside atomic.Bool
		return func(e *logread.Event, _ [][]byte) error {
			if inside.Swap(true) {
				t.Error("Each is called twice at once for a worker")
			}
			defer inside.Store(false)
			d := fmt.Sprintf("%q %d %d %q %q %q", e.Path, e.Time, e.Outcome, e.Code, e.DecisionID, e.BundleRevisions())
			for _, m := range e.Measures {
				d += fmt.Sprintf(" %q:%d", key(m.Metric), m.Value)
			}
			mu.Lock()
			defer mu.Unlock()
			decisions = append(decisions, d)
			return nil
		}
	}
	r := readAll(t, o).Report()
	if uint64(len(decisions)) != r.Total.Decisions {
		t.Errorf("Each gets %d decisions of %d", len(decisions), r.Total.Decisions)
	}
	slices.Sort(decisions)
	return decisions
}

// Evaluations are those of the revision of their event, also where bundles are
// named, and have none. Revisions are in the order of their first decisions.
func TestRevisions(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	event := func(n, minute int, revisions string) {
		for i := range n {
			fmt.Fprintf(&text, `{"decision_id":"a",%s,"timestamp":"2026-01-02T03:%02d:00Z","metrics":{"timer_rego_query_eval_ns":%d}}`+"\n",
				revisions, minute, 1000*n<<(i%5))
		}
	}
	event(10, 30, `"bundles":{},"revision":"c"`)
	event(15, 10, `"revision":"a","bundles":{"b":{"revision":"x"}}`)
	event(20, 40, `"revision":"b"`)
	event(5, 20, `"revision":"d"`)
	var got []string
	for _, revision := range readLog(t, text.String(), Options{}).Report().Revisions {
		d := &revision.Evaluation.Durations
		got = append(got, fmt.Sprint(revision.Name, " ", d.Count(), " from ", d.Min()))
		_, counts := d.Buckets()
		for _, n := range counts {
			if n != 0 && n != d.Count()/5 {
				t.Errorf("revision %s has %d of %d evaluations in a bucket", revision.Name, n, d.Count())
			}
		}
	}
	if want := []string{"b=x 15 from 15000", "d 5 from 5000", "c 10 from 10000", "b 20 from 20000"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Revisions for which there is no room are not one revision.
func TestRevisionsWithoutRoom(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range maxRevisions + 10 {
		fmt.Fprintf(&text, `{"decision_id":"a","revision":"r%d","metrics":{"timer_rego_query_eval_ns":5}}`+"\n", i)
	}
	r := readLog(t, text.String(), Options{}).Report()
	for _, revision := range r.Revisions {
		if n := revision.Evaluation.Durations.Count(); n != 1 {
			t.Errorf("revision %s has %d evaluations", revision.Name, n)
		}
	}
	if len(r.Revisions) != maxRevisions {
		t.Errorf("%d revisions, want %d", len(r.Revisions), maxRevisions)
	}
}

// Decisions are let through from Since on and before Until. With either,
// decisions without a time are not.
func TestTimesWanted(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	until := since.Add(time.Hour)
	var text strings.Builder
	for _, at := range []time.Time{since.Add(-1), since, until.Add(-1), until} {
		fmt.Fprintf(&text, `{"decision_id":"a","path":"%s","timestamp":%q,"metrics":{}}`+"\n", at.Format("05.999999999"), at.Format(time.RFC3339Nano))
	}
	text.WriteString(`{"decision_id":"a","path":"none","metrics":{}}`)
	for _, test := range []struct {
		since, until time.Time
		want         []string
	}{
		{want: []string{"04.999999999", "05", "04.999999999", "05", "none"}},
		{since: since, want: []string{"05", "04.999999999", "05"}},
		{until: until, want: []string{"04.999999999", "05", "04.999999999"}},
		{since: since, until: until, want: []string{"05", "04.999999999"}},
	} {
		x := readLog(t, text.String(), Options{Since: test.since, Until: test.until})
		var got []string
		for g := range x.groups.All(false) {
			for _, n := range g.Outcomes {
				got = append(got, slices.Repeat([]string{g.Key}, int(n))...)
			}
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("from %v to %v: got %q, want %q", test.since, test.until, got, test.want)
		}
	}
}

// The problems of a file are reported, also if it is short.
func TestProblemsOfFile(t *testing.T) {
	t.Parallel()
	const event = `{"decision_id":"a","labels":{},"metrics":{}}`
	for text, want := range map[string]map[logread.Problem]int64{
		"":                            {},
		event:                         {},
		event + "\n\n":                {},
		"text\n":                      {NoDecisionLog: 1},
		"text":                        {NoDecisionLog: 1},
		"{}\n{}\n":                    {NoDecisionLog: 1},
		event[:20]:                    {NoDecisionLog: 1, "truncated": 1},
		event + "\n" + event[:20]:     {"truncated": 1},
		event + "\n{\"a\"]\n" + event: {"invalid_json": 1},
		"text\n" + event + "\ntext":   {},
	} {
		r := readLog(t, text, Options{}).Report()
		got := map[logread.Problem]int64{}
		for _, p := range r.Inputs.Problems {
			got[p.Kind] = p.Count
		}
		if !maps.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// Numbers of metrics take no more memory than they may, whatever names a log
// has.
func TestNumbersBounded(t *testing.T) {
	t.Parallel()
	w := newWorker(&reading{Options: Options{By: "path"}, sample: &sampleLimit{limit: hashLimit, sizes: map[*decisionSample]int{}}, ids: new(repeats.Set)})
	w.part = &part{input: &input{}}
	const perEvent = 1000
	long, most := strings.Repeat("x", 500), 0
	for event := range 80 {
		var text strings.Builder
		text.WriteString(`{"decision_id":"a","labels":{},"metrics":{"timer_rego_query_eval_ns":1`)
		for i := range perEvent {
			fmt.Fprintf(&text, `,"timer_%s%d_ns":1`, long, event*perEvent+i)
		}
		text.WriteString("}}\n")
		w.reader.Read([]byte(text.String()))
		bytes := 0
		for _, key := range w.names {
			bytes += len(key)
		}
		most = max(most, bytes)
	}
	if most > maxNamed || most < maxNamed/2 {
		t.Errorf("names take %d bytes, want at most %d", most, maxNamed)
	}
	if s := w.sum.groups.Get("", false, nil); Stage(s.Stages, evaluationStage).Durations.Count() != 80 {
		t.Errorf("%d evaluations", Stage(s.Stages, evaluationStage).Durations.Count())
	}
}
