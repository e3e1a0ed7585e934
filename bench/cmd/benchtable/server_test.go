// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/opaserver"
)

var silent = measure.Progress{W: io.Discard, Start: time.Now()}

// fakeServer says in /metrics that a request takes perRequest bytes and a tenth
// of that in allocations, and that reading /metrics takes 90,000 and 3,000. Two
// thirds of these come after they are read, as in a server.
type fakeServer struct {
	*httptest.Server
	decisions, scrapes atomic.Int64
	observed, logged   int64 // by the plugin
	perRequest         float64
	answer             string
	asked              func(query string) // if not nil
}

func newFakeServer(t *testing.T, perRequest float64) *fakeServer {
	f := &fakeServer{perRequest: perRequest, answer: `{"result": true}`}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.String() {
		case "/metrics":
			if got := r.Header.Get("Accept-Encoding"); got != "identity" {
				t.Errorf("/metrics is asked for as %q", got)
			}
			n, read := f.perRequest*float64(f.decisions.Load()), float64(f.scrapes.Add(1))-2./3
			fmt.Fprintf(w, "# HELP x y\ngo_memstats_alloc_bytes_total %g\ngo_memstats_mallocs_total %g\nother{a=\"b c\"} 1\n",
				1e9+n+90_000*read, n/10+3_000*read)
			if f.observed > 0 {
				fmt.Fprintf(w, "opa_decision_received_total{source=\"decision_log\"} %d\nopa_decision_received_total{source=\"server\"} %d\n", f.logged, f.observed)
			}
		case "/v1/data/rbac/allow", "/v1/data/rbac/allow?instrument=true":
			f.decisions.Add(1)
			if f.asked != nil {
				f.asked(r.URL.RawQuery)
			}
			fmt.Fprint(w, f.answer)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

func TestLoad(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, 1000)
	s := runningServer{process: &opaserver.Server{URL: f.URL}}
	for range 2 {
		f.decisions.Store(0)
		got, err := s.load(context.Background(), "?instrument=true", 25)
		if err != nil {
			t.Fatal(err)
		}
		if n := f.decisions.Load(); n != 25 {
			t.Errorf("%d requests were sent", n)
		}
		if math.Abs(got.bytes-1000) > 1e-3 || math.Abs(got.allocs-100) > 1e-3 || got.time <= 0 {
			t.Errorf("figures are %+v", got)
		}
	}
	if s.sent != 50 {
		t.Errorf("%d requests are known", s.sent)
	}
	if _, err := s.load(context.Background(), "?other", 1); err == nil {
		t.Error("no error for a status of 404")
	}
	f.answer = `{"result": false}`
	if _, err := s.load(context.Background(), "?instrument=true", 1); err == nil {
		t.Error("no error for the wrong decision")
	}
}

func TestMetricsThatLackFigures(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"go_memstats_mallocs_total 1\n", "go_memstats_alloc_bytes_total 1\n", "go_memstats_mallocs_total x\ngo_memstats_alloc_bytes_total 1\n"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
		t.Cleanup(server.Close)
		s := runningServer{process: &opaserver.Server{URL: server.URL}}
		if f, err := s.allocated(context.Background()); err == nil {
			t.Errorf("%q: no error, but %+v", text, f)
		}
	}
}

// Every server has its turn in every run, each run begins with another one, and
// each line has the figures of its server.
func TestRounds(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	var mu sync.Mutex
	var order []string
	var servers []*runningServer
	for i, name := range names {
		f := newFakeServer(t, float64(1000*(i+1)))
		f.asked = func(query string) {
			mu.Lock()
			defer mu.Unlock()
			if turn := name + query; len(order) == 0 || order[len(order)-1] != turn {
				order = append(order, turn)
			}
		}
		servers = append(servers, &runningServer{server: server{impl: name}, process: &opaserver.Server{URL: f.URL}})
	}
	lines, err := rounds(context.Background(), servers, 2, 4, silent)
	if err != nil {
		t.Fatal(err)
	}
	const q = "instrument=true"
	want := []string{
		"a", "a" + q, "b", "b" + q, "c", "c" + q, // warming up
		"a", "b", "c", "a" + q, "b" + q, "c" + q,
		"b", "c", "a", "b" + q, "c" + q, "a" + q,
	}
	if !slices.Equal(order, want) {
		t.Errorf("the order is %q, want %q", order, want)
	}
	r, err := parse("", lines)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		for _, mode := range modes {
			want := float64(1000 * (i + 1))
			if got := r.values("Server/case="+mode.name, name, allocated); !slices.Equal(got, []float64{want, want}) {
				t.Errorf("%s of %s: %v bytes, want %v", mode.name, name, got, want)
			}
		}
	}
}

// The measurement fails if a plugin does not count, or counts where it must be
// absent.
func TestRoundsWithoutThePlugin(t *testing.T) {
	t.Parallel()
	const sent = 2 * (5 + 1) // in both modes, and one each for warming up
	for _, test := range []struct {
		observed, logged int64
		want             bool // by the plugin
		ok               bool
	}{
		{sent, 0, true, true}, {0, 0, false, true},
		{sent - 1, 0, true, false}, {0, 0, true, false}, {sent, 0, false, false}, {sent, 1, true, false},
	} {
		f := newFakeServer(t, 1000)
		f.observed, f.logged = test.observed, test.logged
		_, err := rounds(context.Background(), []*runningServer{{server: server{impl: "x", observed: test.want}, process: &opaserver.Server{URL: f.URL}}}, 1, 5, silent)
		if (err == nil) != test.ok {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestCPUTime(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only known on Linux")
	}
	before := cpuTime(os.Getpid())
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		if took := cpuTime(os.Getpid()) - before; took > 0 {
			return
		}
	}
	t.Error("ten seconds of work took no time")
}
