// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/regometer/regometer/rollup"
)

// outcome is what became of a request.
type outcome string

const (
	allowed   outcome = "allowed"
	denied    outcome = "denied"
	undefined outcome = "undefined"
	failed    outcome = "error"
	unjudged  outcome = "result"    // neither yes nor no: a list, claims, a query's bindings
	malformed outcome = "malformed" // refused with HTTP 400 and never logged
)

// outcomes lists all of them in the order of the report.
var outcomes = []outcome{allowed, denied, undefined, failed, unjudged, malformed}

// decision is what the demo reads of one decision-log event.
type decision struct {
	outcome outcome
	timers  map[string]int64 // nanoseconds by metric name, without timer_ and _ns
}

// event holds the fields of a line of OPA's console decision log.
type event struct {
	Msg     string                     `json:"msg"`
	Query   string                     `json:"query"`
	Result  json.RawMessage            `json:"result"`
	Error   json.RawMessage            `json:"error"`
	Erased  []string                   `json:"erased"`
	Metrics map[string]json.RawMessage `json:"metrics"`
}

// readDecisions calls f for each decision in the output of an OPA server that
// logs decisions to its console as JSON lines. Lines that are something else
// are skipped; a last line without an end is one that was still being written.
func readDecisions(r io.Reader, f func(decision)) error {
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !bytes.Contains(line, []byte(`"Decision Log"`)) {
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("line %d is no decision-log event: %w", n, err)
		}
		if e.Msg != "Decision Log" {
			continue
		}
		d, err := e.decision()
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		f(d)
	}
}

func (e *event) decision() (decision, error) {
	d := decision{outcome: e.outcome(), timers: map[string]int64{}}
	for key, value := range e.Metrics {
		name, ok := strings.CutPrefix(key, "timer_")
		if !ok {
			continue
		}
		ns, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return d, fmt.Errorf("metric %s: %s is no number of nanoseconds", key, value)
		}
		d.timers[strings.TrimSuffix(name, "_ns")] = ns
	}
	return d, nil
}

func (e *event) outcome() outcome {
	switch {
	case e.Error != nil && string(e.Error) != "null":
		return failed
	case e.Result == nil:
		for _, path := range e.Erased {
			if path == "/result" {
				return unjudged
			}
		}
		return undefined
	case e.Query != "":
		return queryOutcome(e.Result)
	default:
		return resultOutcome(e.Result)
	}
}

// queryOutcome classifies the result of POST /v1/query, a list of bindings.
func queryOutcome(result json.RawMessage) outcome {
	var bindings []json.RawMessage
	if json.Unmarshal(result, &bindings) == nil && len(bindings) == 0 {
		return undefined
	}
	return unjudged
}

// resultOutcome classifies a document as the plugin does.
func resultOutcome(result json.RawMessage) outcome {
	var document any
	if json.Unmarshal(result, &document) != nil {
		return unjudged
	}
	return outcome(rollup.ResultOutcome(document).String())
}
