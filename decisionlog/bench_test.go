// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// benchEvents returns about a megabyte of events whose lines have about so many
// bytes, as console has them or as OPA uploads them.
func benchEvents(size int, sorted bool) []byte {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		var input strings.Builder
		fmt.Fprintf(&input, `{"method":"GET","user":"user-%d","path":["v1","items","%d"]`, i%97, i)
		for n := 0; input.Len()+440 < size; n++ {
			fmt.Fprintf(&input, `,"attribute_%d":{"name":"a value of item %d","roles":["reader","writer"],"level":%d,"active":true}`, n, i*n, i%7)
		}
		input.WriteString("}")
		event := fmt.Sprintf(`{"labels":{"id":"8e1a","version":"1.22.0"},"decision_id":"%08x-3b1c-4c6e","path":"rbac/allow%d","input":%s,"result":%t,`+
			`"requested_by":"10.0.0.1:%d","timestamp":"2026-01-02T03:04:05.%09dZ","metrics":{"counter_server_query_cache_hit":1,`+
			`"timer_rego_input_parse_ns":%d,"timer_rego_query_eval_ns":%d,"timer_server_handler_ns":%d}}`,
			i, i%5, input.String(), i%3 > 0, 1024+i, i, 5000+i*7, 40000+i*13, 90000+i*17)
		if sorted {
			event = console(event)
		}
		b.WriteString(event + "\n")
	}
	return []byte(b.String())
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{512, 8192} {
		for _, order := range []string{"uploaded", "console"} {
			text := benchEvents(size, order == "console")
			benchmarkReader(b, fmt.Sprintf("bytes=%d/order=%s", size, order), text)
		}
		uploaded := string(benchEvents(size, false))
		spaced := strings.NewReplacer(`,"`, `, "`, `":`, `": `).Replace(uploaded)
		benchmarkReader(b, fmt.Sprintf("bytes=%d/order=spaced", size), []byte(spaced))
		benchmarkReader(b, fmt.Sprintf("bytes=%d/order=pretty", size), []byte(eachLine(uploaded, pretty)))
		text := []byte(eachLine(uploaded, func(l string) string {
			return `{"log":` + quoted(l) + `,"stream":"stderr","time":"2026-01-02T03:04:05.6Z"}` + "\n"
		}))
		benchmarkReader(b, fmt.Sprintf("bytes=%d/order=docker", size), text)
		b.Run(fmt.Sprintf("bytes=%d/floor", size), func(b *testing.B) {
			text := benchEvents(size, false)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for rest := text; len(rest) > 0; rest = rest[bytes.IndexByte(rest, '\n')+1:] {
				}
			}
		})
	}
}

func benchmarkReader(b *testing.B, name string, text []byte) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		events := 0
		var c collector
		o := c.options()
		o.Event = func(*Event) { events++ }
		r := NewReader(o)
		for b.Loop() {
			if n := r.Read(text); n != len(text) {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
	})
}
