// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/samplelog"
)

// A reader works for as long as the process. What a body makes it remember must
// not stay.
func TestReaderKeepsLittle(t *testing.T) {
	t.Parallel()
	c := newCollector(t, Options{})
	reader := newBodyReader(c.Counter, DefaultEvent, c.long)
	read := func(text string) {
		t.Helper()
		if err := reader.read(newBody(strings.NewReader(text)), "", c.options); err != nil {
			t.Fatal(err.problem)
		}
		reader.batch.Count()
	}

	const long = largeBuffer
	read(fmt.Sprintf(`{"decision_id":"1","path":"p","input":%q,"result":true}`, strings.Repeat("x", long)))
	if n := len(reader.buffer); n < long {
		t.Fatalf("the buffer for an event of %d bytes has %d bytes", long, n)
	}
	reader.shrink()
	if n := len(reader.buffer); n != usualBuffer {
		t.Errorf("after a body with a long event the buffer has %d bytes, want %d", n, usualBuffer)
	}

	const names, size = 2000, 1000
	var text strings.Builder
	for i := range names {
		name := fmt.Sprintf("%0*d", size, i)
		fmt.Fprintf(&text, `{"decision_id":"2","path":%q,"result":true,"metrics":{"timer_server_handler_ns":1,"timer_%s_ns":1}}`+"\n", name, name)
		if i%100 > 0 {
			continue
		}
		read(text.String())
		text.Reset()
		kept := 0
		for path := range reader.paths {
			kept += len(path)
		}
		for _, key := range reader.keys {
			if kept += len(key); len(key) > maxKey+len("_ns") {
				t.Fatalf("the key %q is kept", key)
			}
		}
		if kept > maxKnown+2*size {
			t.Fatalf("after %d names of %d bytes the reader keeps %d bytes, want at most %d", i, size, kept, maxKnown)
		}
	}
	const handler = `opa_decision_stage_duration_seconds_count{stage="server_handler"}`
	if got, want := value(scrape(c), handler), fmt.Sprint(names-100+1); got != want {
		t.Errorf("after it has forgotten names, the stage has %s values, want %s", got, want)
	}
}

// BenchmarkCollect counts bodies as OPA uploads them by default: arrays of
// events of 0.5 KB, 32 KB packed by gzip. The floor is unpacking and reading
// them.
func BenchmarkCollect(b *testing.B) {
	var log bytes.Buffer
	must(samplelog.Write(&log, samplelog.Options{Size: 190_000}))
	decisions := bytes.Count(log.Bytes(), []byte("\n"))
	body := packed("[" + strings.ReplaceAll(strings.TrimSpace(log.String()), "\n", ",") + "]")
	c := must(New(Options{}))
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.repeated.Purge() // each body is new
			if status := send(c, body, "Content-Encoding", "gzip"); status != http.StatusOK {
				b.Error(status)
			}
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(decisions), "ns/decision")
}
