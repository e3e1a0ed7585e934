// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/samplelog"
)

// BenchmarkCollect counts bodies as OPA uploads them by default: arrays of
// events of 0.5 KB, 32 KB packed by gzip. The floor is unpacking and reading
// them.
func BenchmarkCollect(b *testing.B) {
	var log bytes.Buffer
	_, err := samplelog.Write(&log, samplelog.Options{Size: 190_000})
	if err != nil {
		b.Fatal(err)
	}
	decisions := bytes.Count(log.Bytes(), []byte("\n"))
	body := packed("[" + strings.ReplaceAll(strings.TrimSpace(log.String()), "\n", ",") + "]")
	c, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.repeated.Purge() // each body is new
			r := httptest.NewRequest(http.MethodPost, "/logs", strings.NewReader(body))
			r.Header.Set("Content-Encoding", "gzip")
			w := httptest.NewRecorder()
			if c.ServeHTTP(w, r); w.Code != http.StatusOK {
				b.Error(w.Code, w.Body)
				return
			}
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(decisions), "ns/decision")
}
