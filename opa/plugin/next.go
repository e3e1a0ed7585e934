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
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
)

// A next hands events on to another logger plugin.
type next struct {
	name    string
	manager *plugins.Manager
	logger  atomic.Pointer[eventLogger] // nil until the plugin is found
}

// An eventLogger is the part of [logs.Logger] that matters here.
type eventLogger interface {
	Log(context.Context, logs.EventV1) error
}

// newNext returns nil if name is "". The plugin need not be there yet, but if
// it is, it has to be a logger. It may have nothing to log to before it is
// started, and OPA starts plugins in any order.
func newNext(m *plugins.Manager, name string) (*next, error) {
	if name == "" {
		return nil, nil
	}
	n := &next{name: name, manager: m}
	switch m.Plugin(name).(type) {
	case nil, logs.Logger, slogPlugin:
		return n, nil
	default:
		return nil, n.noLogger()
	}
}

func (n *next) noLogger() error {
	return fmt.Errorf("the plugin %q, named by %s.next, is no decision logger", n.name, configPath)
}

func (n *next) log(ctx context.Context, event logs.EventV1) error {
	logger := n.logger.Load()
	if logger == nil {
		var err error
		if logger, err = n.find(); err != nil {
			return err
		}
	}
	return (*logger).Log(ctx, event)
}

// A slogPlugin is the other kind of logger plugin that decision_logs.plugin
// may name, in later releases than OPA 1.0.
type slogPlugin interface{ Logger() slog.Handler }

// A lineLogger logs events to the handler of such a plugin. It asks the handler
// itself, since a slog.Logger says nothing of errors.
type lineLogger struct{ slog.Handler }

// Log implements eventLogger.
func (l lineLogger) Log(ctx context.Context, event logs.EventV1) error {
	if !l.Enabled(ctx, slog.LevelInfo) {
		return nil
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "Decision Log", 0)
	r.AddAttrs(attributes(event)...)
	return l.Handle(ctx, r)
}

func (n *next) find() (*eventLogger, error) {
	var logger eventLogger
	switch p := n.manager.Plugin(n.name).(type) {
	case nil:
		return nil, fmt.Errorf("%s.next names the plugin %q, which is not there", configPath, n.name)
	case logs.Logger:
		logger = p
	case slogPlugin:
		handler := p.Logger()
		if handler == nil {
			return nil, fmt.Errorf("the plugin %q, named by %s.next, has no log handler", n.name, configPath)
		}
		logger = lineLogger{handler}
	default:
		return nil, n.noLogger()
	}
	n.logger.Store(&logger)
	return &logger, nil
}

// eventType is what OPA calls decision-log events in lines of a log.
const eventType = "openpolicyagent.org/decision_logs"

// attributes returns an event's fields under their JSON names, as OPA hands
// them to such a plugin: empty ones are left out, an error is its text. The
// fields are listed by reflection, because they differ between OPA's releases.
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

// checkNext returns an error if no plugin of this name is configured.
func checkNext(m *plugins.Manager, name string) error {
	if name == "" || m.Plugin(name) != nil {
		return nil
	}
	var others []string
	if c := configOf(m); c != nil {
		if _, ok := c.Plugins[name]; ok {
			return nil
		}
		others = slices.DeleteFunc(slices.Sorted(maps.Keys(c.Plugins)), func(n string) bool { return n == Name })
	}
	known := "there is no other plugin"
	if len(others) > 0 {
		known = "the other plugins are " + strings.Join(others, ", ")
	}
	return fmt.Errorf("%s.next names %q, which is not configured under plugins: %s", configPath, name, known)
}
