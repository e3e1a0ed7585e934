// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

// rows returns everything that the dashboard shows, from the overview to the
// details.
func (f form) rows() []row {
	return []row{
		{title: "Overview", panels: []panel{
			stat("Decisions", "Of all chosen servers and paths.", "reqps", query(rate(decisions, "", paths))),
			stat("Denied", "Share of all decisions.", "percentunit", query(share("", `outcome="denied"`))),
			stat("Failed", "Share of all decisions.", "percentunit", query(share("", `outcome="error"`))),
			stat("p99 of the handler", "The server's whole handling of a request, except reading it and writing the response.", "s",
				query(f.quantile(ofPaths, "0.99", "", handler))),
			stat("p99 of evaluation", "Rego's evaluation, with http.send in it.", "s",
				query(f.quantile(ofPaths, "0.99", "", evaluation))),
			stat("Servers", "Servers with the plugin, and collectors, that answer Prometheus.", "none",
				query("count(group by (job, instance) (regometer_build_info{"+servers+"}))")),
		}},
		{title: "Decisions", panels: []panel{
			stacked(series("Decisions by outcome", "Allowed and denied: a boolean, or the field allow or deny of an object. "+
				"Undefined: no rule gave a value. Result: any other value. Cancelled: the client had gone, or its deadline passed.", "reqps", 12,
				query(rate(decisions, "outcome,", paths), "{{outcome}}"))),
			series("Denied, by path", "Share of a path's decisions.", "percentunit", 12,
				query(share("path,", `outcome="denied"`), "{{path}}")),
			series("Failed, cancelled and undefined", "Share of all decisions.", "percentunit", 8,
				query(share("outcome,", `outcome=~"error|cancelled|undefined"`), "{{outcome}}")),
			series("Errors by code", "OPA's codes of the decisions that failed, of all paths.", "reqps", 8,
				query(orZero(rate(prefix+"decision_errors_total", "code,", servers), "code", counting), "{{code}}")),
			series("Decisions by path", "The ten most frequent paths. The path other stands for all paths without a label of their own.", "reqps", 8,
				query("topk(10, "+rate(decisions, "path,", paths)+")", "{{path}}")),
		}},
		{title: "Stages, of all paths together", panels: []panel{
			f.stageQuantile("p50", "0.5"),
			f.stageQuantile("p99", "0.99"),
			f.stageQuantile("p99.9", "0.999"),
			stacked(series("Where the time goes", "Time in each stage without the stages that it contains, so nothing is counted twice. "+
				"1 s per second is one decision at a time.", "s", 12,
				query(rate(stageSelf, "stage,", stages), "{{stage}}"))),
			percent(stacked(series("Share of the time", "The same as shares of the whole.", "percentunit", 12,
				query(rate(stageSelf, "stage,", stages)+" / ignoring (stage) group_left "+rate(stageSelf, "", stages), "{{stage}}")))),
		}},
		{title: "Paths", panels: []panel{
			series("p99 of evaluation, by path", "The ten slowest.", "s", 8,
				query("topk(10, "+f.quantile(ofPaths, "0.99", "path,", evaluation)+")", "{{path}}")),
			series("Mean of evaluation, by path", "The ten slowest.", "s", 8,
				query("topk(10, "+f.mean(ofPaths, "path,", evaluation)+")", "{{path}}")),
			stacked(series("Where the time goes, by path", "The ten paths that take the most time in their handlers, or in the chosen stages. "+
				"A stage that is not kept by path counts as part of the nearest stage around it that is.", "s", 8,
				query("topk(10, "+rate(pathSelf, "path,", pathStage)+")", "{{path}}"))),
			f.heatmap("Distribution of evaluation", "Decisions per second, by the time of their evaluation.", ofPaths, evaluation),
			table("Slow paths", "The twenty paths that take the most time.",
				column{"Decisions/s", "reqps", rate(decisions, "path,", paths)},
				column{"p50", "s", f.quantile(ofPaths, "0.5", "path,", evaluation)},
				column{"p99", "s", f.quantile(ofPaths, "0.99", "path,", evaluation)},
				column{"p99.9", "s", f.quantile(ofPaths, "0.999", "path,", evaluation)},
				column{"Busy, s per s", "s", "topk(20, " + rate(pathSelf, "path,", paths) + ")"},
				column{"Denied", "percentunit", share("path,", `outcome="denied"`)},
			),
		}},
		{title: "Calls out of the policy (http.send)", panels: []panel{
			series("Time of http.send per decision", "The time of all calls that a decision makes.", "s", 9,
				query(orZero(f.quantile(ofStages, "0.5", "", calls), "", counting), "p50"), query(orZero(f.quantile(ofStages, "0.99", "", calls), "", counting), "p99"),
				query(orZero(f.quantile(ofStages, "0.999", "", calls), "", counting), "p99.9")),
			series("Decisions that call out", "By server.", "reqps", 5,
				query(orZero(f.perSecond(ofStages, "instance,", calls), "instance", counting), "{{instance}}")),
			series("Network requests and cache hits", "OPA's counters, per second.", "ops", 5,
				query(orZero(rate(prefix+"decision_counters_total", "counter,", servers+`,counter=~"rego_builtin_http_send_.*"`), "counter", counting), "{{counter}}")),
			series("Failed requests of http.send", "No answer in time, a failed connection, a status from 500 on, or other. Cached answers do not count. "+
				"regometer collect does not know them, because decision logs lack them.", "ops", 5,
				query(rate(prefix+"decision_http_send_failures_total", "cause,", servers), "{{cause}}")),
		}},
		{title: "Servers and policies", panels: []panel{
			series("Versions", "Servers and collectors by the version of Regometer in the binary and, in OPA, by OPA's version and the hash of the drop-in for OPA's metrics.", "none", 8,
				query("count by (version, opa_version, dropin) (regometer_build_info{"+servers+"})", "Regometer {{version}} {{opa_version}} {{dropin}}")),
			series("Policy paths by label", "Paths of the active policy with a label of their own, with the label of their package, "+
				"and without a label. All servers with the same policy and configuration have the same numbers. "+
				"Lost: labels that a new policy took from paths with decisions.", "none", 8,
				query("max by (label) ("+prefix+"decision_policy_paths{"+servers+"})", "{{label}}"),
				query("max(increase("+prefix+"decision_labels_lost_total{"+servers+"}[1h]))", "lost in an hour")),
			series("Servers by bundle revision", "By the plugin or, with status.prometheus: true, by OPA's own page. regometer collect has no revisions.", "none", 8,
				query("count by (bundle, revision) ("+policyInfo+") or count by (name, active_revision) (last_success_bundle_activation{"+servers+"})",
					"{{bundle}}{{name}} {{revision}}{{active_revision}}")),
			series("Decisions and requests", "HTTP requests on OPA's own page that should be decisions, without those that OPA refuses and without /v1/compile. "+
				"If there are far fewer decisions, not all of them are counted.", "reqps", 8,
				query(rate(decisions, "", servers), "decisions"),
				query(rate("http_request_duration_seconds_count", "", servers+`,handler=~"v0/data|v1/data|v1/query|index",method=~"get|post",code!~"4.."`), "requests")),
			series("Decisions by source", "server: straight from OPA's server, in the binary of regometer build. decision_log: through the decision log, "+
				"without the decisions that its drop policy drops.", "reqps", 8,
				query(rate(prefix+"decision_received_total", "source,", servers), "{{source}}")),
			series("Since a bundle's last good request", "Of OPA with status.prometheus: true, and of regometer collect, also for its files. It grows while one of them cannot get the bundle.", "s", 8,
				query("time() - min by (instance, name) (last_success_bundle_request{"+servers+"}) / 1e9", "{{instance}} {{name}}"),
				query("time() - min by (instance, source) ("+collect+"policy_timestamp_seconds{"+servers+"})", "{{instance}} {{source}}")),
		}},
		{title: "Health of these metrics", panels: []panel{
			series("Series per server", "In a text scrape, which each server limits. Prometheus stores fewer series of native histograms.", "none", 6,
				query("max by (instance) ("+prefix+"decision_metric_series{"+servers+"})", "{{instance}}")),
			series("Without a label of their own", "For lack of room: decisions of paths that the policy has, and timers and counters that are not known from OPA.", "ops", 6,
				query(rate(prefix+"decision_label_overflow_total", "kind,", servers), "{{kind}}")),
			series("Unfinished timers", "Timers of 0. query (a POST /v1/query, logged before it ends) and failed are usual. unknown: still running, or below the clock's resolution.", "ops", 6,
				query(orZero(rate(prefix+"decision_stage_unfinished_total", "cause,stage,", servers), "cause", counting), "{{cause}} {{stage}}")),
			series("Left out", "Values that are not durations or counts, decisions that the plugin failed to record or to pass on, and problems of the events that regometer collect got.", "ops", 6,
				query(rate(prefix+"decision_values_invalid_total", "reason,", servers), "{{reason}}"),
				query(rate(prefix+"decision_plugin_failures_total", "cause,", servers), "{{cause}}"),
				query(rate(collect+"event_problems_total", "kind,", servers), "{{kind}}")),
		}},
		{title: "Decision log (OPA's own page, from OPA 1.22 on; status.prometheus: true)", panels: []panel{
			series("Chunks uploaded", "In half an hour, because OPA by default uploads every five to ten minutes.", "none", 8,
				query(orZero(inHalfHour("decision_logs_chunks_uploaded_total", "instance"), "instance", logging), "sent by {{instance}}"),
				query(orZero(inHalfHour("decision_logs_chunks_upload_failed_total", "instance"), "instance", logging), "failed at {{instance}}")),
			series("Decision log: incidents of loss", incidents, "none", 8,
				query(orZero("sum(decision_logs_dropped_rate_limit_exceeded_total{"+servers+"})", "", logging), "rate limit"),
				query(orZero("sum(decision_logs_dropped_buffer_size_limit_exceeded_total{"+servers+"})", "", logging), "buffer full"),
				query(orZero("sum(decision_logs_encoding_failure_total{"+servers+"})", "", logging), "too large")),
			series("Waiting: events", "In buffers of type event.", "none", 4,
				query(orZero("max by (instance) (decision_logs_buffer_size_events{"+servers+"})", "instance", logging), "{{instance}}")),
			series("Waiting: bytes", "In buffers of type size.", "bytes", 4,
				query(orZero("max by (instance) (decision_logs_buffer_size_bytes{"+servers+"})", "instance", logging), "{{instance}}")),
		}},
		{title: "Collectors (regometer collect)", collapsed: true, panels: []panel{
			series("Uploads counted", "In half an hour. Repeated: an upload came again, and its decisions count once.", "none", 6,
				query(inHalfHour(collect+"bodies_counted_total", "instance"), "counted by {{instance}}"),
				query(inHalfHour(collect+"bodies_repeated_total", "instance"), "repeated at {{instance}}")),
			series("Uploads refused, or not counted", "In half an hour. Refused: OPA keeps the upload and sends it again. "+
				"Not counted: not readable; passed on with --forward, otherwise lost. No upload: a request for a bundle, or a status.", "none", 12,
				query(inHalfHour(collect+"bodies_refused_total", "reason"), "refused: {{reason}}"),
				query(inHalfHour(collect+"bodies_uncounted_total", "reason")+" + "+inHalfHour(collect+"bodies_lost_total", "reason"), "not counted: {{reason}}"),
				query(inHalfHour(collect+"other_requests_total", "kind"), "no upload: {{kind}}")),
			series("Servers and uploads in progress", "Servers that sent decisions in the last 20 minutes, and uploads that the collector has not finished.", "none", 6,
				query("sum by (instance) ("+collect+"servers{"+servers+"})", "servers of {{instance}}"),
				query("sum by (instance) ("+collect+"bodies_in_progress{"+servers+"})", "uploads at {{instance}}")),
			series("Answers of the target", "With --forward, by class of status. none: no answer.", "reqps", 8,
				query(f.perSecond(ofTarget, "status,", servers), "{{status}}")),
			series("Time of the target", "With --forward, from sending an upload to the target's answer, by class of status.", "s", 8,
				query(f.quantile(ofTarget, "0.5", "status,", servers), "p50 of {{status}}"), query(f.quantile(ofTarget, "0.99", "status,", servers), "p99 of {{status}}")),
			series("Memory", "Resident memory of each collector, and the bytes of uploads that wait there.", "bytes", 8,
				query("process_resident_memory_bytes{"+servers+"} and on (job, instance) "+collect+"servers", "{{instance}}"),
				query("sum by (instance) ("+collect+"waiting_bytes{"+servers+"})", "waiting at {{instance}}")),
			series("Decided, logged, and passed on", "Decisions of servers with the plugin, events of their log if decision_logs.plugin names it, and decisions that regometer collect counted.", "ops", 24,
				query("sum(rate("+decisions+"{"+servers+"}[$__rate_interval]) unless on (job, instance) "+collect+"servers)", "decided"),
				query("sum(rate("+prefix+"decision_log_events_total{"+servers+"}[$__rate_interval]) unless on (job, instance) "+collect+"servers)", "logged"),
				query("sum(rate("+decisions+"{"+servers+"}[$__rate_interval]) and on (job, instance) "+collect+"servers)", "counted by regometer collect")),
		}},
	}
}

// incidents describes OPA's counters, as in v1/plugins/logs of OPA 1.22. The
// rate limit counts each event before it is stored, and a refused chunk that
// goes back into a buffer of events as one. A full buffer counts each chunk for
// which others had to go (sizeBuffer, which also counts bytes), or each event
// or chunk that had to go (eventBuffer). Encoding counts each event.
const incidents = "How often the servers have lost something since they started. OPA's counters count incidents, not events. " +
	"Rate limit: one event, or with buffer_type event also a chunk of many events that waits for another upload. " +
	"Buffer full: with buffer_type size, the default, each time that a chunk found no room, however many chunks of many events had to go for it; " +
	"with event, one event or chunk. Too large: one event. " +
	"OPA does not say how many events were lost. Compare the decisions above with the events that arrived. OPA's counter of dropped bytes would show the same losses again."

// Selectors of a stage.
const (
	handler    = paths + `,stage=~"server_handler|sdk_decision_eval"`
	evaluation = paths + `,stage="rego_query_eval"`
	calls      = servers + `,stage="rego_builtin_http_send"`
)

func (f form) stageQuantile(name, q string) panel {
	return series(name+" by stage", "Stages contain one another: the handler's time includes the evaluation's, which includes that of http.send.", "s", 8,
		query(f.quantile(ofStages, q, "stage,", stages), "{{stage}}"))
}

// share returns the query for the share of the decisions with an outcome. by is
// "", "path," or "outcome,".
func share(by, outcome string) string {
	some := rate(decisions, by, paths+","+outcome)
	if by == "outcome," {
		return some + " / ignoring (outcome) group_left " + rate(decisions, "", paths)
	}
	return some + " / " + rate(decisions, by, paths)
}
