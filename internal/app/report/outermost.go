// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/groupby"
)

// wholes are the stages that contain all of a decision, the outermost first.
var wholes = []string{handlerStage, decisionStage}

// Outermost returns the stage of a group that stands for whole decisions:
// server_handler, or else sdk_decision_eval, or else that whose durations have
// the largest sum, the first one of several. It is one of those given that has
// durations; nil if none has.
func Outermost(stages []groupby.Stage) *groupby.Stage {
	for _, name := range wholes {
		if s := stage(stages, name); s.Durations.Count() > 0 {
			return s
		}
	}
	var found *groupby.Stage
	var most groupby.Sum
	for i := range stages {
		s := &stages[i]
		hi, lo := s.Durations.Sum()
		if took := (groupby.Sum{Hi: hi, Lo: lo}); s.Durations.Count() > 0 && (found == nil || sum.Compare(took, most) > 0) {
			found, most = s, took
		}
	}
	return found
}
