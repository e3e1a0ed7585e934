// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package server

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
	if logger.logger == nil && !getBoolParam(r.URL, types.ParamMetricsV1) && !getBoolParam(r.URL, types.ParamInstrumentV1) {
		return metrics.NoOp()
	}

	return metrics.New()
}
