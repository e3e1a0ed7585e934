// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opaserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also a fake OPA, if its first argument is "run" and its
// second one of these.
const (
	fakeGood    = "good"
	fakeBroken  = "broken"  // does not start
	fakeDying   = "dying"   // ends at the first decision
	fakeHanging = "hanging" // never answers
	fakeDeaf    = "deaf"    // does not end when it is asked to
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "run" {
		runFake(os.Args[2], os.Args[3:])
		return
	}
	os.Exit(m.Run())
}

func runFake(kind string, args []string) {
	exit := func(message string) {
		fmt.Fprintln(os.Stderr, message)
		os.Exit(3)
	}
	value := func(flag string) string { return args[slices.Index(args, flag)+1] }
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	fmt.Fprintln(os.Stderr, strings.Repeat("chatter\n", 20)+"hello")
	fmt.Fprintln(os.Stderr, `{"msg":"Decision Log"}`)
	switch kind {
	case fakeBroken:
		exit("rego_parse_error: somewhere")
	case fakeHanging:
		<-stopped
		fmt.Fprintln(os.Stderr, "stopped")
		return
	}
	mux := http.NewServeMux()
	ready := time.Now().Add(50 * time.Millisecond)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		if time.Now().Before(ready) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /v1/config", func(w http.ResponseWriter, _ *http.Request) {
		if time.Now().Before(ready) {
			exit("asked before it is healthy")
		}
		fmt.Fprint(w, `{"result":{"labels":{"version":"1.2.3"}}}`)
	})
	mux.HandleFunc("POST /v1/data", func(w http.ResponseWriter, r *http.Request) {
		if kind == fakeDying {
			exit("panic: something went wrong")
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Header.Get("Content-Type"), body, os.Getenv("OPA_TEST"))
	})
	go func() { exit(http.ListenAndServe(value("--addr"), mux).Error()) }()
	<-stopped
	if kind == fakeDeaf {
		fmt.Fprintln(os.Stderr, "pardon?")
		select {}
	}
}

// chatter has the lines before the greeting that an error quotes, if one line
// follows the greeting: an error quotes twelve lines.
var chatter = strings.Repeat("  chatter\n", 10)

func options(t *testing.T, kind string) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Name: "fake", Command: []string{self, "run", kind}, Log: filepath.Join(t.TempDir(), "log")}
}

func startFake(t *testing.T, kind string) *Server {
	t.Helper()
	s, err := Start(t.Context(), options(t, kind))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() }) // tests that it is for have done so
	return s
}

func TestServer(t *testing.T) {
	t.Setenv("OPA_TEST", "a flag of OPA's")
	s := startFake(t, fakeGood)
	if s.Version != "1.2.3" {
		t.Errorf("version %q", s.Version)
	}
	status, answer, err := s.Do(t.Context(), http.MethodPost, "/v1/data", `{}`)
	if status != http.StatusOK || string(answer) != "application/json {} " || err != nil {
		t.Errorf("POST gives %d, %q, %v", status, answer, err)
	}
	if _, err := s.Get(t.Context(), "/nothing"); err == nil || !strings.Contains(err.Error(), "the fake answered GET /nothing with HTTP status 404") {
		t.Errorf("GET of nothing: %v", err)
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")); err == nil {
		t.Error("it still listens")
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), options(t, fakeBroken))
	if want := "the fake ended unexpectedly (exit status 3); its last lines:\n" + chatter + "  hello\n  rego_parse_error: somewhere"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}

	missing := options(t, fakeGood)
	missing.Command[0] = filepath.Join(t.TempDir(), "opa")
	if _, err = Start(t.Context(), missing); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "cannot start the fake") {
		t.Errorf("without a binary: error %v", err)
	}
}

// The waiting ends with its context, and nothing is left running.
func TestStartInterrupted(t *testing.T) {
	t.Parallel()
	o := options(t, fakeHanging)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
			if log, err := os.ReadFile(o.Log); err == nil && strings.Contains(string(log), "hello") {
				cancel()
			}
		}
	}()
	if _, err := Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if log, err := os.ReadFile(o.Log); err != nil || !strings.HasSuffix(string(log), "\nstopped\n") {
		t.Errorf("it wrote %q, %v", log, err)
	}
}

func TestServerDies(t *testing.T) {
	t.Parallel()
	s := startFake(t, fakeDying)
	want := "the fake ended unexpectedly (exit status 3); its last lines:\n" + chatter + "  hello\n  panic: something went wrong"
	_, _, err := s.Do(t.Context(), http.MethodPost, "/v1/data", "")
	for _, err := range []error{err, s.Stop()} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestStopKills(t *testing.T) {
	t.Parallel()
	s := startFake(t, fakeDeaf)
	s.patience = 100 * time.Millisecond
	if err := s.Stop(); err == nil || !strings.Contains(err.Error(), "did not end within 100ms and was killed; its last lines:\n  chatter\n") {
		t.Errorf("error %v", err)
	}
	select {
	case <-s.exited:
	default:
		t.Error("it still runs")
	}
}
