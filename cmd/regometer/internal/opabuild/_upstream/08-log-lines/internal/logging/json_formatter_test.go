// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
)

// The default formatter writes the lines of logrus.
func TestJSONFormatterAsLogrus(t *testing.T) {
	t.Parallel()

	for note, fields := range map[string]logrus.Fields{
		"none":       nil,
		"caller":     {"x": 1},
		"order":      {"a": 1, "lf": "x", "m": 1.5, "n": nil, "z": true, "A": uint64(1), "": "empty"},
		"text":       {"html": "<a href='&'>", "<key>": "\u2028", "lines": "a\nb\n", "invalid \xff": "\xff"},
		"errors":     {"err": errors.New("\"failed\""), "nested": []error{errors.New("a")}},
		"nested":     {"map": map[string]any{"b": 1, "a": []any{"x", nil}}, "raw": json.RawMessage(` { "a" : 1 } `)},
		"marshaler":  {"when": time.Unix(1, 0), "number": json.Number("1e100")},
		"func, file": {"func": "f", "file": "g"},
		"renamed":    {"time": 1, "msg": 2, "level": 3, "logrus_error": 4, "x": 5},
		"no JSON":    {"x": make(chan int)},
	} {
		for _, format := range []string{"", "2006"} {
			e := logrus.NewEntry(logrus.New()).WithFields(fields)
			e.Level, e.Message, e.Time = logrus.WarnLevel, "<message>", time.Unix(1e9, 5)
			if note == "caller" {
				e.Logger.SetReportCaller(true)
				e.Caller = &runtime.Frame{Function: "f", File: "g", Line: 1}
			}

			exp, expErr := (&logrus.JSONFormatter{TimestampFormat: format}).Format(e)
			got, err := GetFormatter("json", format).Format(e)
			if !bytes.Equal(got, exp) {
				t.Errorf("%s: expected %s, got %s", note, exp, got)
			}
			if (err == nil) != (expErr == nil) || err != nil && err.Error() != expErr.Error() {
				t.Errorf("%s: expected error %v, got %v", note, expErr, err)
			}
		}
	}
}
