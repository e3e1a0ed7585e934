// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Alerts that fire, with their paths, stages or servers: by faults from the
// start, and by faults that the test causes later.
var (
	faultsFromStart = []string{
		"OPADecisionLogLosesEvents alone", "OPADecisionPluginFails broken", "OPADecisionsNotCounted bare", "OPAPathsWithoutLabel opa",
	}
	faultsLater = []string{
		"OPABundleNotActivated broken", "OPABundleNotDownloaded alone", "OPADecisionLogUploadFails broken", "OPADecisionLogUploadStopped changed",
		"OPADecisionsCancelled more/faults/cancelled", "OPADecisionsFail more/faults/fails", "OPADecisionsSlow server_handler",
		"OPADenialsRise more/faults/denies", "OPADenialsVanish more/faults/allows", "OPAEvaluationSlower more/faults/cancelled",
		"OPAEvaluationSlower more/faults/slow", "OPAFleetSmaller opa", "OPAPathLabelsLost opa", "OPAServerGone killed",
	}
)

// faultyPolicy returns a policy that denies one in ten, that denies four in
// ten, that calls a service which answers soon, and that has another rule. With
// faults it is the policy after somebody has changed it.
func faultyPolicy(faults bool) string {
	denies, allows, wait, fails, gone := "input.n % 10 > 0", "input.n % 10 > 3", 3, "true", "gone"
	if faults {
		denies, allows, wait, fails, gone = "false", "true", 200, "false", "renamed"
	}
	const send = `http.send({"method": "GET", "url": sprintf("%%s/wait/%d", [data.directory.url])}).status_code == 200`
	return fmt.Sprintf(`package more.faults
fine := input.n %% 10 > 1
denies := %s
allows := %s
slow := `+send+`
cancelled := `+send+`
fails := true if input.n >= 0
fails := %s if input.n >= 0
%s if input.n > 0
`, denies, allows, wait, wait, fails, gone)
}

// TestRealFaults causes the fault of each alert on real servers, after a while
// with only the faults from the start. Minutes of the rules are seconds here.
// Each alert must fire, except
// those about collectors, which TestCollector causes, and those that need a
// long log, and no other.
func TestRealFaults(t *testing.T) {
	endToEnd(t)
	controls, servers, targets := map[string]*control{}, map[string]*steady{}, map[string]string{}
	restart := func(name string, logs, plugins map[string]any) {
		config := controls[name].config(logs)
		if plugins != nil {
			config["plugins"] = plugins
		}
		servers[name].server.Store(startOPA(t, name, config))
	}
	type object = map[string]any
	for name, c := range map[string]struct{ logs, plugins object }{
		"policy": {}, // its policy has faults
		"killed": {},
		"broken": { // its bundle does not compile, its uploads are refused, the next plugin fails from the start
			object{"plugin": "regometer"},
			object{"regometer": object{"next": "file_logger"}, "file_logger": object{"path": "/dev/full"}},
		},
		"alone": { // its bundle's service does not answer; from the start its buffer is too small and it has room for one path
			uploads(object{"buffer_type": "event", "buffer_size_limit_events": 1}),
			object{"regometer": object{"max_paths": 1}},
		},
		"bare":    {plugins: object{}}, // without the plugin from the start
		"changed": {},                  // restarted with a configuration that does not upload
	} {
		controls[name], servers[name] = startControl(t), newSteady(t)
		controls[name].refused.Store(0)
		controls[name].activate(t, "first", faultyPolicy(false))
		logs := uploads(nil)
		maps.Copy(logs, c.logs)
		restart(name, logs, c.plugins)
		targets[name] = servers[name].address
	}
	files := scaledRules(t)
	m := startMonitor(t, targets, false, files...)
	// The alert about the fleet fires for one of two servers, not for one of
	// six.
	two := startMonitor(t, map[string]string{"policy": targets["policy"], "killed": targets["killed"]}, false, files...)
	firing := func() []string { return append(firing(m, false), firing(two, true)...) }

	askFaults(t, servers)
	time.Sleep(50 * time.Second)
	assert.Subset(t, faultsFromStart, firing(), "before the other faults")

	servers["killed"].server.Load().Kill()
	controls["policy"].activate(t, "second", faultyPolicy(true))
	controls["broken"].activate(t, "second", "package more.faults\n\nallow if nothing_like_it(input)\n")
	controls["broken"].refused.Store(1)
	controls["alone"].away.Store(true)
	servers["changed"].server.Load().Kill()
	restart("changed", nil, nil)

	want, fired := slices.Sorted(slices.Values(slices.Concat(faultsFromStart, faultsLater))), map[string]bool{}
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline) && len(fired) < len(want); time.Sleep(time.Second) {
		for _, alert := range firing() {
			fired[alert] = true
		}
	}
	assert.Equal(t, want, slices.Sorted(maps.Keys(fired)))
}

// scaledRules returns files of the rules with seconds in place of minutes, and
// a minute that ends half a minute ago in place of a week that ends a day ago.
func scaledRules(t *testing.T) (files []string) {
	usual := strings.NewReplacer("[1w] offset 1d", "[60s] offset 30s", "interval: 10m", "interval: 1s")
	minutes := regexp.MustCompile(`\b(\d+)m\b`)
	for _, file := range []string{nativeRules, alertRules} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		scaled := minutes.ReplaceAllStringFunc(usual.Replace(string(text)), func(m string) string {
			n, err := strconv.Atoi(strings.TrimSuffix(m, "m"))
			require.NoError(t, err)
			return fmt.Sprint(min(n, 15), "s")
		})
		scaled = strings.NewReplacer("[1h]", "[60s]", "900 *", "15 *").Replace(scaled)
		files = append(files, filepath.Join(t.TempDir(), filepath.Base(file)))
		require.NoError(t, os.WriteFile(files[len(files)-1], []byte(scaled), 0o666))
	}
	return files
}

// askFaults lets clients ask all servers until the test ends.
func askFaults(t *testing.T, servers map[string]*steady) {
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	for _, c := range []struct {
		perSecond      int
		patience       time.Duration
		servers, paths []string
	}{
		{5, 5 * time.Second, []string{"policy"}, []string{"fine", "denies", "allows", "fails", "slow", "gone"}},
		{5, 50 * time.Millisecond, []string{"policy"}, []string{"cancelled"}},
		{5, 5 * time.Second, []string{"killed", "broken", "bare", "changed"}, []string{"fine"}},
		{10, 5 * time.Second, []string{"alone"}, []string{"fine", "denies", "allows"}},
	} {
		for _, server := range c.servers {
			for _, path := range c.paths {
				all.Go(func() {
					pace := time.Tick(time.Second / time.Duration(c.perSecond))
					for n := 0; ctx.Err() == nil; n++ {
						url := servers[server].server.Load().url("/v1/data/more/faults/" + path)
						ctx, cancel := context.WithTimeout(ctx, c.patience)
						_, _, _ = ask(ctx, http.MethodPost, url, fmt.Sprintf(`{"input": {"n": %d}}`, n), "") // it may be down, or refuse
						cancel()
						<-pace
					}
				})
			}
		}
	}
}

// firing returns the alerts that fire, with their path, stage or server: either
// the one about the size of the fleet, or all others.
func firing(m *monitor, fleet bool) (found []string) {
	for _, rule := range m.rules.Rules() {
		rule, ok := rule.(*rules.AlertingRule)
		if !ok || (rule.Name() == "OPAFleetSmaller") != fleet {
			continue
		}
		for _, a := range rule.ActiveAlerts() {
			if a.State == rules.StateFiring {
				labels := a.Labels
				found = append(found, rule.Name()+" "+cmp.Or(labels.Get("path"), labels.Get("stage"), labels.Get("instance"), labels.Get("job")))
			}
		}
	}
	return found
}
