// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// lossLine returns a line of OPA's logger.
func lossLine(message, field string) string {
	return `{"level":"error","msg":` + quoted(message) + `,` + field + `,"time":"2026-01-02T03:04:05Z"}`
}

// What OPA's decision logger says of decisions is known in all containers, and
// nothing else is taken for it.
func TestLosses(t *testing.T) {
	var log sample
	var want []string
	for i, message := range [][2]string{
		{"Dropped 3 chunks from buffer. Reduce reporting interval or increase buffer size.", "lost_chunks 3"},
		{"Decision log dropped as rate limit exceeded. Reduce reporting interval or increase rate limit.", "lost_events 1"},
		{"Log encoding failed: upload chunk size (33000) exceeds upload_size_limit_bytes (32768).", "lost_events 1"},
		{"encoding failure: EOF, dropping event with decision ID: d1", "lost_events 1"},
		{"Plugin stopped with decisions possibly still in buffer.", "lost_at_stop 1"},
		{"log upload failed, server replied with HTTP 503 Service Unavailable.", "upload_failed 1"},
		{`Post "http://x/logs": dial tcp: "x" is down.`, "upload_failed 1"},
		{"Dropped 1234567890 chunks from buffer.", ""},
		{"Dropped packets", ""},
		{"Decision log event to path Dropped 3 chunks from buffer dropped", ""},
		{"ND builtins cache dropped from this event to fit under maximum upload size limits.", ""},
	} {
		if log = append(log, lossLine(message[0], `"plugin":"decision_logs"`)); message[1] != "" {
			want = append(want, message[1])
		}
		log = append(log, lossLine(message[0], `"line":"a.rego:3","plugin":"status"`), lossLine(message[0], `"line":"a.rego:`+fmt.Sprint(i)+`"`))
	}
	log = append(log, event1)
	for name, text := range log.containers() {
		text = strings.ReplaceAll(text, "[INFO] ", "[ERROR] ")
		result := readEveryWay(t, text)[0]
		for i, l := range result.Losses {
			result.Losses[i], _, _ = strings.Cut(l, " at ")
		}
		if !reflect.DeepEqual(result.Losses, want) || len(result.Events) != 1 {
			t.Errorf("%s: %q\n%.300s", name, result.Losses, text)
		}
	}
}

// A line has its own time, or that of the text around it.
func TestTimesOfLosses(t *testing.T) {
	const text = "[ERROR] Log upload failed.\n  plugin = \"decision_logs\"\n\n"
	const logfmtLine = `time="2026-01-02T03:04:05Z" level=error msg="Log upload failed, server replied with \"503\"." plugin=decision_logs`
	same := lossLine("Log upload failed.", `"plugin":"decision_logs"`)
	for text, want := range map[string]string{
		same: "upload_failed 1 at 1, 1767323045000000000",
		strings.Replace(same, "msg", "message", 1):                                                  "upload_failed 1 at 1, 1767323045000000000",
		strings.Replace(strings.Replace(same, "msg", "message", 1), "decision_logs", "x", 1):        "",
		`{"result":{"_raw":` + quoted("2026-01-02T03:04:05Z stderr F "+same) + `},"preview":false}`: "upload_failed 1 at 1, 1767323045000000000",
		`{"level":"info","message":` + quoted(same) + "}":                                           "upload_failed 1 at 1, 1767323045000000000", // a wrapper
		`{"level":"info","msg":` + quoted(same) + "}":                                               "",                                          // a policy prints it
		eachLine("\n"+text, docker):                                                                 "upload_failed 1 at 2, 1767323045600000000",
		"[INFO] x\n  y = 1\n\n" + text:                                                              fmt.Sprintf("upload_failed 1 at 4, %d", int64(NoTime)),
		`{"a":` + same + "}\n" + `{"a":` + same + "}":                                               "upload_failed 1 at 1, 1767323045000000000upload_failed 1 at 2, 1767323045000000000",
		"[ERROR] Log upload failed.\n      plugin = \"decision_logs\"\n":                            "",
		"[ERROR] Log upload failed.\n[ERROR] x\n  plugin = \"decision_logs\"\n":                     "",
		logfmtLine: "upload_failed 1 at 1, 1767323045000000000", eachLine(logfmtLine+"\n", docker): "upload_failed 1 at 1, 1767323045000000000",
		`time="" level=error msg="a policy prints: Log upload failed.\" plugin=decision_logs" line="a.rego:3"`: "",
		`time="" level=error msg="Log upload failed.\" plugin=decision_logs" line=x`:                           "",
		`time="" level=error msg="Log upload failed." plugin=status`:                                           "",
		"[INFO] Log upload failed.\n  plugin = \"decision_logs\"\n":                                            "",
	} {
		if got := strings.Join(readAll(text).Losses, ""); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
