// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import "fmt"

// otherLine appends a line that is no event, without its end.
func (w *writer) otherLine(b []byte) []byte {
	s := w.lines
	date := w.renderer.dateOf(w.time)
	client := fmt.Sprintf("10.0.3.%d:%d", s.below(256), 32768+s.below(28000))
	request := w.truth.decisions
	path := w.drawer.profiles[0].name
	took := 20_000 + s.below(1_000_000)

	switch s.below(8) {
	case 0:
		return fmt.Appendf(b, `{"client_addr":%q,"level":"info","msg":"Received request.","req_id":%d,"req_method":"POST",`+
			`"req_path":"/v1/data/%s","time":"%sZ"}`, client, request, path, date)
	case 1:
		return fmt.Appendf(b, `{"client_addr":%q,"level":"info","msg":"Sent response.","req_id":%d,"req_method":"POST",`+
			`"req_path":"/v1/data/%s","resp_bytes":15,"resp_duration":%d.%06d,"resp_status":200,"time":"%sZ"}`,
			client, request, path, took/1_000_000, took%1_000_000, date)
	case 2:
		return fmt.Appendf(b, `{"bundles":{"authz":{"active_revision":"r1","name":"authz","metrics":{"timer_bundle_request_ns":%d}}},%s`+
			`"level":"info","metrics":{"prometheus":{"go_goroutines":{"type":1}}},"msg":"Status Log",`+
			`"plugins":{"bundle":{"state":"OK"},"decision_logs":{"state":"OK"}},"time":"%sZ","type":"openpolicyagent.org/status"}`,
			took, w.renderer.labels[0], date)
	case 3: // of the Envoy plugin
		return fmt.Appendf(b, `{"decision":true,"decision-id":%q,"dry-run":false,"err":null,"level":"debug",`+
			`"metrics":{"timer_rego_query_eval_ns":%d,"timer_server_handler_ns":%d},"msg":"Returning policy decision.",`+
			`"query":"data.envoy.authz.allow","time":"%sZ","total_decision_time":%d,"txn":%d}`,
			uuid(s), took, took+9000, date, took, request)
	case 4:
		return fmt.Appendf(b, `{"level":"info","msg":"Logs uploaded successfully.","plugin":"decision_logs","time":"%sZ"}`, date)
	case 5:
		return fmt.Appendf(b, "%s http: TLS handshake error from %s: EOF", date, client)
	case 6:
		return fmt.Appendf(b, `[INFO] Initializing server. addrs = [":8181"], pid = %d`, request)
	default:
		return fmt.Appendf(b, `sidecar: level=debug msg="sent {\"decision_id\":\"none\",\"path\":\"a/b\"}" client=%s`, client)
	}
}
