// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// otlpValue returns a value as OTLP writes it.
func otlpValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "{}"
	case string:
		return `{"stringValue":` + quoted(v) + `}`
	case bool:
		return fmt.Sprintf(`{"boolValue":%t}`, v)
	case json.Number:
		if strings.Contains(v.String(), ".") {
			return `{"doubleValue":` + v.String() + `}`
		}
		return `{"intValue":"` + v.String() + `"}`
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, otlpValue(e))
		}
		return `{"arrayValue":{"values":[` + strings.Join(list, ",") + `]}}`
	}
	var pairs []string
	for key, value := range v.(map[string]any) {
		pairs = append(pairs, `{"key":`+quoted(key)+`,"value":`+otlpValue(value)+`}`)
	}
	slices.Sort(pairs)
	return `{"kvlistValue":{"values":[` + strings.Join(pairs, ",") + `]}}`
}

// wrap returns lines of the events between two texts.
func (s sample) wrap(before, after string) string {
	return s.each(func(e string) string { return before + e + after + "\n" })
}

// text does so with the events in strings.
func (s sample) text(before, after string) string {
	return s.each(func(e string) string { return before + quoted(e) + after + "\n" })
}

// formats are texts with the events in containers, as programs and services
// write them.
func (s sample) formats() map[string]string {
	at := "2026-01-02T03:04:05"
	csv := func(before, header string) string {
		return header + "\n" + s.each(func(e string) string { return before + `"` + strings.ReplaceAll(e, `"`, `""`) + "\"\n" })
	}
	list := func(lines string) string { return strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",") }
	prettyLines := s.each(func(e string) string { return pretty(e) + "\n" })
	// Another pod with the same stream begins an object before each line.
	waits := func(before, after string) string { return before + `"{"` + after + "b\"}}}\n" }
	pods := func(before, after string) string {
		return eachLine(prettyLines, func(l string) string { return waits(before, after) + before + quoted(l) + after + "a\"}}}\n" })
	}
	loki := `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"app":"opa"},"values":[` + list(s.text(`["1767323045600000000",`, `]`)) + `]}],"stats":{}}}`
	prettyLoki := `{"resultType":"streams","result":[{"stream":{},"values":[` + list(eachLine(prettyLines, func(l string) string { return `["1767323045600000000",` + quoted(strings.TrimSuffix(l, "\n")) + "]\n" })) + `]}]}`
	hits := `{"took":3,"timed_out":false,"hits":{"total":{"value":4},"hits":[` + list(s.text(`{"_index":"opa","_id":"1","_source":{"message":`, `,"@timestamp":"`+at+`Z"}}`)) + `]}}`
	otlp := `{"resourceLogs":[{"resource":{"attributes":[{"key":"k8s.pod.name","value":{"stringValue":"opa"}}]},"scopeLogs":[{"logRecords":[` +
		list(s.text(`{"timeUnixNano":"1767323045600000000","body":{"stringValue":`, `}}`)) + `]}]}]}`
	firehose := `{"messageType":"DATA_MESSAGE","logGroup":"/opa","logStream":"s","logEvents":[` + list(s.text(`{"id":"1","timestamp":1767323045600,"message":`, `}`)) + `]}`
	cloudWatch := `{"events":[` + list(s.text(`{"logStreamName":"s","timestamp":1767323045600,"eventId":"1","message":`, `}`)) + `],"searchedLogStreams":[]}`
	insights := `{"results":[` + list(s.text(`[{"field":"@timestamp","value":"2026-01-02 03:04:05.600"},{"field":"@message","value":`, `}]`)) + `],"status":"Complete"}`
	journal := `{"__CURSOR":"s=1;i=2","__REALTIME_TIMESTAMP":"1767323045678901","_HOSTNAME":"h","_PID":"7","PRIORITY":"6","MESSAGE":`
	kubernetes := `,"kubernetes":{"pod_name":"opa-1","labels":{"app":"opa"},"annotations":{"last-applied":"{\"metrics\":{}}"}}}`
	return map[string]string{
		"Filebeat, interleaved":      pods(`{"message":`, `,"kubernetes":{"pod":{"name":"`),
		"Azure, records":             `{"records":[` + list(s.text(`{"category":"kube","properties":{"log":`, `}}`)) + `]}`,
		"CloudWatch":                 cloudWatch,
		"CloudWatch, tail":           s.each(func(e string) string { return at + ".678901+00:00 opa/opa/abc " + pretty(e) + "\n" }),
		"CloudWatch, strings":        pretty(`[` + list(s.text("", "")) + `]`),
		"CloudWatch, rows in a line": `[` + list(s.text(`[1767323045600,`, `]`)) + "]\n",
		"CloudWatch Insights":        pretty(insights),
		"Elasticsearch, search":      hits,
		"Firehose":                   strings.ReplaceAll(firehose, "},{\"id\"", "}]}{\"logEvents\":[{\"id\""),
		"Fluent Bit, both":           s.each(func(e string) string { return `{"log":` + quoted(e) + `,"log_processed":` + e + kubernetes + "\n" }),
		"Fluent Bit, file":           s.text(`kube.opa: [1767323045.600000000, {"log":`, `}]`),
		"body behind a prefix":       "POST /logs: [" + list(s.ndjson()) + "]\n",
		"Fluent Bit, stdout":         s.text(`[0] kube.opa: [[1767323045.600000000, {}], {"stream"=>"stdout", "log"=>`, `}]`),
		"Fluent Bit, pretty":         eachLine(prettyLines, func(l string) string { return `{"log":` + quoted(strings.TrimSuffix(l, "\n")) + kubernetes + "\n" }),
		"Grafana, CSV":               csv(`"{""app"":""opa""}",`+at+",", "labels,Time,Line"),
		"GCP, CSV":                   csv(at+"Z,opa,", "timestamp,resource.labels.pod_name,jsonPayload"),
		"journald, json":             s.text(journal, `}`),
		"journald, short":            eachLine(s.ndjson(), prefixed("Jan 02 03:04:05 host opa[7]: ")),
		"journald, short, pretty":    eachLine(prettyLines, prefixed("Jan 02 03:04:05 host opa[7]: ")),
		"journald, short-iso":        eachLine(s.ndjson(), prefixed(at+"+0000 host opa[7]: ")),
		"JSON text sequence":         eachLine(s.ndjson(), prefixed("\x1e")),
		"logcli, default":            eachLine(s.ndjson(), prefixed(at+`Z {app="opa", pod="x"} `)),
		"logfmt":                     s.text(`ts=`+at+`Z level=info msg=`, ` app=opa`),
		"Loki, API":                  loki,
		"Loki, API, pretty":          prettyLoki,
		"OTLP":                       otlp,
		"OTLP, key-value list": s.each(func(e string) string {
			return `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":` + otlpValue(parsed(e)) + `}]}]}]}` + "\n"
		}),
		"OTLP, attributes": s.each(func(e string) string {
			return `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[{"key":"app","value":{}},{"key":"log","value":` + otlpValue(parsed(e)) + `}]}]}]}]}` + "\n"
		}),
		"Splunk, export":               s.text(`{"preview":false,"offset":0,"result":{"host":"h","_raw":`, `}}`),
		"stern":                        eachLine(s.ndjson(), prefixed("opa-6f opa ")),
		"stern, colors":                eachLine(s.ndjson(), prefixed("\x1b[32mopa-6f\x1b[0m \x1b[92mopa\x1b[0m ")),
		"syslog, RFC 3164":             eachLine(s.ndjson(), prefixed("<134>Jan  2 03:04:05 host opa[7]: ")),
		"syslog, RFC 5424":             eachLine(s.ndjson(), prefixed("<134>1 "+at+`.6Z host opa 7 - [meta x="y"] `)),
		"Vector":                       s.text(`{"file":"/x","host":"h","source_type":"file","message":`, `}`),
		"wrapper with labels and path": s.text(`{"labels":{"app":"opa"},"path":"/var/log/opa.log","log":`, `}`),
	}
}
