// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// snippets returns the blocks of a language in a document.
func snippets(t *testing.T, document, language string) (found []string) {
	for _, b := range blocks(t, document) {
		if b.language == language {
			found = append(found, b.text)
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
	for _, text := range append(texts, documentedPrometheus+read(t, "dashboards/prometheus.yaml")) {
		if !strings.HasPrefix(text, documentedPrometheus) {
			continue
		}
		c := loadConfig(t, text)
		for _, file := range c.RuleFiles {
			readRules(t, filepath.Join(root, "dashboards", filepath.Base(file)))
		}
		found++
	}
	assert.Equal(t, 3, found)
}

// TestDocumentedConfigurations: OPA runs with each documented configuration,
// the plugin is healthy, and the log has no errors.
func TestDocumentedConfigurations(t *testing.T) {
	endToEnd(t)
	for _, text := range snippets(t, "operating.md", "yaml") {
		if strings.HasPrefix(text, documentedPrometheus) {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := strings.ReplaceAll(text, "path: decisions.log", "path: "+filepath.Join(t.TempDir(), "decisions.log"))
			s := startProgram(t, name, regometerOPA(t), config)
			s.get(t, "/health?plugins", "")
			s.decide(t, "{}", "rbac/allow")
			assert.Contains(t, s.scrape(t), "\nopa_decisions_total{")
			assert.NotContains(t, s.Words(t), `"level":"error"`)
		})
	}
}

// testDocuments: each documented query returns data, and the documented metrics
// are the real ones.
func testDocuments(t *testing.T, f *fleet) {
	// The servers have run for seconds: all ranges become as short. Nothing
	// overflows: no data is the right answer.
	short := strings.NewReplacer("[5m]", "[5s]", "[15m]", "[5s]", "[1h]", "[5s]", "[1d]", "[5s]", "offset 1h", "offset 5s")
	for _, document := range []string{"operating.md", "kubernetes.md"} {
		for _, query := range snippets(t, document, "promql") {
			m := f.native
			if strings.Contains(query, "_seconds_bucket") {
				m = f.classic
			}
			assert.Equal(t, !strings.Contains(query, "overflow"), hasData(m.vector(t, short.Replace(query), f.end)), query)
		}
	}

	text, scrape := read(t, "docs/operating.md"), ""
	for _, s := range f.servers {
		scrape += s.ourFamilies(t)
	}
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
