// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

func (m *metrics) All() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	result := make(map[string]any, m.timers.len()+len(m.histograms)+m.counters.len())
	for name, timer := range m.timers.all {
		result[timerKey(name)] = timer.Value()
	}
	for name, hist := range m.histograms {
		result["histogram_"+name] = hist.Value()
	}
	for name, cntr := range m.counters.all {
		result[counterKey(name)] = cntr.Value()
	}
	return result
}

func (m *metrics) Timers() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	ts := make(map[string]any, m.timers.len())
	for n, t := range m.timers.all {
		ts[timerKey(n)] = t.Value()
	}
	return ts
}

// timerKeys are the keys of the timers that evaluations and requests have.
var timerKeys = func() map[string]string {
	keys := map[string]string{}
	for _, name := range []string{
		ServerHandler, SDKDecisionEval, RegoQueryCompile, RegoQueryEval, RegoQueryParse, RegoModuleParse,
		RegoDataParse, RegoModuleCompile, RegoPartialEval, RegoInputParse, RegoLoadFiles, RegoLoadBundles,
		RegoExternalResolve, CompilePrepPartial, CompileEvalConstraints, CompileTranslateQueries,
		CompileExtractAnnotationsUnknowns, CompileExtractAnnotationsMask, CompileEvalMaskRule,
	} {
		keys[name] = "timer_" + name + "_ns"
	}
	return keys
}()

func timerKey(name string) string {
	if key, ok := timerKeys[name]; ok {
		return key
	}
	return "timer_" + name + "_ns"
}

func counterKey(name string) string {
	if name == ServerQueryCacheHit {
		return "counter_" + ServerQueryCacheHit
	}
	return "counter_" + name
}
