// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

// rows are all that the dashboard shows, from the overview to the details.
func (f form) rows() []row {
	return []row{
		{title: "Overview", panels: []panel{
			stat("Decisions", "Of all servers and paths that are chosen.", "reqps", query(rate("opa_decisions_total", "", paths))),
			stat("Denied", "Share of all decisions.", "percentunit", query(share("", `outcome="denied"`))),
			stat("Failed", "Share of all decisions.", "percentunit", query(share("", `outcome="error"`))),
			stat("p99 of the handler", "From the request's arrival to its answer, in the server.", "s",
				query(f.quantile("0.99", "", handler))),
			stat("p99 of evaluation", "Rego's evaluation, with http.send in it.", "s",
				query(f.quantile("0.99", "", evaluation))),
			stat("Servers", "That answer Prometheus and export decisions.", "none",
				query("count(count by (job, instance) (opa_decisions_total{"+servers+"}))")),
		}},
		{title: "Decisions", panels: []panel{
			stacked(series("Decisions by outcome", "Allowed and denied: a boolean, or the field allow or deny of an object. "+
				"Undefined: no rule gave a value. Result: any other value.", "reqps", 12,
				query(rate("opa_decisions_total", "outcome,", paths), "{{outcome}}"))),
			series("Denied, by path", "Share of a path's decisions.", "percentunit", 12,
				query(share("path,", `outcome="denied"`), "{{path}}")),
			series("Failed and undefined", "Share of all decisions.", "percentunit", 12,
				query(share("outcome,", `outcome=~"error|undefined"`), "{{outcome}}")),
			series("Decisions by path", "The ten that are asked for most. The path other is all that have no label of their own.", "reqps", 12,
				query("topk(10, "+rate("opa_decisions_total", "path,", paths)+")", "{{path}}")),
		}},
		{title: "Stages", panels: []panel{
			f.stageQuantile("p50", "0.5"),
			f.stageQuantile("p99", "0.99"),
			f.stageQuantile("p99.9", "0.999"),
			stacked(series("Where the time goes", "Time in each stage without the stages that it contains: nothing is counted twice. "+
				"1 s per second is one decision at a time.", "s", 12,
				query(rate("opa_decision_stage_self_seconds_total", "stage,", stages), "{{stage}}"))),
			percent(stacked(series("Share of the time", "The same as shares of the whole.", "percentunit", 12,
				query(rate("opa_decision_stage_self_seconds_total", "stage,", stages)+" / ignoring (stage) group_left "+
					rate("opa_decision_stage_self_seconds_total", "", stages), "{{stage}}")))),
			f.heatmap("Distribution of evaluation", "How many decisions a second took how long to evaluate.", evaluation),
		}},
		{title: "Paths", panels: []panel{
			series("p99 of evaluation, by path", "The ten slowest.", "s", 12,
				query("topk(10, "+f.quantile("0.99", "path,", evaluation)+")", "{{path}}")),
			series("Mean of evaluation, by path", "The ten slowest.", "s", 12,
				query("topk(10, "+f.mean("path,", evaluation)+")", "{{path}}")),
			table("Slow paths", "The twenty paths that evaluation spends most time on.",
				column{"Decisions/s", "reqps", rate("opa_decisions_total", "path,", paths)},
				column{"p50", "s", f.quantile("0.5", "path,", evaluation)},
				column{"p99", "s", f.quantile("0.99", "path,", evaluation)},
				column{"p99.9", "s", f.quantile("0.999", "path,", evaluation)},
				column{"Busy, s per s", "s", "topk(20, sum by (path) (rate(opa_decision_stage_self_seconds_total{" + inEvaluation + "}[$__rate_interval])))"},
				column{"Denied", "percentunit", share("path,", `outcome="denied"`)},
			),
		}},
		{title: "Calls out of the policy (http.send)", panels: []panel{
			series("Time of http.send per decision", "Of all calls that a decision makes.", "s", 12,
				query(f.quantile("0.5", "", calls), "p50"), query(f.quantile("0.99", "", calls), "p99"), query(f.quantile("0.999", "", calls), "p99.9")),
			series("Decisions that call out", "", "reqps", 6,
				query(f.perSecond("path,", calls), "{{path}}")),
			series("Network requests and cache hits", "OPA's counters, per second.", "ops", 6,
				query(rate("opa_decision_events_total", "event,", paths+`,event=~"rego_builtin_http_send_.*"`), "{{event}}")),
		}},
		{title: "Health of these metrics", panels: []panel{
			series("Series per server", "By a text scrape, which is what a server bounds. Prometheus stores fewer of native histograms.", "none", 8,
				query("max by (instance) (opa_decision_metric_series{"+servers+"})", "{{instance}}")),
			series("Folded into the label other", "Since a limit was reached: paths, stages and counters that lost their name, nothing else.", "ops", 8,
				query(rate("opa_decision_label_overflow_total", "kind,", servers), "{{kind}}")),
			series("Unfinished timers", "A timer of 0 in a decision: still running when it was logged, or below the clock's resolution.", "ops", 4,
				query(rate("opa_decision_stage_unfinished_total", "stage,", servers), "{{stage}}")),
			series("Left out", "Values that are no durations or counts, and events that the plugin failed to record or to hand on.", "ops", 4,
				query(rate("opa_decision_values_invalid_total", "reason,", servers), "{{reason}}"),
				query(rate("opa_decision_plugin_failures_total", "cause,", servers), "{{cause}}")),
		}},
		{title: "Decision log (OPA's own series; status.prometheus: true)", panels: []panel{
			series("Chunks uploaded", "", "ops", 8,
				query(rate("decision_logs_chunks_uploaded_total", "instance,", servers), "sent by {{instance}}"),
				query(rate("decision_logs_chunks_upload_failed_total", "instance,", servers), "failed at {{instance}}")),
			series("Decisions lost", "Dropped by the rate limit or a full buffer, or too large to upload.", "ops", 8,
				query(rate("decision_logs_dropped_rate_limit_exceeded_total", "", servers), "rate limit"),
				query(rate("decision_logs_dropped_buffer_size_limit_exceeded_total", "", servers), "buffer full (events)"),
				query(rate("decision_logs_dropped_buffer_size_limit_bytes_exceeded_total", "", servers), "buffer full (bytes)"),
				query(rate("decision_logs_encoding_failure_total", "", servers), "too large")),
			series("Waiting: events", "In buffers of type event.", "none", 4,
				query("max by (instance) (decision_logs_buffer_size_events{"+servers+"})", "{{instance}}")),
			series("Waiting: bytes", "In buffers of type size.", "bytes", 4,
				query("max by (instance) (decision_logs_buffer_size_bytes{"+servers+"})", "{{instance}}")),
		}},
	}
}

// Selectors of a stage.
const (
	handler      = paths + `,stage=~"server_handler|sdk_decision_eval"`
	evaluation   = paths + `,stage="rego_query_eval"`
	calls        = paths + `,stage="rego_builtin_http_send"`
	inEvaluation = paths + `,stage=~"rego_query_eval|rego_builtin_.*|rego_external_resolve"`
)

func (f form) stageQuantile(name, q string) panel {
	return series(name+" by stage", "Stages contain one another: the handler's time includes evaluation's, evaluation's includes http.send's.", "s", 8,
		query(f.quantile(q, "stage,", stages), "{{stage}}"))
}

// rate is a counter's increase per second, by these labels.
func rate(counter, by, selector string) string {
	return "sum" + grouping(by) + " (rate(" + counter + "{" + selector + "}[$__rate_interval]))"
}

// share is the share of the decisions with an outcome. by begins with path or
// with outcome if it is not empty.
func share(by, outcome string) string {
	some := rate("opa_decisions_total", by, paths+","+outcome)
	switch by {
	case "path,":
		return some + " / " + rate("opa_decisions_total", by, paths)
	case "outcome,":
		return some + " / ignoring (outcome) group_left " + rate("opa_decisions_total", "", paths)
	default:
		return some + " / " + rate("opa_decisions_total", "", paths)
	}
}
