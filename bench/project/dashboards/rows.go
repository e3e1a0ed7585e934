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
			stat("Servers", "Servers that answer Prometheus and have the plugin.", "none",
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
				query(orZero(rate(prefix+"decision_errors_total", "code,", servers), "code"), "{{code}}")),
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
				query(orZero(f.quantile(ofStages, "0.5", "", calls), ""), "p50"), query(orZero(f.quantile(ofStages, "0.99", "", calls), ""), "p99"),
				query(orZero(f.quantile(ofStages, "0.999", "", calls), ""), "p99.9")),
			series("Decisions that call out", "By server.", "reqps", 5,
				query(orZero(f.perSecond(ofStages, "instance,", calls), "instance"), "{{instance}}")),
			series("Network requests and cache hits", "OPA's counters, per second.", "ops", 5,
				query(orZero(rate(prefix+"decision_counters_total", "counter,", servers+`,counter=~"rego_builtin_http_send_.*"`), "counter"), "{{counter}}")),
			series("Failed requests of http.send", "No answer in time, a failed connection, a status from 500 on, or other. Cached answers do not count.", "ops", 5,
				query(rate(prefix+"decision_http_send_failures_total", "cause,", servers), "{{cause}}")),
		}},
		{title: "Servers and policies", panels: []panel{
			counts("Versions", "The versions of Regometer and OPA in the fleet's binaries, and the hash of the drop-in that replaces OPA's metrics, if there is one.", 8,
				"count by (version, opa_version, dropin) (regometer_build_info{"+servers+"})", "Servers",
				object{"version": "Regometer", "opa_version": "OPA", "dropin": "Drop-in"}),
			series("Policy paths by label", "Paths of the active policy with a label of their own, with the label of their package, "+
				"and without a label. All servers with the same policy and configuration have the same numbers. "+
				"Lost: labels that a new policy took from paths with decisions.", "none", 8,
				query("max by (label) ("+prefix+"decision_policy_paths{"+servers+"})", "{{label}}"),
				query("max(increase("+prefix+"decision_labels_lost_total{"+servers+"}[1h]))", "lost in an hour")),
			series("Servers by bundle revision", "By the plugin or, with status.prometheus: true, by OPA.", "none", 8,
				query("count by (bundle, revision) ("+policyInfo+") or count by (name, active_revision) (last_success_bundle_activation{"+servers+"})",
					"{{bundle}}{{name}} {{revision}}{{active_revision}}")),
			series("Decisions and requests", "HTTP requests that should be decisions, without those that OPA refuses and without /v1/compile. "+
				"If there are far fewer decisions, not all of them are counted.", "reqps", 8,
				query(rate(decisions, "", servers), "decisions"),
				query(rate("http_request_duration_seconds_count", "", servers+`,handler=~"v0/data|v1/data|v1/query|index",method=~"get|post",code!~"4.."`), "requests")),
			series("Decisions by source", "server: straight from OPA's server, in the binary of regometer build. decision_log: through the decision log, "+
				"without the decisions that its drop policy drops.", "reqps", 8,
				query(rate(prefix+"decision_received_total", "source,", servers), "{{source}}")),
			series("Since a bundle's last good request", "With status.prometheus: true. It grows while a server cannot get the bundle.", "s", 8,
				query("time() - min by (instance, name) (last_success_bundle_request{"+servers+"}) / 1e9", "{{instance}} {{name}}")),
		}},
		{title: "Health of these metrics", panels: []panel{
			series("Series per server", "In a text scrape, which each server limits. Prometheus stores fewer series of native histograms.", "none", 6,
				query("max by (instance) ("+prefix+"decision_metric_series{"+servers+"})", "{{instance}}")),
			series("Without a label of their own", "For lack of room: decisions of paths that the policy has, and timers and counters that are not known from OPA.", "ops", 6,
				query(rate(prefix+"decision_label_overflow_total", "kind,", servers), "{{kind}}")),
			series("Unfinished timers", "Timers of 0 without a known cause. They still ran when OPA logged the decision, or took less than the clock's resolution.", "ops", 4,
				query(orZero(rate(prefix+"decision_stage_unfinished_total", "stage,", servers+`,cause="unknown"`), "stage"), "{{stage}}")),
			faint(series("Unfinished as expected", "query: a POST /v1/query, which OPA logs before it stops the handler's timer. failed: the decision failed or was cancelled.", "ops", 4,
				query(orZero(rate(prefix+"decision_stage_unfinished_total", "cause,", servers+`,cause!="unknown"`), "cause"), "{{cause}}"))),
			series("Left out", "Values that are not durations or counts, and decisions that the plugin failed to record or to pass on.", "ops", 4,
				query(rate(prefix+"decision_values_invalid_total", "reason,", servers), "{{reason}}"),
				query(rate(prefix+"decision_plugin_failures_total", "cause,", servers), "{{cause}}")),
		}},
		{title: "Decision log (OPA's own series; status.prometheus: true)", panels: []panel{
			series("Chunks uploaded", "In half an hour, because OPA by default uploads every five to ten minutes.", "none", 8,
				query(orZero("sum by (instance) (increase(decision_logs_chunks_uploaded_total{"+servers+"}[30m]))", "instance"), "sent by {{instance}}"),
				query(orZero("sum by (instance) (increase(decision_logs_chunks_upload_failed_total{"+servers+"}[30m]))", "instance"), "failed at {{instance}}")),
			series("Decision log: incidents of loss", incidents, "none", 8,
				query(orZero("sum(decision_logs_dropped_rate_limit_exceeded_total{"+servers+"})", ""), "rate limit"),
				query(orZero("sum(decision_logs_dropped_buffer_size_limit_exceeded_total{"+servers+"})", ""), "buffer full"),
				query(orZero("sum(decision_logs_encoding_failure_total{"+servers+"})", ""), "too large")),
			series("Waiting: events", "In buffers of type event.", "none", 4,
				query(orZero("max by (instance) (decision_logs_buffer_size_events{"+servers+"})", "instance"), "{{instance}}")),
			series("Waiting: bytes", "In buffers of type size.", "bytes", 4,
				query(orZero("max by (instance) (decision_logs_buffer_size_bytes{"+servers+"})", "instance"), "{{instance}}")),
			series("Decided, logged, and passed on", "Decisions of servers with the plugin, the events of their decision log if decision_logs.plugin names it, and the decisions that regometer collect has passed on to the log's store.", "ops", 24,
				query("sum(rate("+decisions+"{"+servers+"}[$__rate_interval]) unless on (job, instance) regometer_collect_servers)", "decided"),
				query(orZero("sum(rate("+prefix+"decision_log_events_total{"+servers+"}[$__rate_interval]) unless on (job, instance) regometer_collect_servers)", ""), "logged"),
				query("sum(rate("+decisions+"{"+servers+"}[$__rate_interval]) and on (job, instance) regometer_collect_servers) or vector(0)", "passed on")),
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
