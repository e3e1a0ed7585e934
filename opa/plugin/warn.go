// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	opaconfig "github.com/open-policy-agent/opa/v1/config"
	"github.com/open-policy-agent/opa/v1/plugins"
)

// warn tells of settings under which decisions do not go where an operator
// might think, when they begin to hold. It is called with p.mu held.
func (p *Plugin) warn() {
	text := p.warning()
	if text != "" && text != p.warned {
		p.logger.Warn("%s", text)
	}
	p.warned = text
}

func (p *Plugin) warning() string {
	if p.registry == nil {
		return "Nothing is exported: this OPA has no Prometheus registry. Under the SDK, give one to the plugin's Factory."
	}
	config := configOf(p.manager)
	if config == nil {
		return ""
	}
	var fields map[string]json.RawMessage
	if len(config.DecisionLogs) > 0 && json.Unmarshal(config.DecisionLogs, &fields) != nil {
		return "" // OPA itself refuses it
	}
	var c struct {
		Plugin  *string `json:"plugin"`
		Service string  `json:"service"`
		Console bool    `json:"console"`
	}
	if len(config.DecisionLogs) > 0 && json.Unmarshal(config.DecisionLogs, &c) != nil {
		return ""
	}
	byLog := loggedOnly(config)
	straight := p.observed != nil && byLog == "" // all decisions come so, from the server
	if c.Plugin == nil || *c.Plugin != Name {
		if straight {
			return p.nextWarning(c.Plugin)
		}
		whose := ""
		if p.observed != nil {
			whose = " of " + byLog
		}
		hint := fmt.Sprintf("Set decision_logs.plugin to %q", Name)
		if c.Plugin != nil {
			hint += fmt.Sprintf(", and plugins.%s.next to %q to keep that plugin", Name, *c.Plugin)
		}
		return fmt.Sprintf("The plugin sees no decisions%s, since decision_logs.plugin does not name it. %s.", whose, hint)
	}
	services := p.manager.Services()
	if c.Service != "" || len(services) == 0 || !slices.ContainsFunc(uploadKeys, func(key string) bool { return fields[key] != nil }) {
		return "" // a service may be there for bundles alone
	}
	slices.Sort(services)
	remedy := "set decision_logs.service, to " + strings.Join(services, " or ")
	if straight {
		remedy += ", or leave decision_logs.plugin out: this OPA needs it for nothing"
	}
	return "Decisions are not uploaded: a plugin in decision_logs.plugin switches the upload to a default service off. " +
		"To upload them as well, " + remedy + "."
}

// deciders are the plugins, known to many, that decide without OPA's server:
// their decisions come by the decision log alone.
var deciders = []string{"envoy_ext_authz_grpc", "envoy.ext_authz.grpc"} // both of opa-envoy-plugin

// loggedOnly returns which of the deciders OPA's configuration has, "" if it
// has none.
func loggedOnly(config *opaconfig.Config) string {
	for _, name := range deciders {
		if config.Plugins[name] != nil {
			return name
		}
	}
	return ""
}

// nextWarning is about a next plugin that gets nothing: without Regometer in
// decision_logs.plugin, no event comes that could be handed on.
func (p *Plugin) nextWarning(logger *string) string {
	next := p.config.Next
	if next == "" || logger != nil && *logger == next {
		return ""
	}
	return fmt.Sprintf("The plugin %q, named by %s.next, gets no events, since decision_logs.plugin does not name %q. "+
		"Set decision_logs.plugin to %[1]q and leave next out: this OPA counts decisions without it.", next, configPath, Name)
}

// uploadKeys are the keys of decision_logs that say that uploads are wanted.
var uploadKeys = []string{"resource", "resource_path", "partition_name", "reporting"}

// configOf returns the manager's configuration as it is now. OPA 1.0 has no
// method for that, only the field, which later releases deprecate.
func configOf(m *plugins.Manager) *opaconfig.Config {
	if m, ok := any(m).(interface{ GetConfig() *opaconfig.Config }); ok {
		return m.GetConfig()
	}
	return m.Config
}

// watch warns when OPA's configuration begins to keep decisions from the
// plugin: discovery may bring one that no longer has it, of which it is not
// told. It is called with p.mu held, and ends when p.ended is closed.
func (p *Plugin) watch() {
	p.ended = make(chan struct{})
	go func(ended chan struct{}) {
		for {
			select {
			case <-ended:
				return
			case <-p.reconfigured:
				p.mu.Lock()
				if p.started {
					p.warn()
				}
				p.mu.Unlock()
			}
		}
	}(p.ended)
}

// A rateLimiter lets one call a minute pass.
type rateLimiter struct {
	mu      sync.Mutex
	last    time.Time
	omitted uint64
}

// allow reports whether this call passes, and how many did not since the last
// one that did.
func (s *rateLimiter) allow() (ok bool, omitted uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := time.Now()
	if !s.last.IsZero() && t.Sub(s.last) < time.Minute {
		s.omitted++
		return false, 0
	}
	omitted = s.omitted
	s.last, s.omitted = t, 0
	return true, omitted
}
