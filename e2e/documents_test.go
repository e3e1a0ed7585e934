// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/regometer/regometer/e2e/harness"
)

// snippets returns the blocks of a language in a document.
func snippets(t *testing.T, document, language string) (found []string) {
	for _, b := range harness.Blocks(t, document) {
		if b.Language == language {
			found = append(found, b.Text)
		}
	}
	require.NotEmpty(t, found)
	return found
}

const documentedPrometheus = "# prometheus.yaml\n"

// TestDocumentedPrometheus: Prometheus reads the documented configurations, and
// their rules exist.
func TestDocumentedPrometheus(t *testing.T) {
	found := 0
	texts := append(snippets(t, "operating.md", "yaml"), snippets(t, "collecting.md", "yaml")...)
	for _, text := range append(texts, documentedPrometheus+harness.Read(t, "dashboards/prometheus.yaml")) {
		if !strings.HasPrefix(text, documentedPrometheus) {
			continue
		}
		c := loadConfig(t, text)
		for _, file := range c.RuleFiles {
			readRules(t, filepath.Join(harness.Root, "dashboards", filepath.Base(file)))
		}
		found++
	}
	assert.Equal(t, 3, found)
}

// TestDocumentedConfigurations: OPA runs with each documented configuration,
// the plugin is healthy, and the log has no errors.
func TestDocumentedConfigurations(t *testing.T) {
	harness.EndToEnd(t)
	for _, text := range snippets(t, "operating.md", "yaml") {
		if strings.HasPrefix(text, documentedPrometheus) {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := strings.ReplaceAll(text, "path: decisions.log", "path: "+filepath.Join(t.TempDir(), "decisions.log"))
			s := startProgram(t, name, harness.OPA(t), config)
			s.get(t, "/health?plugins", "")
			s.decide(t, "{}", "rbac/allow")
			assert.Contains(t, s.scrape(t), "\nopa_decisions_total{")
			assert.NotContains(t, s.Words(t), `"level":"error"`)
		})
	}
}

// TestDocumentedQueries parses the documented queries, and compares the
// documented query of classic histograms with the rule before the queries.
func TestDocumentedQueries(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"operating.md", "kubernetes.md", "alerts.md"} {
		for _, query := range snippets(t, document, "promql") {
			_, err := promqlParser.ParseExpr(classicForm(query))
			assert.NoError(t, err, query)
		}
	}
	queries := snippets(t, "operating.md", "promql")
	i := slices.IndexFunc(queries, func(query string) bool { return strings.Contains(query, "_bucket") })
	require.Positive(t, i)
	assert.Equal(t, queries[i], classicForm(queries[i-1]))
}

var (
	histogramName = regexp.MustCompile(`opa_decision_(?:stage|path)_duration_seconds(_\w+)?`)
	summedBy      = regexp.MustCompile(`sum by \(([^)]*)\)`)
)

// formOf returns the kind of histogram that a query needs: "native", "classic",
// or "" if it needs none.
func formOf(query string) string {
	switch match := histogramName.FindStringSubmatch(query); {
	case match == nil:
		return ""
	case match[1] != "":
		return "classic"
	default:
		return "native"
	}
}

// classicForm returns a query of native histograms in the form that
// docs/operating.md gives for classic ones, and other queries unchanged.
func classicForm(query string) string {
	if formOf(query) != "native" {
		return query
	}
	query = histogramName.ReplaceAllString(query, "${0}_bucket")
	query = summedBy.ReplaceAllString(query, "sum by ($1, le)")
	return strings.ReplaceAll(query, "sum(", "sum by (le) (")
}

// TestDocumentedData: each documented query returns data, and the documented
// metrics are the real ones.
func TestDocumentedData(t *testing.T) {
	harness.EndToEnd(t)
	control := startControl(t)
	logs := uploads(nil)
	logs["plugin"] = "regometer" // to export all metrics
	s := startOPA(t, "documented", control.config(logs))
	targets := map[string]string{"documented": s.address}
	native, classic := startMonitor(t, targets, monitorOptions{rules: []string{nativeRules}}), startMonitor(t, targets, monitorOptions{rules: []string{classicRules}, classic: true})
	awaitScrapes(t, native, classic)
	var all sync.WaitGroup
	for _, w := range []workload{gateway, search, calls} {
		all.Go(func() { s.run(t, w, 12*time.Second, 2, 10) })
	}
	all.Wait()
	end := awaitScrapes(t, native, classic)

	// The server has run for seconds: all ranges become as short. Nothing
	// overflows: no data is the right answer.
	short := strings.NewReplacer("[5m]", "[5s]", "[15m]", "[5s]", "[1h]", "[5s]", "[1d]", "[5s]", "offset 1h", "offset 5s")
	for _, query := range snippets(t, "operating.md", "promql") {
		query = short.Replace(query)
		for _, store := range []struct {
			form, query string
			*monitor
		}{{"native", query, native}, {"classic", classicForm(query), classic}} {
			if f := formOf(store.query); f == "" || f == store.form {
				assert.Equal(t, !strings.Contains(query, "overflow"), hasData(store.vector(t, store.query, end)), store.query)
			}
		}
	}

	text, scrape := harness.Read(t, "docs/operating.md"), s.ourFamilies(t)
	names := map[string]bool{}
	var want []string
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`).FindAllStringSubmatch(scrape, -1) {
		names[match[1]] = true
		want = append(want, fmt.Sprintf("\n| `%s` | %s", match[1], match[2]))
	}
	for _, name := range regexp.MustCompile(`\bopa_decision\w*`).FindAllString(text, -1) {
		family := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		assert.Contains(t, names, family, "documented but not on /metrics")
	}
	for _, part := range want {
		assert.True(t, strings.Contains(text, part), "docs/operating.md does not contain %q", part)
	}
}
