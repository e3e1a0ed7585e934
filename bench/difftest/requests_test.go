// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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

// Servers of OPA as it is and with the series give the same answers to random
// requests, and log the same. Only IDs, times, ports and the values of metrics
// differ. Chunks are too large to be split, because OPA loses events by splitting,
// as the message of the step split-chunks says.
func TestRandomRequests(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA twice: set REGOMETER_SLOW_TESTS=1")
	}
	var binaries [2]string
	for i, flag := range []string{"--unmodified", "--upstream"} {
		cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/regometer", "build", flag)
		cmd.Dir, cmd.Stderr = "../..", os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		binaries[i] = strings.TrimSpace(string(out))
	}
	const console, upload = `{"decision_logs": {"console": true, "nd_builtin_cache": true}}`, `{"services": {"sink": {"url": %q}}, "decision_logs":
		{"service": "sink", "reporting": {"min_delay_seconds": 1, "max_delay_seconds": 1, "upload_size_limit_bytes": 1048576}}}`
	for _, c := range []struct{ name, config, policy string }{
		{"no log", "{}", ""},
		{"console", console, ""},
		{"upload", upload, ""},
		{"mask and drop", console, logPolicy},
	} {
		t.Run(c.name, func(t *testing.T) {
			var answers, logs [2][]string
			for i, binary := range binaries {
				answers[i], logs[i] = ask(t, binary, c.config, c.policy)
			}
			if c.name == "no log" && len(logs[0]) > 0 || c.name != "no log" && len(logs[0]) < randomRequests/4 {
				t.Errorf("OPA logs %d decisions", len(logs[0]))
			}
			compareLines(t, "answer", answers)
			compareLines(t, "logged decision", logs)
		})
	}
}

const randomRequests = 500

func compareLines(t *testing.T, what string, lines [2][]string) {
	t.Helper()
	if len(lines[0]) != len(lines[1]) {
		t.Errorf("%ss: OPA has %d, and with the series %d", what, len(lines[0]), len(lines[1]))
		return
	}
	for i, line := range lines[0] {
		if line != lines[1][i] {
			t.Fatalf("%s %d of OPA\n%s\nwith the series\n%s", what, i, line, lines[1][i])
		}
	}
}

// ask starts a server and sends it the random requests. It returns its answers
// and what it has logged when it has ended.
func ask(t *testing.T, binary, config, policy string) (answers, logs []string) {
	t.Helper()
	var mutex sync.Mutex
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := gzip.NewReader(r.Body)
		var events []json.RawMessage
		if err == nil {
			err = json.NewDecoder(text).Decode(&events)
		}
		if err != nil {
			t.Error(err)
		}
		mutex.Lock()
		defer mutex.Unlock()
		for _, event := range events {
			logs = append(logs, blank(string(event)))
		}
	}))
	defer sink.Close()
	if strings.Contains(config, "%q") {
		config = fmt.Sprintf(config, sink.URL)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"config.json": config, "test.rego": requestPolicy, "log.rego": policy} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{"test.rego"}
	if policy != "" {
		files = append(files, "log.rego")
	}
	log := filepath.Join(dir, "log")
	do, stop := start(t, dir, log, append([]string{binary, "run", "--server", "--config-file", "config.json"}, files...))
	rnd := rand.New(rand.NewPCG(3, 6))
	for range randomRequests {
		method, path, body := randomRequest(rnd)
		status, answer, err := do(method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, fmt.Sprint(method, " ", path, " ", body, ": ", status, " ", blank(string(answer))))
	}
	if policy == "" && config != "{}" {
		if _, _, err := do(http.MethodPost, "/v1/data/test/last", "{}"); err != nil {
			t.Fatal(err)
		}
	}
	for start := time.Now(); strings.Contains(config, sink.URL) && time.Since(start) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		mutex.Lock()
		arrived := slices.ContainsFunc(logs, func(event string) bool { return strings.Contains(event, "test/last") })
		mutex.Unlock()
		if arrived {
			break
		}
	}
	stop()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(`"Decision Log"`)) {
			logs = append(logs, blank(string(line)))
		}
	}
	return answers, logs
}

// start starts a server that writes its output to the file log. do sends a
// request. stop ends the server.
func start(t *testing.T, dir, log string, command []string) (do func(method, path, body string) (int, []byte, error), stop func()) {
	t.Helper()
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	short, err := os.MkdirTemp("", "") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	socket := filepath.Join(short, "socket")
	cmd := exec.Command(command[0], append(command[1:], "--addr", "unix://"+socket)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	do = func(method, path, body string) (int, []byte, error) {
		request, err := http.NewRequest(method, "http://opa"+path, strings.NewReader(body))
		if err != nil {
			return 0, nil, err
		}
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, nil, err
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		return response.StatusCode, answer, err
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if status, _, err := do(http.MethodGet, "/health", ""); err == nil && status == http.StatusOK {
			return do, stop
		}
		if time.Since(began) > time.Minute {
			text, _ := os.ReadFile(log)
			t.Fatalf("the server does not answer: %s", text)
		}
	}
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
