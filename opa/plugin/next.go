// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
)

// A slogPlugin is the other kind of logger plugin that decision_logs.plugin may
// name. OPA 1.0 has only logs.Logger.
type slogPlugin interface{ Logger() slog.Handler }

// checkConfigured returns an error if no plugin with this name is configured.
// "" stands for no plugin.
func checkConfigured(m *plugins.Manager, name string) error {
	configured := configOf(m).Plugins
	if _, ok := configured[name]; ok || name == "" || m.Plugin(name) != nil {
		return nil
	}
	known := "no other plugin is configured"
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(configured)), func(n string) bool { return n == Name })
	if len(others) > 0 {
		known = "the other plugins are " + strings.Join(others, ", ")
	}
	return fmt.Errorf("%s.next names %q, which is not configured under plugins: %s", configPath, name, known)
}

// checkLogger returns an error if the plugin with this name exists and is not a
// decision logger. OPA starts plugins in any order. So a plugin may not exist
// yet, and may have no log handler before it starts.
func checkLogger(m *plugins.Manager, name string) error {
	switch m.Plugin(name).(type) {
	case nil, logs.Logger, slogPlugin:
		return nil
	default:
		return fmt.Errorf("the plugin %q, named by %s.next, is not a decision logger: name a decision logger, or remove next", name, configPath)
	}
}

// logTo passes an event to the logger plugin with this name. It returns the
// plugin's error, and fails if the plugin does not exist or is not a decision
// logger.
func logTo(ctx context.Context, m *plugins.Manager, name string, event logs.EventV1) error {
	switch p := m.Plugin(name).(type) {
	case nil:
		return fmt.Errorf("%s.next names the plugin %q, which does not exist", configPath, name)
	case logs.Logger:
		return p.Log(ctx, event)
	case slogPlugin:
		// A slog.Logger would drop the handler's errors.
		handler := p.Logger()
		if handler == nil {
			return fmt.Errorf("the plugin %q, named by %s.next, has no log handler", name, configPath)
		}
		if !handler.Enabled(ctx, slog.LevelInfo) {
			return nil
		}
		r := slog.NewRecord(time.Now(), slog.LevelInfo, "Decision Log", 0)
		r.AddAttrs(attributes(event)...)
		return handler.Handle(ctx, r)
	}
	return checkLogger(m, name)
}

// eventType is the type that OPA gives to events of the decision log in the
// lines of its own log.
const eventType = "openpolicyagent.org/decision_logs"

// attributes returns an event's fields under their JSON names, as OPA passes
// them to a slogPlugin. Empty fields are left out, and an error becomes text.
// attributes uses reflection, because the fields differ between releases of
// OPA.
func attributes(event logs.EventV1) []slog.Attr {
	attrs := []slog.Attr{slog.String("type", eventType)}
	v := reflect.ValueOf(event)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field := v.Field(i)
		switch {
		case name == "" || field.IsZero():
		case (field.Kind() == reflect.Map || field.Kind() == reflect.Slice) && field.Len() == 0:
		case name == "error":
			attrs = append(attrs, slog.String(name, event.Error.Error()))
		case field.Kind() == reflect.Pointer:
			attrs = append(attrs, slog.Any(name, field.Elem().Interface()))
		default:
			attrs = append(attrs, slog.Any(name, field.Interface()))
		}
	}
	return attrs
}
