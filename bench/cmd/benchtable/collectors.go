// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/opaserver"
	"github.com/regometer/regometer/internal/app/samplelog"
	"github.com/regometer/regometer/outcome"
)

// uploadServers are the servers of the part collect. They show what a decision
// log costs in OPA.
var uploadServers = []server{
	{impl: "unmodified", title: "unmodified OPA, no decision log", unmodified: true},
	{impl: "unmodified_upload", title: "unmodified OPA, decision log uploaded", unmodified: true, uploads: true},
	{impl: "dropin_upload", title: "with the drop-in, decision log uploaded", uploads: true},
	{impl: "plugin", title: "with the drop-in and the plugin, no decision log", config: `{"plugins": {"regometer": {}}}`, observed: true},
}

// collectorBuilder builds an OpenTelemetry Collector. The version is that of
// the modules in bench/otelcol/builder.yaml.
const collectorBuilder = "go.opentelemetry.io/collector/cmd/builder@v0.160.0"

// everyDecision is a number of values that each decision of a log adds to.
const everyDecision = `opa_decision_stage_duration_seconds_count{stage="rego_external_resolve"}`

// A collector follows a log and makes histograms. counts returns the numbers of
// values, by the name of Regometer's series.
type collector struct {
	impl    string
	command *exec.Cmd
	counts  func(context.Context) (map[string]float64, error)
}

// A collectBench measures regometer collect beside an OpenTelemetry Collector.
type collectBench struct {
	*measurer
	log, followed, config string // the log, the name that collectors follow, and the labels of its paths
	decisions             int64
	otlp                  *sink
	lines                 []byte // in the format of go test -bench
}

// collect measures the part collect.
func (m *measurer) collect(ctx context.Context) (lines []byte, err error) {
	m.progress.Printf("collect: building regometer and the OpenTelemetry Collector")
	if _, err := measure.Command(ctx, filepath.Join(m.Root, "cmd/regometer"), "go", "build", "-o", m.work, "."); err != nil {
		return nil, err
	}
	if _, err := measure.Command(ctx, m.work, "go", "run", collectorBuilder, "--config", filepath.Join(m.Bench, "otelcol/builder.yaml")); err != nil {
		return nil, err
	}
	b := &collectBench{measurer: m}
	if b.otlp, err = listen(countOTLP); err != nil {
		return nil, err
	}
	defer b.otlp.Close()
	if err := b.writeLog(); err != nil {
		return nil, err
	}
	for i := range m.runs {
		m.progress.Printf("collect: run %d of %d", i+1, m.runs)
		sides := [](func() (*collector, error)){b.regometer, func() (*collector, error) { return b.otelcol(), nil }}
		var counts [2]map[string]float64
		for j := range sides {
			side := (i + j) % len(sides)
			c, err := sides[side]()
			if err == nil {
				counts[side], err = b.follow(ctx, c)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := sameCounts(counts[0], counts[1]); err != nil {
			return nil, err
		}
	}
	ofServers, err := m.serve(ctx, uploadServers)
	return append(b.lines, ofServers...), err
}

// writeLog writes the log, and a configuration that gives its paths labels.
func (b *collectBench) writeLog() error {
	name := func(name string) string { return filepath.Join(b.work, name) }
	b.log, b.followed, b.config = name("sample.log"), name("followed.log"), name("labels.json")
	f, err := os.Create(b.log)
	if err != nil {
		return err
	}
	defer f.Close()
	truth, err := samplelog.Write(f, samplelog.Options{Size: int64(min(b.size, 200)) * 1_000_000})
	if err != nil {
		return err
	}
	b.decisions = truth.Inputs.Decisions
	var paths []string
	for _, g := range truth.Groups {
		if g.Path != outcome.Query && g.Path != outcome.AllData {
			paths = append(paths, g.Path)
		}
	}
	allow, err := json.Marshal(paths)
	config := fmt.Appendf(nil, `{"plugins": {"regometer": {"paths": {"allow": %s}}}}`, allow)
	return errors.Join(err, f.Close(), os.WriteFile(b.config, config, 0o644))
}

// collectTimeout limits the time that a collector may take for the log.
const collectTimeout = 5 * time.Minute

// follow starts a collector, lets it read the log, adds its figures, and
// returns its counts. The start is not measured.
func (b *collectBench) follow(ctx context.Context, c *collector) (counts map[string]float64, err error) {
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = c.command.Process.Kill() // it has done its work
		_ = c.command.Wait()
		_ = os.Remove(b.followed) // the next one fails if it is still there
	}()
	time.Sleep(2 * time.Second) // it begins at the end of a log that is there when it starts
	pid := c.command.Process.Pid
	before := cpuTime(pid)
	if err := os.Link(b.log, b.followed); err != nil {
		return nil, err
	}
	if counts, err = await(ctx, collectTimeout, c.counts, everyDecision, float64(b.decisions)); err != nil {
		return nil, fmt.Errorf("impl=%s: %w", c.impl, err)
	}
	b.lines = fmt.Appendf(b.lines, "BenchmarkCollect/impl=%s %d %.0f cpu-ns/op\n",
		c.impl, b.decisions, (cpuTime(pid)-before)/float64(b.decisions))
	return counts, nil
}

// regometer returns regometer collect.
func (b *collectBench) regometer() (*collector, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer free.Close()
	address := free.Addr().String()
	page := runningServer{process: &opaserver.Server{URL: "http://" + address}}
	command := exec.Command(filepath.Join(b.work, "regometer"), "collect", "--addr", address, "--config", b.config, "--follow", b.followed)
	return &collector{"regometer", command, page.metrics}, nil
}

// otelcol returns the OpenTelemetry Collector.
func (b *collectBench) otelcol() *collector {
	b.otlp.reset()
	command := exec.Command(filepath.Join(b.work, "otelcol/otelcol"), "--config", filepath.Join(b.Bench, "otelcol/config.yaml"))
	command.Env = append(os.Environ(), "LOG="+b.followed, "ENDPOINT=http://"+b.otlp.Addr().String())
	return &collector{"otelcol", command, b.otlp.counts}
}

// sameCounts returns an error unless the histograms of the OpenTelemetry
// Collector have as many values as Regometer's.
func sameCounts(regometer, otelcol map[string]float64) error {
	for name, n := range otelcol {
		if regometer[name] != n {
			return fmt.Errorf("%s is %v, but %v by the OpenTelemetry Collector", name, regometer[name], n)
		}
	}
	return nil
}

// collectTables returns the tables of the part collect.
func collectTables(r results) []table {
	t := table{title: "Histograms from a decision log", head: []string{"", "processor time for a decision", "ratio"}}
	t.add([]string{"OpenTelemetry Collector", r.cell("Collect", "otelcol", processorTime), ""})
	t.add([]string{"`regometer collect`", r.cell("Collect", "regometer", processorTime), r.ratio("Collect", "regometer", "otelcol", processorTime).marked("more")})
	return []table{t, tablesOf(r, uploadServers)[0]}
}
