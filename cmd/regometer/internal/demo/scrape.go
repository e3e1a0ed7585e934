// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// scrape is what a server's /metrics say of its decisions.
type scrape struct {
	stages map[string]*distribution // all paths taken together
	figures
}

// scrape returns what Prometheus gets.
func (s *server) scrape(ctx context.Context) (*scrape, error) {
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	families, err := s.Get(ctx, "/metrics", "Accept", string(format))
	if err != nil {
		return nil, err
	}
	return readScrape(bytes.NewReader(families), format)
}

func readScrape(r io.Reader, format expfmt.Format) (*scrape, error) {
	s := &scrape{map[string]*distribution{}, figures{}}
	for decoder := expfmt.NewDecoder(r, format); ; {
		var family dto.MetricFamily
		err := decoder.Decode(&family)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the answer to GET /metrics cannot be read: %w", err)
		}
		s.addExported(&family)
		if family.GetName() == stageMetric {
			s.addStages(&family)
		}
	}
}

func (s *scrape) addStages(family *dto.MetricFamily) {
	for _, m := range family.GetMetric() {
		for _, label := range m.GetLabel() {
			if label.GetName() != "stage" {
				continue
			}
			d := s.stages[label.GetValue()]
			if d == nil {
				d = &distribution{schema: m.GetHistogram().GetSchema(), buckets: map[int32]uint64{}}
				s.stages[label.GetValue()] = d
			}
			d.add(m.GetHistogram())
		}
	}
}

// A distribution is a native histogram: bucket i holds the values above
// 2^((i-1)/2^schema) seconds, up to 2^(i/2^schema).
type distribution struct {
	schema  int32
	count   uint64
	zeros   uint64
	buckets map[int32]uint64
}

// add adds another histogram; both come to the coarser of the two schemas.
func (d *distribution) add(h *dto.Histogram) {
	d.reduce(h.GetSchema())
	d.count += h.GetSampleCount()
	d.zeros += h.GetZeroCount()
	shift := h.GetSchema() - d.schema
	index, next, count := int32(0), 0, int64(0)
	for _, span := range h.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			count += h.GetPositiveDelta()[next]
			d.buckets[coarser(index, shift)] += uint64(count)
			index++
			next++
		}
	}
}

// reduce makes the schema this one, if that is coarser.
func (d *distribution) reduce(schema int32) {
	if schema >= d.schema {
		return
	}
	buckets := map[int32]uint64{}
	for i, n := range d.buckets {
		buckets[coarser(i, d.schema-schema)] += n
	}
	d.schema, d.buckets = schema, buckets
}

// coarser returns the bucket that bucket i is part of in a schema lower by
// shift: ⌈i/2^shift⌉.
func coarser(i, shift int32) int32 { return (i-1)>>shift + 1 }

// nearestRank returns the percentile at rank ⌈percent/100·n⌉ in nanoseconds:
// the middle of its bucket, geometrically.
func (d *distribution) nearestRank(percent int) float64 {
	if d.count == 0 {
		return 0
	}
	rank := (uint64(percent)*d.count + 99) / 100
	if rank <= d.zeros {
		return 0
	}
	seen := d.zeros
	indexes := make([]int32, 0, len(d.buckets))
	for i := range d.buckets {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	for _, i := range indexes {
		if seen += d.buckets[i]; seen >= rank {
			return 1e9 * math.Exp2((float64(i)-0.5)/math.Exp2(float64(d.schema)))
		}
	}
	return math.Inf(1)
}

// bound is how far nearestRank can be from the value of that rank, as a part
// of it: half a bucket.
func (d *distribution) bound() float64 {
	return math.Exp2(0.5/math.Exp2(float64(d.schema))) - 1
}

// scraped is what /metrics says of a stage.
type scraped struct {
	Count uint64  `json:"count"`
	Bound float64 `json:"error_bound"` // of the percentiles, relative
	P50   float64 `json:"p50_ns"`
	P95   float64 `json:"p95_ns"`
	P99   float64 `json:"p99_ns"`
}

func (d *distribution) summary() *scraped {
	return &scraped{
		Count: d.count, Bound: d.bound(),
		P50: d.nearestRank(50), P95: d.nearestRank(95), P99: d.nearestRank(99),
	}
}

// compareScraped puts what /metrics says beside the exact stages. Timers of
// instrumented requests have no stage of their own there.
func compareScraped(table []stage, scraped map[string]*distribution) {
	for i := range table {
		if d := scraped[table[i].Name]; d != nil {
			table[i].Scraped = d.summary()
		}
	}
}

// agrees returns an error if the scraped percentiles are not the exact ones,
// within the histogram's error.
func (s *stage) agrees() error {
	if s.Scraped == nil {
		return nil
	}
	for _, p := range s.percentiles() {
		const rounding = 1e-9
		if math.Abs(p.difference()) > s.Scraped.Bound+rounding {
			return fmt.Errorf("stage %s, p%d: /metrics says %.0f ns, the decision log %d ns: more than %.2f %% apart",
				s.Name, p.percent, p.scraped, p.exact, 100*s.Scraped.Bound)
		}
	}
	return nil
}

// A percentile stands as exactly logged and as scraped, both in nanoseconds.
type percentile struct {
	percent int
	exact   int64
	scraped float64
}

// difference is that of the scraped value, as a part of the exact one.
func (p percentile) difference() float64 {
	if p.exact == 0 {
		return 0
	}
	return p.scraped/float64(p.exact) - 1
}

// percentiles returns the percentiles of a stage that was scraped.
func (s *stage) percentiles() []percentile {
	return []percentile{{50, s.P50, s.Scraped.P50}, {95, s.P95, s.Scraped.P95}, {99, s.P99, s.Scraped.P99}}
}
