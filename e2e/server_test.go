// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"
)

// An opa is a running OPA server.
type opa struct {
	*process
	name, address string

	mu   sync.Mutex
	sent map[[2]string]int // decisions that run asked for, by path and outcome
}

// startOPA starts a server and waits until its bundles are activated.
func startOPA(t *testing.T, name string, config map[string]any) *opa {
	return startProgram(t, name, regometerOPA(t), asJSON(t, config))
}

// startProgram does the same with a program that has OPA's command line, to
// which it adds args.
func startProgram(t *testing.T, name, binary, config string, args ...string) *opa {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o666))
	// OPA can choose a port itself but does not log it. Another process may
	// take our port before OPA does.
	for attempt := 1; ; attempt++ {
		s := &opa{name: name, address: freeAddress(t), sent: map[[2]string]int{}}
		cmd := exec.Command(binary, append([]string{"run", "--server", "--addr", s.address, "--config-file", file,
			"--log-level", "error", "--log-format", "json", "--skip-version-check", "--pprof"}, args...)...)
		for _, entry := range os.Environ() {
			if !strings.HasPrefix(entry, "OPA_") { // OPA takes flags from there
				cmd.Env = append(cmd.Env, entry)
			}
		}
		s.process = start(t, cmd)
		await(t, name+" is healthy", func() bool {
			status, _, _ := ask(t.Context(), http.MethodGet, s.url("/health?bundles"), "", "")
			return status == http.StatusOK || s.Ended()
		})
		if !s.Ended() {
			return s
		}
		words := s.Words(t)
		require.True(t, attempt < 5 && strings.Contains(words, "address already in use"), "OPA %s has ended:\n%s", name, words)
	}
}

func asJSON(t *testing.T, value any) string {
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

func (s *opa) url(path string) string { return "http://" + s.address + path }

// get returns the body of a page. It fails the test if the page is missing.
func (s *opa) get(t *testing.T, path, accept string) string {
	status, body, err := ask(t.Context(), http.MethodGet, s.url(path), "", accept)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "GET %s: %.300s", path, body)
	return body
}

// scrape returns the lines of a scrape by text.
func (s *opa) scrape(t *testing.T) string { return s.get(t, "/metrics", "") }

// families returns a scrape by protobuf.
func (s *opa) families(t *testing.T) map[string]*dto.MetricFamily {
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	decoder := expfmt.NewDecoder(bytes.NewReader([]byte(s.get(t, "/metrics", string(format)))), format)
	families := map[string]*dto.MetricFamily{}
	for {
		var family dto.MetricFamily
		err := decoder.Decode(&family)
		if err == io.EOF { //nolint:errorlint // the decoder returns it as it is
			return families
		}
		require.NoError(t, err)
		families[family.GetName()] = &family
	}
}

// awaitRevision returns once a server has activated a revision of the bundle.
func (s *opa) awaitRevision(t *testing.T, revision string) {
	await(t, s.name+" activates "+revision, func() bool {
		return strings.Contains(s.scrape(t), `active_revision="`+revision+`"`)
	})
}

// ask asks a question. It returns an error if the answer does not have the
// expected HTTP status.
func (s *opa) ask(t *testing.T, q question) error {
	want := http.StatusOK
	if q.outcome == "error" {
		want = http.StatusInternalServerError
	}
	status, body, err := ask(t.Context(), q.method, s.url(q.path), q.body, "")
	if err == nil && status != want {
		err = fmt.Errorf("HTTP status %d: %.300s", status, body)
	}
	if err != nil {
		err = fmt.Errorf("%s: %s %s: %w", s.name, q.method, q.path, err)
	}
	return err
}

// decide asks for decisions by paths, with an input that is JSON.
func (s *opa) decide(t *testing.T, input string, paths ...string) {
	for _, path := range paths {
		require.NoError(t, s.ask(t, question{method: http.MethodPost, path: "/v1/data/" + path, body: `{"input": ` + input + `}`}))
	}
}
