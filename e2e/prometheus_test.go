// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
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
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const scrapeInterval = time.Second

// A monitor is Prometheus without its web server: its scrape manager, storage,
// query engine and rule manager.
type monitor struct {
	db      *teststorage.TestStorage
	engine  *promql.Engine
	rules   *rules.Manager // nil without rules
	targets int
}

var promqlParser = parser.NewParser(parser.Options{})

// startMonitor scrapes addresses, with the names of their instances, until the
// test ends. It stores native histograms, or classic ones, and evaluates the
// rules in files.
func startMonitor(t *testing.T, targets map[string]string, classic bool, files ...string) *monitor {
	db := teststorage.New(t)
	m := &monitor{db: db, targets: len(targets), engine: promql.NewEngine(promql.EngineOpts{
		Logger: promslog.NewNopLogger(), MaxSamples: 50_000_000, Timeout: time.Minute,
		LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: promqlParser,
	})}
	registry, log := prometheus.NewRegistry(), promslog.NewNopLogger()
	scraper, err := scrape.NewManager(&scrape.Options{
		DiscoveryReloadInterval: model.Duration(10 * time.Millisecond),
	}, log, nil, nil, m.db, registry)
	require.NoError(t, err)
	c := scrapeConfig(t, classic)
	require.NoError(t, scraper.ApplyConfig(c))
	groups := make(chan map[string][]*targetgroup.Group, 1)
	groups <- map[string][]*targetgroup.Group{c.ScrapeConfigs[0].JobName: targetGroups(targets)}
	var running sync.WaitGroup
	running.Go(func() { _ = scraper.Run(groups) }) // until Stop

	ctx, cancel := context.WithCancel(context.Background())
	if len(files) > 0 {
		m.rules = rules.NewManager(&rules.ManagerOptions{
			ExternalURL: &url.URL{}, QueryFunc: rules.EngineQueryFunc(m.engine, m.db), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
			Context: ctx, AppendableV2: m.db, Queryable: m.db, Logger: log, Registerer: registry, Parser: promqlParser,
		})
		require.NoError(t, m.rules.Update(scrapeInterval, files, c.GlobalConfig.ExternalLabels, "", nil))
		running.Go(m.rules.Run)
	}
	t.Cleanup(func() {
		if m.rules != nil {
			m.rules.Stop()
		}
		scraper.Stop()
		cancel()
		running.Wait()
	})
	return m
}

// scrapeConfig is dashboards/prometheus.yaml with another interval.
func scrapeConfig(t *testing.T, classic bool) *config.Config {
	c := loadConfig(t, read(t, "dashboards/prometheus.yaml"))
	s := c.ScrapeConfigs[0]
	if classic {
		native := false
		s.ScrapeNativeHistograms = &native
		s.ScrapeProtocols = config.DefaultScrapeProtocols
	}
	s.ScrapeInterval, s.ScrapeTimeout = model.Duration(scrapeInterval), model.Duration(scrapeInterval)
	return c
}

// loadConfig reads a configuration, which must scrape native histograms.
func loadConfig(t *testing.T, text string) *config.Config {
	c, err := config.Load(text, promslog.NewNopLogger())
	require.NoError(t, err)
	for _, s := range c.ScrapeConfigs {
		require.True(t, s.ScrapeNativeHistogramsEnabled(), "scrape_native_histograms in\n%s", text)
	}
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

// awaitScrapes returns once each target was scraped again, with the time of the
// last of these scrapes. Prometheus has then stored everything that a server
// counted before the call.
func awaitScrapes(t *testing.T, monitors ...*monitor) time.Time {
	now := float64(time.Now().UnixMilli()) / 1000
	last := now
	for _, m := range monitors {
		await(t, "each target is scraped", func() bool {
			scraped := m.vector(t, fmt.Sprintf("timestamp(up) > %.3f and up == 1", now), time.Now())
			for _, s := range scraped {
				last = max(last, s.F)
			}
			return len(scraped) == m.targets
		})
	}
	return time.UnixMilli(int64(math.Round(last * 1000)))
}

// query executes a query. The result must not have warnings.
func (m *monitor) query(t *testing.T, q promql.Query, err error) *promql.Result {
	require.NoError(t, err)
	result := q.Exec(t.Context()) // never closed: the result keeps its memory
	require.NoError(t, result.Err, "%s", q)
	assert.Empty(t, result.Warnings.AsErrors(), "%s", q)
	return result
}

// vector evaluates a query at one moment.
func (m *monitor) vector(t *testing.T, query string, at time.Time) promql.Vector {
	q, err := m.engine.NewInstantQuery(t.Context(), m.db, nil, query, at)
	v, err := m.query(t, q, err).Vector()
	require.NoError(t, err, query)
	return v
}

// number evaluates a query whose result is one number.
func (m *monitor) number(t *testing.T, query string, at time.Time) float64 {
	v := m.vector(t, query, at)
	require.Len(t, v, 1, query)
	require.Nil(t, v[0].H, query)
	return v[0].F
}

// byLabels evaluates a query and returns its numbers by the values of these
// labels.
func (m *monitor) byLabels(t *testing.T, query string, at time.Time, names [2]string) map[[2]string]int {
	got := map[[2]string]int{}
	for _, s := range m.vector(t, query, at) {
		got[[2]string{s.Metric.Get(names[0]), s.Metric.Get(names[1])}] = int(s.F)
	}
	return got
}

// matrix evaluates a query over a range of time.
func (m *monitor) matrix(t *testing.T, query string, start, end time.Time, step time.Duration) promql.Matrix {
	q, err := m.engine.NewRangeQuery(t.Context(), m.db, nil, query, start, end, step)
	v, err := m.query(t, q, err).Matrix()
	require.NoError(t, err, query)
	return v
}

// hasData reports whether there is a histogram that is not empty, or a number.
func hasData(v promql.Vector) bool {
	return slices.ContainsFunc(v, func(s promql.Sample) bool { return s.H != nil && s.H.Count > 0 || s.H == nil && !math.IsNaN(s.F) })
}
