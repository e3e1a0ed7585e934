// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/promql/parser"
)

// document returns the text of a file in docs.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// operating returns the text of docs/operating.md.
func operating(t *testing.T) string {
	t.Helper()
	return document(t, "operating.md")
}

// snippets returns the blocks of a language in docs/operating.md.
func snippets(t *testing.T, language string) []string {
	t.Helper()
	return snippetsIn(t, operating(t), language)
}

func snippetsIn(t *testing.T, text, language string) (found []string) {
	t.Helper()
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	if len(found) == 0 {
		t.Fatalf("no block of %s found", language)
	}
	return found
}

// TestDocumentedPrometheus: Prometheus takes the documented configuration.
func TestDocumentedPrometheus(t *testing.T) {
	t.Parallel()
	tested := 0
	for _, text := range snippets(t, "yaml") {
		if !strings.HasPrefix(text, "# prometheus.yaml\n") {
			continue
		}
		tested++
		c, err := config.Load(text, promslog.NewNopLogger())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.ScrapeConfigs {
			if !s.ScrapeNativeHistogramsEnabled() {
				t.Errorf("native histograms are not scraped:\n%s", text)
			}
		}
		for _, file := range c.RuleFiles {
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Error(err)
			}
		}
	}
	if tested != 1 {
		t.Errorf("%d configurations of Prometheus found, want 1", tested)
	}
}

// TestDocumentedConfigurations: OPA runs with each documented configuration,
// the plugin is well, and there are no errors.
func TestDocumentedConfigurations(t *testing.T) {
	endToEnd(t)
	binary, err := opaBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range snippets(t, "yaml") {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		if name == "prometheus.yaml" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			text := strings.ReplaceAll(text, "path: decisions.log", "path: "+filepath.Join(dir, "decisions.log"))
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			s := &opa{name: name, address: freeAddress(t), logFile: filepath.Join(dir, "opa.log"), exited: make(chan struct{})}
			s.start(t, binary, file)
			if !s.waitUntilHealthy(t) {
				t.Fatalf("OPA ends with\n%s", s.lastWords(t))
			}
			s.get(t, "/health?plugins")
			s.get(t, "/v1/data/rbac/allow")
			scrape := string(s.get(t, "/metrics"))
			if !strings.Contains(scrape, "\nopa_decisions_total{") {
				t.Errorf("/metrics does not have the decision:\n%s", ourFamilies(scrape))
			}
			if words := s.lastWords(t); strings.Contains(words, `"level":"error"`) {
				t.Errorf("OPA says:\n%s", words)
			}
		})
	}
}

// TestDocumentedQueries parses the documented queries. Each that needs a
// histogram is there for native and for classic ones.
func TestDocumentedQueries(t *testing.T) {
	t.Parallel()
	forms := map[queryForm]int{}
	for _, query := range snippets(t, "promql") {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(query); err != nil {
			t.Errorf("%v\n%s", err, query)
		}
		forms[formOf(query)]++
	}
	if forms[nativeForm] == 0 || forms[nativeForm] != forms[classicForm] {
		t.Errorf("%d queries of native histograms, %d of classic ones", forms[nativeForm], forms[classicForm])
	}
}

// A queryForm says which kind of histogram a query needs.
type queryForm int

const (
	anyForm queryForm = iota
	nativeForm
	classicForm
)

var histogramName = regexp.MustCompile(`opa_decision_(?:stage|path)_duration_seconds(_\w+)?`)

func formOf(query string) queryForm {
	switch match := histogramName.FindStringSubmatch(query); {
	case match == nil:
		return anyForm
	case match[1] != "":
		return classicForm
	default:
		return nativeForm
	}
}

// TestDocumentedData: each documented query returns data, and the metrics,
// labels and bounds that are documented are those that there are.
func TestDocumentedData(t *testing.T) {
	endToEnd(t)
	control := startControl(t)
	s := startOPA(t, "documented", control.config(map[string]any{
		"service": "control", "resource": "logs", "reporting": map[string]any{"min_delay_seconds": 1, "max_delay_seconds": 2},
	}))
	targets := map[string]string{"documented": s.address}
	native := startMonitor(t, targets, monitorOptions{})
	classic := startMonitor(t, targets, monitorOptions{classic: true})
	native.awaitScrapes(t)
	classic.awaitScrapes(t)
	var all sync.WaitGroup
	for _, w := range []workload{gateway, search, calls} {
		all.Go(func() { s.run(t, w, 12*time.Second, 2, 10) })
	}
	all.Wait()
	end := native.awaitScrapes(t)
	if at := classic.awaitScrapes(t); at.After(end) {
		end = at
	}

	// The server has run for seconds. All kinds of ranges are as long as these.
	short := strings.NewReplacer("[5m]", "[5s]", "[15m]", "[5s]", "[1h]", "[5s]", "[1d]", "[5s]", "offset 1h", "offset 5s")
	for _, query := range snippets(t, "promql") {
		query = short.Replace(query)
		for form, m := range map[queryForm]*monitor{nativeForm: native, classicForm: classic} {
			if f := formOf(query); f != anyForm && f != form {
				continue
			}
			data := hasData(m.vector(t, query, end))
			// That no limit was reached is the right answer.
			if want := !strings.Contains(query, "overflow"); data != want {
				t.Errorf("has data: %t, want %t:\n%s", data, want, query)
			}
		}
	}

	text := operating(t)
	scrape := ourFamilies(string(s.get(t, "/metrics")))
	names := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`).FindAllStringSubmatch(scrape, -1) {
		names[match[1]] = true
		if row := fmt.Sprintf("\n| `%s` | %s", match[1], match[2]); !strings.Contains(text, row) {
			t.Errorf("not documented, or with another type: %s", row)
		}
	}
	for _, name := range regexp.MustCompile(`\bopa_decision\w*`).FindAllString(text, -1) {
		family := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		if !names[family] {
			t.Errorf("documented but not there: %s", name)
		}
	}
	for _, label := range regexp.MustCompile(`(?:kind|reason|cause|outcome)="(\w+)"`).FindAllStringSubmatch(scrape, -1) {
		if !strings.Contains(text, "`"+label[1]+"`") {
			t.Errorf("not documented: %s", label[0])
		}
	}
	if !strings.Contains(text, "never more than "+thousands(maxSeries)+" series a server") {
		t.Errorf("the introduction does not say %d series", maxSeries)
	}
	for _, bound := range []string{
		fmt.Sprintf("| %s (`max_series`) |", thousands(maxSeries)),
		fmt.Sprintf("| %d | `make e2e` |", maxStoredSeries),
		fmt.Sprintf("| %d MiB | `make e2e` |", maxHeapGrowth>>20),
	} {
		if !strings.Contains(text, bound) {
			t.Errorf("the bounds lack %s", bound)
		}
	}
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
