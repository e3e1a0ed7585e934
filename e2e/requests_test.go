// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const requestPolicy = `package test

default allow := false

allow if input.user == "alice"

conflict := 1 if input.a

conflict := 2 if input.user

decoded := base64.decode(input.text)

names contains name if some name in input.list

numbers := [1e100, 12345678901234567890, input.n]

echo := input
`

const logPolicy = `package system.log

drop if input.path == "test/names"

mask contains "/input/text"

mask contains {"op": "upsert", "path": "/input/user", "value": "hidden"} if input.result == true
`

const randomRequests = 500

// TestRandomRequests: servers of OPA as it is and with the series give the same
// answers to random requests, and log the same. Only IDs, times, ports and the
// values of metrics differ. Chunks are too large to be split, because OPA loses
// events by splitting, as the message of the step split-chunks says.
func TestRandomRequests(t *testing.T) {
	endToEnd(t)
	binaries := []string{unmodifiedOPA(t), seriesOPA(t)}
	const console = `{"decision_logs": {"console": true, "nd_builtin_cache": true}}`
	var files []string
	for _, text := range []string{requestPolicy, logPolicy} {
		files = append(files, filepath.Join(t.TempDir(), "policy.rego"))
		require.NoError(t, os.WriteFile(files[len(files)-1], []byte(text), 0o666))
	}
	control := startControl(t)
	control.refused.Store(0)
	upload := asJSON(t, map[string]any{
		"services":      map[string]any{"control": map[string]any{"url": control.server.URL}},
		"decision_logs": uploads(map[string]any{"upload_size_limit_bytes": 1 << 20}),
	})
	for name, c := range map[string]struct {
		config   string
		policies []string
		logs     bool
	}{
		"no log":        {"{}", files[:1], false},
		"console":       {console, files[:1], true},
		"upload":        {upload, files[:1], true},
		"mask and drop": {console, files, true},
	} {
		t.Run(name, func(t *testing.T) {
			var answers, logs [2][]string
			for i, binary := range binaries {
				answers[i], logs[i] = askRandomly(t, control, binary, c.config, c.policies)
			}
			assert.Equal(t, answers[0], answers[1])
			assert.Equal(t, logs[0], logs[1])
			if c.logs {
				assert.Greater(t, len(logs[0]), randomRequests/4)
			}
		})
	}
}

// askRandomly starts a server and sends it the random requests. It returns its
// answers and what it has logged.
func askRandomly(t *testing.T, control *control, binary, config string, policies []string) (answers, logs []string) {
	s := startProgram(t, "random", binary, config, policies...)
	before := len(control.logged())
	rnd := rand.New(rand.NewPCG(3, 6)) //nolint:gosec // the same requests for both
	for range randomRequests {
		method, path, body := randomRequest(rnd)
		status, answer, err := ask(t.Context(), method, s.url(path), body, "")
		require.NoError(t, err)
		answers = append(answers, fmt.Sprint(method, " ", path, " ", body, ": ", status, " ", blank(answer)))
	}
	if strings.Contains(config, control.server.URL) {
		s.decide(t, "{}", "test/last")
		await(t, "the last decision is uploaded", func() bool {
			all := control.logged()
			return len(all) > before && strings.Contains(all[len(all)-1], "test/last")
		})
		logs = control.logged()[before:]
	}
	text, err := os.ReadFile(s.Log)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"Decision Log"`) {
			logs = append(logs, line)
		}
	}
	for i, event := range logs {
		logs[i] = blank(event)
	}
	return answers, logs
}

// randomRequest returns a request of any of OPA's APIs for decisions. Some are
// malformed.
func randomRequest(rnd *rand.Rand) (method, path, body string) {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	input := map[string]any{
		"user": pick("alice", "bob", "<é>"), "text": pick("/w==", "YWJj", "no base64"), "n": rnd.Int64(), "a": rnd.IntN(2) == 0,
		"list": []any{pick("x", "y"), rnd.Float64(), map[string]any{"k": nil}},
	}
	for _, name := range slices.Sorted(maps.Keys(input)) {
		if rnd.IntN(3) == 0 {
			delete(input, name)
		}
	}
	text, _ := json.Marshal(input) // these values have JSON
	data := "data/test/" + pick("allow", "conflict", "decoded", "names", "numbers", "echo", "missing")
	param := pick("", "", "metrics", "instrument", "pretty", "provenance", "strict-builtin-errors", "explain=notes", "rule_labels")
	switch rnd.IntN(8) {
	case 0:
		return http.MethodGet, "/v1/" + data + "?" + param + "&input=" + url.QueryEscape(string(text)), ""
	case 1:
		return http.MethodPost, "/v0/" + data + "?" + param, string(text)
	case 2:
		return http.MethodPost, "/v1/query?" + param, fmt.Sprintf(`{"query": "x = %s", "input": %s}`, strings.ReplaceAll(data, "/", "."), text)
	case 3:
		return http.MethodPost, "/v1/" + data + "?" + param, pick("{", `{"input": }`, "[]", "{}", `{"input": 1} 2`, "")
	}
	return http.MethodPost, "/v1/" + data + "?" + param, fmt.Sprintf(`{"input": %s}`, text)
}

var port = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// blank returns an answer or a logged decision without what differs from run to
// run. Of metrics, it keeps the names.
func blank(text string) string {
	text = port.ReplaceAllString(text, "127.0.0.1")
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if d.Decode(&object) != nil {
		return text
	}
	for _, name := range []string{"decision_id", "timestamp", "time", "labels", "provenance"} {
		if _, ok := object[name]; ok {
			object[name] = ""
		}
	}
	if metrics, ok := object["metrics"].(map[string]any); ok {
		object["metrics"] = slices.Sorted(maps.Keys(metrics))
	}
	blanked, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	rest, _ := io.ReadAll(d.Buffered()) // of memory
	return string(blanked) + strings.TrimSpace(string(rest))
}
