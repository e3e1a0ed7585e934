// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins"

	"github.com/regometer/regometer/opa/internal/hook"
)

// warnings returns what to warn about, because decisions or metrics do not go
// where an operator may expect them. "" stands for no warning.
func warnings(m *plugins.Manager, c *settings, build *hook.Build, exported bool) [2]string {
	return [...]string{decisionWarning(m, c, build, exported), exportWarning(m)}
}

// deciders are well-known plugins that make decisions without OPA's server.
// Their decisions come only by the decision log.
var deciders = []string{"envoy_ext_authz_grpc", "envoy.ext_authz.grpc"} // both of opa-envoy-plugin

// decisionWarning returns a warning, or "" if all decisions go where an operator
// may expect them.
func decisionWarning(m *plugins.Manager, own *settings, build *hook.Build, exported bool) string {
	if !exported {
		return "No metrics are exported, because this OPA has no Prometheus registry. Under the SDK, set Registerer in the plugin's Factory."
	}
	config := configOf(m)
	var c struct {
		Plugin, Service string
		// Keys that an operator sets only to upload decisions.
		Resource, Reporting json.RawMessage
		ResourcePath        json.RawMessage `json:"resource_path"`
		PartitionName       json.RawMessage `json:"partition_name"`
	}
	if len(config.DecisionLogs) > 0 && json.Unmarshal(config.DecisionLogs, &c) != nil {
		return "" // OPA itself refuses this configuration
	}
	decider := "" // names a plugin whose decisions do not come directly from the server
	for _, name := range deciders {
		if build.Observed != nil && config.Plugins[name] != nil {
			decider = " of " + name
		}
	}
	hooked := build.Observed != nil && decider == "" // all decisions come directly from the server
	if c.Plugin == Name {
		return uploadWarning(m, c.Service, len(c.Resource)+len(c.ResourcePath)+len(c.PartitionName)+len(c.Reporting) > 0, hooked)
	}
	if hooked {
		if own.Next == "" || own.Next == c.Plugin {
			return ""
		}
		return fmt.Sprintf("The plugin %q, named by %s.next, gets no events, because decision_logs.plugin does not name %q. "+
			"Set decision_logs.plugin to %[1]q and remove next: this OPA counts decisions without it.", own.Next, configPath, Name)
	}
	keep := ""
	if c.Plugin != "" {
		keep = fmt.Sprintf(", and plugins.%s.next to %q to keep that plugin", Name, c.Plugin)
	}
	return fmt.Sprintf("The plugin sees no decisions%s, because decision_logs.plugin does not name it. Set decision_logs.plugin to %q%s.",
		decider, Name, keep)
}

// uploadWarning returns a warning if OPA has a service for uploads but does not
// upload, and otherwise "". It gives no warning without upload settings,
// because the service may serve only bundles.
func uploadWarning(m *plugins.Manager, service string, wanted, hooked bool) string {
	services := m.Services()
	if service != "" || len(services) == 0 || !wanted {
		return ""
	}
	slices.Sort(services)
	remedy := "set decision_logs.service to " + strings.Join(services, " or ")
	if hooked {
		remedy += ", or remove decision_logs.plugin: this OPA counts decisions without it"
	}
	return "Decisions are not uploaded, because a plugin in decision_logs.plugin switches off the upload to a default service. " +
		"To upload them too, " + remedy + "."
}

// exportWarning returns a warning if OPA sends metrics over OTLP without a name
// of the server, and otherwise "".
func exportWarning(m *plugins.Manager) string {
	field := reflect.ValueOf(configOf(m)).Elem().FieldByName("MetricsExport")
	if !field.IsValid() {
		return "" // OPA before 1.16 sends nothing
	}
	var c struct {
		Type     string
		Resource struct {
			Instance string `json:"service_instance_id"`
		}
	}
	if json.Unmarshal(field.Bytes(), &c) != nil || c.Type == "" {
		return ""
	}
	if name := c.Resource.Instance; name != "" && !strings.Contains(name, "${") { // OPA leaves ${X} as it is if X is not set
		return ""
	}
	return "metrics_export does not name this server. Servers without a name write the same series, so that sums and rates are wrong. " +
		"Set metrics_export.resource.service_instance_id to a name of its own, such as ${HOSTNAME}, and set that environment variable."
}

// A rateLimiter allows one event a minute.
type rateLimiter struct{ last atomic.Int64 } // in ns since 1970; 0 before the first call

// allow reports whether an event is allowed now.
func (l *rateLimiter) allow() bool {
	last, now := l.last.Load(), time.Now().UnixNano()
	return (last == 0 || now-last >= int64(time.Minute)) && l.last.CompareAndSwap(last, now)
}
