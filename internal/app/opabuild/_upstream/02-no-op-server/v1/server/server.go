// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/open-policy-agent/opa/v1/metrics"
	bundlePlugin "github.com/open-policy-agent/opa/v1/plugins/bundle"
	"github.com/open-policy-agent/opa/v1/server/types"
	iCache "github.com/open-policy-agent/opa/v1/topdown/cache"
	"net/http"
)

// WithDecisionLoggerFunc sets a function that returns the decision logger, or
// nil if decisions are not logged at present. The server calls it once for each
// request.
func (s *Server) WithDecisionLoggerFunc(f func() func(context.Context, *Info) error) *Server {
	s.logger = f
	return s
}

// requestLogger returns what logs the decision of a request. It is called once
// for each, since a reload of the configuration can change the answer.
func (s *Server) requestLogger() decisionLogger {
	if s.logger == nil {
		return decisionLogger{}
	}
	return decisionLogger{logger: s.logger()}
}

func getMetrics(r *http.Request, logger decisionLogger) metrics.Metrics {
	metricsInQuery := getBoolParam(r.URL, types.ParamMetricsV1)
	instrumentationInQuery := getBoolParam(r.URL, types.ParamInstrumentV1)

	if logger.logger == nil && !metricsInQuery && !instrumentationInQuery {
		return metrics.NoOp()
	}

	return metrics.New()
}
