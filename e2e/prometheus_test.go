// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
)

const scrapeInterval = time.Second

// A monitor is Prometheus without its web server: its scrape manager, storage,
// query engine and rule manager.
type monitor struct {
	db      *tsdb.DB
	engine  *promql.Engine
	rules   *rules.Manager // nil without rules
	targets int
}

// How a monitor differs from what dashboards/prometheus.yaml says.
type monitorOptions struct {
	classic           bool          // no native histograms
	createdTimestamps bool          // --enable-feature=created-timestamp-zero-ingestion
	interval          time.Duration // scrapeInterval if it is 0
	rules             []string      // files
}

// startMonitor scrapes addresses, with the names of their instances, until the
// test ends.
func startMonitor(t *testing.T, targets map[string]string, o monitorOptions) *monitor {
	t.Helper()
	m := &monitor{targets: len(targets)}
	log := promslog.NewNopLogger()

	storage := tsdb.DefaultOptions()
	storage.EnableSTAsZeroSample = o.createdTimestamps
	db, err := tsdb.Open(t.TempDir(), log, nil, storage, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.db = db
	registry := prometheus.NewRegistry()
	m.engine = promql.NewEngine(promql.EngineOpts{
		Logger: log, Reg: registry, MaxSamples: 50_000_000, Timeout: time.Minute,
		LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		Parser: parser.NewParser(parser.Options{}),
	})

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	scraper, err := scrape.NewManager(&scrape.Options{
		DiscoveryReloadInterval:           model.Duration(10 * time.Millisecond),
		EnableStartTimestampZeroIngestion: o.createdTimestamps,
		ParseST:                           o.createdTimestamps,
	}, log, nil, nil, db, registry)
	if err != nil {
		t.Fatal(err)
	}
	c := scrapeConfig(t, o)
	if err := scraper.ApplyConfig(c); err != nil {
		t.Fatal(err)
	}
	groups := make(chan map[string][]*targetgroup.Group, 1)
	groups <- map[string][]*targetgroup.Group{c.ScrapeConfigs[0].JobName: targetGroups(targets)}
	running.Go(func() { _ = scraper.Run(groups) }) // until Stop

	if len(o.rules) > 0 {
		m.rules = rules.NewManager(&rules.ManagerOptions{
			ExternalURL: &url.URL{}, QueryFunc: rules.EngineQueryFunc(m.engine, db), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
			Context: ctx, Appendable: db, Queryable: db, Logger: log, Registerer: registry,
			Parser: parser.NewParser(parser.Options{}),
		})
		if err := m.rules.Update(scrapeInterval, o.rules, c.GlobalConfig.ExternalLabels, "", nil); err != nil {
			t.Fatal(err)
		}
		running.Go(m.rules.Run)
	}
	t.Cleanup(func() {
		if m.rules != nil {
			m.rules.Stop()
		}
		scraper.Stop()
		cancel()
		running.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// scrapeConfig is dashboards/prometheus.yaml, but for the interval.
func scrapeConfig(t *testing.T, o monitorOptions) *config.Config {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "dashboards", "prometheus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(string(text), promslog.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	s := c.ScrapeConfigs[0]
	if !s.ScrapeNativeHistogramsEnabled() {
		t.Fatal("dashboards/prometheus.yaml does not scrape native histograms")
	}
	if o.classic {
		native := false
		s.ScrapeNativeHistograms = &native
		s.ScrapeProtocols = config.DefaultScrapeProtocols
	}
	if o.interval == 0 {
		o.interval = scrapeInterval
	}
	s.ScrapeInterval = model.Duration(o.interval)
	s.ScrapeTimeout = model.Duration(o.interval)
	return c
}

func targetGroups(targets map[string]string) []*targetgroup.Group {
	var groups []*targetgroup.Group
	for name, address := range targets {
		groups = append(groups, &targetgroup.Group{
			Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(address)}},
			Labels:  model.LabelSet{model.InstanceLabel: model.LabelValue(name)},
			Source:  name,
		})
	}
	return groups
}

// awaitScrapes waits until each target was scraped once more, and returns when
// the last of these scrapes began. What a server counted before the call is
// stored then.
func (m *monitor) awaitScrapes(t *testing.T) time.Time {
	t.Helper()
	now := time.Now()
	for deadline := now.Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		scraped, last := 0, now
		for _, s := range m.vector(t, "timestamp(up) and up == 1", time.Now()) {
			if at := time.UnixMilli(int64(s.F * 1000)); at.After(now) {
				scraped++
				if at.After(last) {
					last = at
				}
			}
		}
		if scraped == m.targets {
			return last
		}
	}
	t.Fatal("Prometheus scraped nothing for a minute")
	return now
}

// vector evaluates a query at one moment. It must not have warnings.
func (m *monitor) vector(t *testing.T, query string, at time.Time) promql.Vector {
	t.Helper()
	q, err := m.engine.NewInstantQuery(t.Context(), m.db, nil, query, at)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer q.Close()
	result := q.Exec(t.Context())
	if result.Err != nil {
		t.Fatalf("%s: %v", query, result.Err)
	}
	checkWarnings(t, query, result)
	v, err := result.Vector()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	// The engine uses the memory again.
	kept := make(promql.Vector, len(v))
	for i, s := range v {
		if s.H != nil {
			s.H = s.H.Copy()
		}
		kept[i] = s
	}
	return kept
}

// number evaluates a query whose result is one number.
func (m *monitor) number(t *testing.T, query string, at time.Time) float64 {
	t.Helper()
	v := m.vector(t, query, at)
	if len(v) != 1 || v[0].H != nil {
		t.Fatalf("%s: %v, want one number", query, v)
	}
	return v[0].F
}

// matrix evaluates a query over a range of time. The result is the caller's.
func (m *monitor) matrix(t *testing.T, query string, start, end time.Time, step time.Duration) promql.Matrix {
	t.Helper()
	q, err := m.engine.NewRangeQuery(t.Context(), m.db, nil, query, start, end, step)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	result := q.Exec(t.Context()) // never closed: that would take the result's memory
	if result.Err != nil {
		t.Fatalf("%s: %v", query, result.Err)
	}
	checkWarnings(t, query, result)
	v, err := result.Matrix()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func checkWarnings(t *testing.T, query string, result *promql.Result) {
	t.Helper()
	for _, w := range result.Warnings.AsErrors() {
		t.Errorf("%s: %v", query, w)
	}
}

// span returns when the first and the last sample of series were taken.
func (m *monitor) span(t *testing.T, selector string, at time.Time) (first, last time.Time) {
	t.Helper()
	q, err := m.engine.NewInstantQuery(t.Context(), m.db, nil, selector+"[1h]", at)
	if err != nil {
		t.Fatalf("%s: %v", selector, err)
	}
	defer q.Close()
	series, err := q.Exec(t.Context()).Matrix()
	if err != nil || len(series) == 0 {
		t.Fatalf("%s: no samples, %v", selector, err)
	}
	begin, end := int64(math.MaxInt64), int64(0)
	for _, s := range series {
		for _, f := range s.Floats {
			begin, end = min(begin, f.T), max(end, f.T)
		}
		for _, h := range s.Histograms {
			begin, end = min(begin, h.T), max(end, h.T)
		}
	}
	return time.UnixMilli(begin), time.UnixMilli(end)
}
