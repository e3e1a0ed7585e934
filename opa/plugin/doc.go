// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is a plugin for Open Policy Agent (OPA), 1.0 or later. It
// folds every decision into Prometheus metrics. They show the duration of each
// stage and the outcomes of the decisions, by decision path. OPA serves them
// under /metrics and, with metrics_export, sends them by OTLP.
//
// # How the plugin gets decisions
//
// An OPA from `regometer build` contains the plugin. Its server passes each
// decision directly to the plugin ([Plugin.ObserveDecision]), whatever is
// logged, masked or dropped, and without the cost of a decision log. The
// configuration is
//
//	plugins:
//	  regometer: {}
//
// In other programs, the plugin is a decision logger. It gets the events of
// OPA's decision log ([Plugin.Log]). The configuration must name it:
//
//	decision_logs:
//	  plugin: regometer
//	plugins:
//	  regometer: {}
//
// A program that builds its own OPA requires the OPA that it wants in its
// go.mod, because the plugin alone asks only for OPA 1.0.0. The program imports
// package github.com/regometer/regometer/opa/plugin/register, or calls
//
//	runtime.RegisterPlugin(plugin.Name, plugin.Factory{})
//
// OPA's SDK has no Prometheus registry, so give one to the factory:
//
//	sdk.Options{Plugins: map[string]plugins.Factory{
//		plugin.Name: plugin.Factory{Registerer: prometheus.DefaultRegisterer},
//	}}
//
// Importing this package changes nothing in OPA. Only [CountHTTPSend] replaces
// OPA's http.send, to count its failures. Package register and the programs of
// `regometer build` call it. In other programs, such as those with the SDK, the
// metric <namespace>_decision_http_send_failures_total is missing without it.
//
// Several OPAs in a program may use the same registry. Each OPA labels its
// decisions by its own configuration and policy, and all share the counts. The
// namespace, stages, buckets and limits, and the metrics that describe the
// policy, are those of the OPA that was configured last. All share the room of
// its max_paths: decisions of paths that come when there is none left count as
// "other". So make max_paths large enough for all. To separate the counts, give
// each OPA its own registry, or wrap the registry with
// [prometheus.WrapRegistererWith], which adds a label.
//
// If a decision comes both ways, the plugin counts it only once. The metric
// <namespace>_decision_received_total counts decisions by the way they came.
//
// # Configuration
//
// These are all keys and their defaults:
//
//	plugins:
//	  regometer:
//	    namespace: opa          # begins the names of all metrics
//	    paths:                  # or true, or false for no path labels
//	      enabled: true
//	      from_policy: true     # label the paths of the policy's rules
//	      allow: []             # label these paths too
//	      prefixes: []          # patterns that label all paths below them; * is one segment
//	    path_stages: [server_handler, rego_query_eval] # durations of these by path
//	    max_paths: 50           # limits the paths with a label
//	    max_series: 3500        # limits the series of a scrape by text
//	    classic_buckets: […]    # in seconds; [] for none
//	    stages: []              # your own timers: {name, parent, help}
//	    counters: []            # your own counters
//	    outcomes: {}            # rules for results of other forms, by path
//	    next:                   # the logger plugin that gets each event after this one
//
// OPA does not start with an unknown key or an invalid value. With
// --watch-config and discovery, the configuration may change at any time, and
// the counters continue.
//
// OPA accepts one plugin in decision_logs.plugin. Any plugin there switches off
// the upload to a default service. To upload decisions too, set
// decision_logs.service. Console logging continues. To use another logger
// plugin too, name it in next.
//
// # Path labels
//
// The label of a decision's path depends only on the configuration and the
// active policy. So it is the same on every server, whatever clients have asked
// for before. Clients can ask for any path, but they cannot create labels.
//
//   - The paths and patterns that the configuration names come first.
//   - Then come the policy's rules, each with its path as label. A path into a
//     rule's result has the rule's label, so rbac/roles/alice is "rbac/roles".
//     The label ends at the first variable in a rule's head, so
//     tenants[t].allow is "tenants". Functions, and rules whose names begin
//     with test_ or todo_test_, have no labels.
//   - If there are more paths than max_paths, labels go to these groups, one
//     after the other: rules and packages that are annotated as entry points;
//     rules with a default, and rules named allow, allowed, deny, violation,
//     decision, response, main or result; rules that no other rule depends on
//     and that have a boolean value, or an object with a field of such a name;
//     other rules that no other rule depends on; packages and the common
//     beginnings of packages; rules that others depend on, first those with
//     such values; and last rules with a constant value. In the first
//     group that does not fit, as few paths as possible lose their own label.
//     The deepest paths lose it first. Among these, paths of the package with
//     the most of them lose it first, and of this package those that are last
//     by name. They share the label of their package, or of the common
//     beginning of several packages if there are too many packages.
//   - A path without its own label has the label of the nearest package above
//     it that has one. Without such a package, it is "other". A path without
//     rules is "other" too.
//
// POST /v1/query is "(query)", because the client writes the query. A decision
// on all documents at once is "(data)". Entry points of WebAssembly bundles
// have no rules, so name them in paths.allow.
//
// When a policy change removes a path, decisions on it become "other" at once.
// The path's series stay while there is room for all labels of the new policy.
// Otherwise such series end, those that began first before others.
//
// # Outcomes
//
// docs/operating.md says which results are allowed or denied. The key outcomes
// has rules for other results. An evaluation that ended because the client left
// or its deadline passed is cancelled. In events of the decision log, a result
// is neither allowed nor denied if the mask policy removed or changed what
// decides. The log lacks decisions that the drop policy drops, and decisions for
// which the drop or mask policy fails.
//
// Before 1.0, names of Go may change. A key of the configuration or a metric that
// is removed stays for one more minor release.
package plugin
