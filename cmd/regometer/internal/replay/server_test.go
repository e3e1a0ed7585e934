// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/config"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/runtime"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func noError(errs ...error) { must(0, errors.Join(errs...)) }

// lay writes files into a new folder, and returns the folder.
func lay(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		noError(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(files[i+1]), 0o600))
	}
	return dir
}

// A request is a path of OPA's API, a space, and the body.
type request string

// logOf starts an OPA server with a policy, sends it requests, and returns its
// decision log, with one event in each line. decisionLogs configures the log.
func logOf(t *testing.T, policy, decisionLogs string, old bool, requests ...request) string {
	t.Helper()
	var mu sync.Mutex
	var log strings.Builder
	uploads := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var events []json.RawMessage
		noError(json.Unmarshal(must(io.ReadAll(must(gzip.NewReader(r.Body)))), &events))
		mu.Lock()
		defer mu.Unlock()
		for _, e := range events {
			log.Write(append(e, '\n'))
		}
	}))
	defer uploads.Close()
	params := runtime.NewParams()
	params.Addrs = &[]string{"127.0.0.1:0"}
	params.V0Compatible = old
	params.Paths = []string{policy}
	params.ConfigFile = filepath.Join(lay(t, "config.yaml", fmt.Sprintf(`
services: {log: {url: %q}}
labels: {region: north}
nd_builtin_cache: %t
decision_logs: {service: log, reporting: {trigger: manual}%s}`,
		uploads.URL, strings.Contains(decisionLogs, "nd_builtin_cache"), strings.TrimPrefix(decisionLogs, "nd_builtin_cache"))), "config.yaml")
	params.Logger, params.ConsoleLogger, params.Output = logging.NewNoOpLogger(), logging.NewNoOpLogger(), io.Discard
	params.GracefulShutdownPeriod = 5
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := must(runtime.NewRuntime(ctx, params))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	<-server.Manager.ServerInitializedChannel()
	for len(server.Addrs()) == 0 {
		time.Sleep(time.Millisecond)
	}
	for _, r := range requests {
		path, body, _ := strings.Cut(string(r), " ")
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		ask := must(http.NewRequest(method, "http://"+server.Addrs()[0]+path, strings.NewReader(body)))
		ask.Header.Set("Accept", "application/vnd.opa.sql.sqlite+json") // of a compilation; others do not read it
		answer, err := http.DefaultClient.Do(ask)
		noError(err)
		must(io.Copy(io.Discard, answer.Body))
		noError(answer.Body.Close())
	}
	noError(logs.Lookup(server.Manager).Trigger(ctx))
	stop()
	noError(<-ended)
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(log.String(), "\n"); n != len(requests) {
		t.Fatalf("the log has %d events, want %d:\n%s", n, len(requests), log.String())
	}
	return log.String()
}

// loaded loads policies.
func loaded(paths ...string) *Policy {
	return must(Load(context.Background(), paths, config.Config{}, false))
}

// replayed replays a log.
func replayed(t *testing.T, log string, o Options) *Report {
	t.Helper()
	file := filepath.Join(lay(t, "log", log), "log")
	o.Read.Inputs, o.Timeout = []string{file}, cmp.Or(o.Timeout, time.Minute) // a busy machine makes an evaluation slow
	return must(Run(t.Context(), o))
}

// results writes the results of each path: its decisions, and the number of
// those of each kind that is not equal.
func results(r *Report) (all []string) {
	for _, p := range r.Paths {
		line := fmt.Sprintf("%s: %d of %d equal", p.Path, p.Equal, p.Decisions)
		for _, kind := range append(p.kinds(true), p.kinds(false)...) {
			line += fmt.Sprintf(", %d %s", p.Kinds[kind], kind)
		}
		all = append(all, line)
	}
	return all
}
