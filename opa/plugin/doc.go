// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is a decision-log plugin for Open Policy Agent (OPA), 1.0 or
// later: it folds every decision into Prometheus metrics, which OPA serves
// under /metrics and, with metrics_export, sends by OTLP. They tell, by
// decision path, how long each stage takes and how the decisions end.
//
// The opa binary that `regometer build` makes has it. A program that builds
// its own imports package github.com/regometer/regometer/opa/plugin/register,
// or calls
//
//	runtime.RegisterPlugin(plugin.Name, plugin.Factory{})
//
// OPA's SDK is given the factory, with a registry, since it has none:
//
//	sdk.Options{Plugins: map[string]plugins.Factory{
//		plugin.Name: plugin.Factory{Registerer: prometheus.DefaultRegisterer},
//	}}
//
// # Configuration
//
// The least is
//
//	decision_logs:
//	  plugin: regometer
//	plugins:
//	  regometer: {}
//
// and these are all keys, with their defaults:
//
//	plugins:
//	  regometer:
//	    namespace: opa          # begins the names of all metrics
//	    paths:                  # or true, or false for no path labels
//	      enabled: true
//	      from_policy: true     # label paths that the policy has rules for
//	      allow: []             # label these paths too
//	      prefixes: []          # label what begins so by the pattern; * is one segment
//	    max_paths: 50           # how many values the labels have at most;
//	    max_stages: 16          #   what comes later is "other"
//	    max_counters: 16
//	    max_series: 2000        # in a scrape by text
//	    classic_buckets: […]    # in seconds; [] for none
//	    stages: []              # timers of your own: {name, parent, help}
//	    next:                   # the logger plugin that gets each event afterwards
//
// An unknown key or a wrong value is refused, and OPA does not start. Under
// --watch-config and discovery, a configuration may change at any time:
// counters go on where they were. If a limit is lowered, what no longer fits
// moves to "other".
//
// OPA has room for one plugin in decision_logs.plugin. Naming this one there
// switches off the upload to a default service, about which the plugin warns:
// set decision_logs.service to upload as well. Console logging goes on beside
// it. Another logger plugin goes to next.
//
// # Path labels
//
// Clients can ask for any path, so that a path alone is no label. It gets one
// if the configuration names it; or if the policy has rules at it or below it,
// or at the beginning of it: then it is cut to the rule, so that
// rbac/roles/alice is "rbac/roles". Everything else is "other". What the rule's
// head leaves open is not part of the label: tenants[t].allow is "tenants".
// POST /v1/query is "(query)", for the client writes the query; all documents
// at once are "(data)". Entry points of WebAssembly bundles have no rules: name
// them in paths.allow.
//
// # Outcomes
//
// As package rollup judges results. A result that the mask policy removed or
// changed is neither allowed nor denied. Decisions that OPA refuses before it
// makes them, or that the drop policy drops, never reach a decision logger.
package plugin
