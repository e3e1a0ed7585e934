// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/runtime"

	_ "github.com/regometer/regometer/opa/plugin/register"
)

const policy = `package rbac
default allow := false
allow if input.user == "alice"
decision := {"allow": allow}
deny contains "no" if not allow
roles := {"alice": ["admin"]}
call := http.send({"method": "GET", "url": "http://127.0.0.1:1"}).status_code
broken := 1 if to_number(input.user) == 1
conflict := true
conflict := false`

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func noError(errs ...error) { must(0, errors.Join(errs...)) }

func write(name, text string) { noError(os.WriteFile(name, []byte(text), 0o600)) }

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s it is not true that %s", what)
		}
	}
}

// scrape returns a collector's page.
func scrape(c *Collector) string {
	noError(c.Wait(context.Background()))
	return ask(c, request("GET", "/metrics", "")).Body.String()
}

// series returns the series of a page that come from decisions.
func series(page string) []string {
	found := slices.DeleteFunc(strings.Split(page, "\n"), func(line string) bool { return !strings.HasPrefix(line, "opa_") })
	slices.Sort(found)
	return found
}

// value returns the value of a series of a page, or "".
func value(page, name string) string {
	_, text, _ := strings.Cut("\n"+page, "\n"+name+" ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// startOPA starts a server with a configuration and the policy, and returns its
// URL. It runs until the test ends.
func startOPA(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	lay(dir, map[string]string{"policy.rego": policy, "config.yaml": config})
	params := runtime.NewParams()
	params.Addrs = &[]string{"127.0.0.1:0"}
	params.ConfigFile, params.Paths = dir+"/config.yaml", []string{dir + "/policy.rego"}
	params.Logger, params.ConsoleLogger, params.Output = logging.NewNoOpLogger(), logging.NewNoOpLogger(), io.Discard
	params.GracefulShutdownPeriod = 1
	server := must(runtime.NewRuntime(t.Context(), params))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(t.Context()) }()
	t.Cleanup(func() { noError(<-ended) })
	<-server.Manager.ServerInitializedChannel()
	eventually(t, "the server listens", func() bool { return len(server.Addrs()) > 0 })
	return "http://" + server.Addrs()[0]
}

// over sends a request over a connection, and returns the status and the text of
// the answer.
func over(client *http.Client, method, url string, body io.Reader) (int, string) {
	answer, err := client.Do(must(http.NewRequest(method, url, body)))
	noError(err)
	defer answer.Body.Close()
	return answer.StatusCode, string(must(io.ReadAll(answer.Body)))
}

func post(url, body string) { over(http.DefaultClient, http.MethodPost, url, strings.NewReader(body)) }

// told has the families that decision logs tell, and untold matches the series
// of a server that they do not tell. Decide for each new series.
const told = "counters_total errors_total label_overflow_total labels_lost_total metric_series path_duration_seconds " +
	"path_self_seconds_total policy_paths received_total stage_duration_seconds stage_self_seconds_total stage_unfinished_total decisions_total"

var untold = regexp.MustCompile(`(http_send_failures|log_events|plugin_failures|values_invalid)_total|source="server"`)

// One server counts its decisions with the plugin, and uploads them. Both pages
// have the same series with the same values, except those that a log does not
// tell. These are missing at the collector, and not 0. The server has one service
// for everything: the collector has no bundle for it, and takes no status.
func TestSameSeries(t *testing.T) {
	forward := forwardTo(func(*http.Request) int { return 200 })
	c := newCollector(Options{Version: "v1", Config: []byte(`{"path_stages": ["rego_query_eval"], "outcomes": {"rbac/roles": "not result.alice"}}`), Forward: forward})
	collector := httptest.NewServer(c)
	t.Cleanup(collector.Close)
	dir := t.TempDir()
	lay(dir, map[string]string{"policy.rego": policy})
	must(NewPolicy(c, []string{dir}, must(ReadConfig(""))))
	opa := startOPA(t, fmt.Sprintf(`
services: {regometer: {url: %q}}
bundles: {b: {service: regometer, polling: {min_delay_seconds: 1, max_delay_seconds: 1}}}
status: {service: regometer}
decision_logs: {plugin: regometer, service: regometer, reporting: {min_delay_seconds: 1, max_delay_seconds: 1}}
plugins: {regometer: {path_stages: [rego_query_eval], outcomes: {rbac/roles: not result.alice}}}`, collector.URL))
	page := func() string {
		_, text := over(http.DefaultClient, http.MethodGet, opa+"/metrics", nil)
		return text
	}
	for i := range 30 {
		for path := range strings.SplitSeq("rbac/allow rbac/decision rbac/deny rbac/roles rbac/roles/alice rbac/broken rbac/conflict rbac/call gone/for/good rbac  rbac/allow/x", " ") {
			post(opa+"/v1/data/"+path, fmt.Sprintf(`{"input": {"user": %q}}`, []string{"alice", "bob"}[i%2]))
		}
		for _, query := range []string{"data.rbac.allow = x", "data.rbac.nothing = x", "1 +"} {
			post(opa+"/v1/query", fmt.Sprintf(`{"query": %q}`, query))
		}
	}
	const received = `opa_decision_received_total{source="decision_log"}`
	eventually(t, "the collector has all decisions, and was asked for a bundle and told a status", func() bool {
		counts, want := tallyOf(c), value(page(), received)
		return want != "" && want != "0" && value(scrape(c), received) == want && counts["other_requests bundle"]*counts["other_requests status"] > 0
	})
	got := series(scrape(c))
	number := fmt.Sprint("opa_decision_metric_series ", len(got)+1) // with regometer_build_info
	all := series(regexp.MustCompile(`(?m)^opa_decision_metric_series .*$`).ReplaceAllString(page(), number))
	want := slices.DeleteFunc(slices.Clone(all), untold.MatchString)
	if failed := value(page(), `opa_decision_http_send_failures_total{cause="connection"}`); failed == "0" || len(want) < 100 || len(all) != len(want)+10 || tallyOf(c)["uncounted no_decisions"] > 0 {
		t.Errorf("%s requests failed, there are %d untold series, and the collector has %v", failed, len(all)-len(want), tallyOf(c))
	}
	for _, s := range slices.Concat(got, want) {
		if !slices.Contains(got, s) || !slices.Contains(want, s) {
			t.Errorf("only one page has %s", s)
		}
	}
	var families []string
	for _, family := range regexp.MustCompile(`(?m)^# TYPE opa_(?:decision_)?(\S+)`).FindAllStringSubmatch(scrape(c), -1) {
		families = append(families, family[1])
	}
	if strings.Join(families, " ") != told {
		t.Errorf("the collector has the families %q, want %q", families, told)
	}
	for _, part := range strings.Split(`outcome="allowed" outcome="denied" outcome="result" outcome="undefined" outcome="error" go_goroutines process_cpu_seconds_total `+
		`regometer_build_info{version="v1"} regometer_collect_bodies_refused_total{reason="slow"}`, " ") {
		if !strings.Contains(scrape(c), part) {
			t.Errorf("the page lacks %s", part)
		}
	}
}
