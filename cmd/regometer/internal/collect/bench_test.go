// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/samplelog"
)

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
