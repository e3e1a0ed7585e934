// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/open-policy-agent/opa/v1/hooks"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	bundlePlugin "github.com/open-policy-agent/opa/v1/plugins/bundle"
	"github.com/open-policy-agent/opa/v1/server/types"
	iCache "github.com/open-policy-agent/opa/v1/topdown/cache"
	"net/http"
)

// WithHooks allows passing hooks to the server.
func (s *Server) WithHooks(hs hooks.Hooks) *Server {
	s.hooks = hs
	s.decisionHooks = hs.Decision()
	return s
}

// requestLogger returns what logs the decision of a request. It is called once
// for each, since a reload of the configuration can change the answer.
func (s *Server) requestLogger() decisionLogger {
	l := decisionLogger{manager: s.manager}
	if s.logger != nil {
		l.logger = s.logger()
	}
	for _, h := range s.decisionHooks {
		if h.WantsDecision() {
			l.hooks = append(l.hooks, h)
		}
	}
	return l
}

func getMetrics(r *http.Request, logger decisionLogger) metrics.Metrics {
	if logger.logger == nil && logger.hooks == nil && !getBoolParam(r.URL, types.ParamMetricsV1) && !getBoolParam(r.URL, types.ParamInstrumentV1) {
		return metrics.NoOp()
	}

	return metrics.New()
}

type decisionLogger struct {
	revisions  map[string]string
	revision   string // Deprecated: Use `revisions` instead.
	logger     func(context.Context, *Info) error
	hooks      []hooks.DecisionHook // that want the decision
	manager    *plugins.Manager
	decisionID string
}
