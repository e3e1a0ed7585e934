// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is a plugin for Open Policy Agent (OPA), 1.0 or later, that
// folds every decision into Prometheus metrics, which OPA serves under /metrics
// and, with metrics_export, sends by OTLP. They tell how long each stage takes
// and how the decisions end, by decision path.
//
// # How decisions come
//
// An OPA that `regometer build` made has the plugin, and hands it each decision
// of its server straight away ([Plugin.ObserveDecision]): whatever is logged,
// masked or dropped, and without the cost of a decision log. Its configuration
// is
//
//	plugins:
//	  regometer: {}
//
// Everywhere else the plugin is a decision logger, which OPA hands the events
// of its decision log ([Plugin.Log]), and must be named as such:
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
// OPA's SDK is given the factory, with a registry, since it has none:
//
//	sdk.Options{Plugins: map[string]plugins.Factory{
//		plugin.Name: plugin.Factory{Registerer: prometheus.DefaultRegisterer},
//	}}
//
// Several OPAs of a program may have one registry. Each labels its decisions by
// its own configuration and policy, and they share the counts. The namespace,
// stages, buckets and limits are those of the OPA that was configured last. If
// the OPAs together have more labels than max_paths, the labels that are asked
// for first get the room, and the others count as "other". The metric
// <namespace>_decision_policy_paths is the sum over the OPAs. To keep the
// counts apart, give each OPA a registry of its own, or one that
// [prometheus.WrapRegistererWith] adds a label to.
//
// With both ways at once each decision is counted once. The metric
// <namespace>_decision_received_total says by which they came.
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
//	      from_policy: true     # label paths that the policy has rules for
//	      allow: []             # label these paths too
//	      prefixes: []          # label what begins so by the pattern; * is one segment
//	    path_stages: [server_handler, rego_query_eval] # told apart by path
//	    max_paths: 50           # how many paths have a label
//	    max_series: 2500        # in a scrape by text
//	    classic_buckets: […]    # in seconds; [] for none
//	    stages: []              # timers of your own: {name, parent, help}
//	    counters: []            # counters of your own
//	    next:                   # the logger plugin that gets each event afterwards
//
// An unknown key or a wrong value is refused, and OPA does not start. Under
// --watch-config and discovery, a configuration may change at any time:
// counters go on where they were.
//
// OPA has room for one plugin in decision_logs.plugin. Naming this one there
// switches off the upload to a default service: set decision_logs.service to
// upload as well. Console logging goes on beside it. Another logger plugin goes
// to next.
//
// # Path labels
//
// Which label a decision's path has follows from the configuration and the
// active policy alone. So it is the same on every server, whatever was asked
// for before, and clients, who can ask for any path, make none.
//
//   - First come the paths and patterns that the configuration names.
//   - Then the policy's rules, each by its path. What lies in a rule's result has
//     the rule's label: rbac/roles/alice is "rbac/roles". What a rule's head leaves
//     open is not part of it: tenants[t].allow is "tenants". Functions, and rules
//     whose names begin with test_ or todo_test_, are none.
//   - If they exceed max_paths, the order is: rules and packages that are annotated
//     as entry points; rules that no other rule depends on; packages, and what
//     packages have in common; rules that others depend on. Of the first of these
//     groups that does not fit, as many as must be lose their own label: the deepest
//     first, of the package with the most of them, the last ones by name. They share
//     the label of their package; or that of what packages have in common, if
//     there are too many packages.
//   - What has no label of its own has that of the nearest package above it that
//     has one, else it is "other". So is a path that the policy has no rules for.
//
// POST /v1/query is "(query)", for the client writes the query; all documents
// at once are "(data)". Entry points of WebAssembly bundles have no rules: name
// them in paths.allow.
//
// When the policy changes, decisions of a path that is gone are "other" at
// once. What was counted of it is exported as before until its room is needed
// for a path of the policy that is active then: those go first that have been
// gone for longest.
//
// # Outcomes
//
// As package rollup judges results. An evaluation that ended because the client
// went away or its deadline had passed is cancelled. In events of the decision
// log, a result that the mask policy removed or changed is neither allowed nor
// denied, and decisions that the drop policy drops, or for which the drop or
// mask policy fails, are missing.
package plugin
