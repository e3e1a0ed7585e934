// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is a plugin for Open Policy Agent (OPA), 1.0 or later, that
// folds every decision into Prometheus metrics, which OPA serves under /metrics
// and, with metrics_export, sends by OTLP. They show the duration of each stage
// and the outcomes of the decisions, by decision path.
//
// # How decisions come
//
// An OPA from `regometer build` has the plugin, and hands it each decision of
// its server straight away ([Plugin.ObserveDecision]): whatever is logged,
// masked or dropped, and without the cost of a decision log. Its configuration
// is
//
//	plugins:
//	  regometer: {}
//
// Everywhere else the plugin is a decision logger, and gets the events of OPA's
// decision log ([Plugin.Log]). The configuration must name it:
//
//	decision_logs:
//	  plugin: regometer
//	plugins:
//	  regometer: {}
//
// A program that builds its own OPA imports package
// github.com/regometer/regometer/opa/plugin/register, or calls
//
//	runtime.RegisterPlugin(plugin.Name, plugin.Factory{})
//
// OPA's SDK has no registry. Give it the factory with one:
//
//	sdk.Options{Plugins: map[string]plugins.Factory{
//		plugin.Name: plugin.Factory{Registerer: prometheus.DefaultRegisterer},
//	}}
//
// Several OPAs of a program may have one registry. Each labels its decisions by
// its own configuration and policy, and they share the counts. The namespace,
// stages, buckets and limits are those of the OPA that was configured last. If
// the OPAs together have more labels than max_paths, the labels that clients
// ask for first get the room, and the others count as "other". The metric
// <namespace>_decision_policy_paths is the sum over the OPAs. To keep the
// counts apart, give each OPA its own registry, or one to which
// [prometheus.WrapRegistererWith] adds a label.
//
// With both ways at once, each decision is counted once. The metric
// <namespace>_decision_received_total counts decisions by their way.
//
// # Configuration
//
// These are all keys, with their defaults:
//
//	plugins:
//	  regometer:
//	    namespace: opa          # begins the names of all metrics
//	    paths:                  # or true, or false for no path labels
//	      enabled: true
//	      from_policy: true     # label the paths of the policy's rules
//	      allow: []             # label these paths too
//	      prefixes: []          # patterns that label all paths below them; * is one segment
//	    path_stages: [server_handler, rego_query_eval] # told apart by path
//	    max_paths: 50           # paths with a label
//	    max_series: 2500        # series of a scrape by text
//	    classic_buckets: […]    # in seconds; [] for none
//	    stages: []              # timers of your own: {name, parent, help}
//	    counters: []            # counters of your own
//	    next:                   # the logger plugin that gets each event afterwards
//
// The plugin refuses an unknown key or a wrong value, and OPA does not start.
// With --watch-config and discovery, a configuration may change at any time,
// and the counters continue.
//
// OPA has room for one plugin in decision_logs.plugin. This plugin there
// switches off the upload to a default service: set decision_logs.service to
// upload too. Console logging continues. Name another logger plugin in next.
//
// # Path labels
//
// The label of a decision's path follows only from the configuration and the
// active policy. So it is the same on every server, whatever clients asked for
// before, and clients, who can ask for any path, make no labels.
//
//   - First come the paths and patterns that the configuration names.
//   - Then come the policy's rules, each by its path. A path into a rule's
//     result has the rule's label: rbac/roles/alice is "rbac/roles". The label
//     ends at the first variable in a rule's head: tenants[t].allow is
//     "tenants". Functions, and rules whose names begin with test_ or
//     todo_test_, have no labels.
//   - If they exceed max_paths, the order is: rules and packages that are
//     annotated as entry points; rules that no other rule depends on; packages,
//     and the common beginnings of packages; rules that others depend on. In
//     the first group that does not fit, as few as possible lose their own
//     label: the deepest first, in the package with the most of them, the last
//     ones by name. They share the label of their package, or the common
//     beginning of several packages if there are too many packages.
//   - A path without its own label has that of the nearest package above it
//     that has one, or else "other". A path without rules is "other" too.
//
// POST /v1/query is "(query)", because the client writes the query. All
// documents at once are "(data)". Entry points of WebAssembly bundles have no
// rules: name them in paths.allow.
//
// When a policy change removes a path, its decisions are "other" at once. Its
// series stay until a path of the active policy needs their room. The series of
// the path that has been gone longest end first.
//
// # Outcomes
//
// Package rollup judges results. An evaluation that ended because the client
// left or its deadline passed is cancelled. In events of the decision log, a
// result that the mask policy removed or changed is neither allowed nor denied.
// Decisions that the drop policy drops, or for which the drop or mask policy
// fails, are missing.
package plugin
