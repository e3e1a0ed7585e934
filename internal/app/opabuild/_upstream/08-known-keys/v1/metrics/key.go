// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

const (
	timerPrefix     = "timer_"
	timerSuffix     = "_ns"
	counterPrefix   = "counter_"
	histogramPrefix = "histogram_"
)

// timerKeys has the keys of the timers that each decision may have, so that
// they are not formatted for each decision. Any other name has its key too.
var timerKeys = map[string]string{}

func init() {
	for _, name := range []string{
		BundleRequest, ServerHandler, SDKDecisionEval, RegoQueryCompile, RegoQueryEval,
		RegoQueryParse, RegoModuleParse, RegoModuleCompile, RegoPartialEval,
		RegoInputParse, RegoLoadFiles, RegoLoadBundles, RegoExternalResolve,
	} {
		timerKeys[name] = timerPrefix + name + timerSuffix
	}
}

func timerKey(name string) string {
	if key, ok := timerKeys[name]; ok {
		return key
	}
	return timerPrefix + name + timerSuffix
}

func counterKey(name string) string {
	if name == ServerQueryCacheHit {
		return counterPrefix + ServerQueryCacheHit // a constant
	}
	return counterPrefix + name
}
