// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/regometer/regometer/decisionlog"
)

const line = `{"decision_id":"d%d","labels":{"id":"a","n":1},"path":"app/allow","result":true,"bundles":{"b":{"revision":"7"}},` +
	`"timestamp":"2026-01-02T03:04:05.5Z","metrics":{"timer_server_handler_ns":%d}}` + "\n"

func ExampleRead() {
	log := strings.NewReader(fmt.Sprintf(line, 1, 1200) + "{\"decision_id\":\n" + `{"log":"{\"decision_id\":\"d2\",\"path\":\"app/allow\",\"metrics\":{}}\n","stream":"stderr"}`)
	for event, err := range decisionlog.Read(log, decisionlog.Options{}) {
		var problem *decisionlog.Problem
		switch {
		case errors.As(err, &problem):
			fmt.Println(problem)
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		default:
			fmt.Println(event.DecisionID, event.Path, event.Outcome, time.Duration(event.Metrics["timer_server_handler_ns"]))
		}
	}
	// Output:
	// d1 app/allow allowed 1.2µs
	// line 2: truncated
	// d2 app/allow undefined 0s
}

// Read gives all events with all their fields, in whatever pieces the text
// comes, until the caller or the text ends.
func TestRead(t *testing.T) {
	t.Parallel()
	const events = 3000 // more than fit into a block
	var log strings.Builder
	for n := range events {
		fmt.Fprintf(&log, line, n, n)
	}
	text := log.String() + "{\"custom\":\"" + strings.Repeat("x", 200<<10) + "\"," + fmt.Sprintf(line, events, events)[1:]
	n := 0
	for e, err := range decisionlog.Read(iotest.HalfReader(strings.NewReader(text)), decisionlog.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC); e.DecisionID != fmt.Sprint("d", n) || e.Line != int64(n+1) || !e.Time.Equal(want) || e.Revision != "b=7" ||
			fmt.Sprint(e.Labels, e.Metrics) != fmt.Sprintf("map[id:a] map[timer_server_handler_ns:%d]", n) {
			t.Fatalf("event %d: %+v", n, e)
		}
		n++
	}
	if n != events+1 {
		t.Errorf("%d events, want %d", n, events+1)
	}
	for _, err := range decisionlog.Read(strings.NewReader(text), decisionlog.Options{}) {
		if err == nil {
			break
		}
	}
	var last error
	for _, last = range decisionlog.Read(iotest.TimeoutReader(strings.NewReader(text)), decisionlog.Options{}) {
	}
	if !errors.Is(last, iotest.ErrTimeout) {
		t.Errorf("%v, want %v", last, iotest.ErrTimeout)
	}
}

// Many keys of metrics take no more memory than they are worth, and keep their
// names.
func TestReadManyKeys(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for n := range 30_000 {
		fmt.Fprintf(&log, `{"decision_id":"d","labels":{},"metrics":{"timer_%d_ns":%d}}`+"\n", n, n)
	}
	n := 0
	for e, err := range decisionlog.Read(strings.NewReader(log.String()), decisionlog.Options{MaxLength: 1 << 20}) {
		if err != nil || e.Metrics[fmt.Sprintf("timer_%d_ns", n)] != int64(n) {
			t.Fatalf("event %d: %+v, %v", n, e, err)
		}
		n++
	}
}

// Rules tell the outcomes of results of other forms. A wrong rule ends reading.
func TestReadWithRules(t *testing.T) {
	t.Parallel()
	log := fmt.Sprintf(strings.Replace(line, `"result":true`, `"result":{"granted":true}`, 1), 1, 1)
	for rule, want := range map[string]string{"result.granted": "allowed <nil>", "not result.granted": "denied <nil>", "granted": "decisionlog: Outcomes: app/allow: "} {
		for e, err := range decisionlog.Read(strings.NewReader(log), decisionlog.Options{Outcomes: map[string]string{"app/allow": rule}}) {
			got := fmt.Sprint(err)
			if e != nil {
				got = fmt.Sprint(e.Outcome, err)
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s, want %s", rule, got, want)
			}
		}
	}
}
