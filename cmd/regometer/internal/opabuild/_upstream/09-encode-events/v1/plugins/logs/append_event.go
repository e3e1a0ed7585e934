// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"strconv"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/util"
)

// eventTexts has buffers for the JSON of events, which an encoder copies.
var eventTexts = sync.Pool{New: func() any { return new([]byte) }}

// maxEventText limits the size of a buffer that is kept.
const maxEventText = 64 << 10

// appendEventJSON appends the JSON of an event, as json.Marshal writes it.
func appendEventJSON(b []byte, e *EventV1) ([]byte, error) {
	sep := byte('{')
	for _, f := range [...]struct {
		name  string
		omit  bool
		value any // a pointer in place of a text, since it needs no allocation
	}{
		{"labels", false, e.Labels},
		{"decision_id", false, &e.DecisionID},
		{"batch_decision_id", e.BatchDecisionID == "", &e.BatchDecisionID},
		{"trace_id", e.TraceID == "", &e.TraceID},
		{"span_id", e.SpanID == "", &e.SpanID},
		{"revision", e.Revision == "", &e.Revision},
		{"bundles", len(e.Bundles) == 0, e.Bundles},
		{"path", e.Path == "", &e.Path},
		{"query", e.Query == "", &e.Query},
		{"input", e.Input == nil, e.Input},
		{"result", e.Result == nil, e.Result},
		{"intermediate_results", len(e.IntermediateResults) == 0, e.IntermediateResults},
		{"mapped_result", e.MappedResult == nil, e.MappedResult},
		{"nd_builtin_cache", e.NDBuiltinCache == nil, e.NDBuiltinCache},
		{"erased", len(e.Erased) == 0, &e.Erased},
		{"masked", len(e.Masked) == 0, &e.Masked},
		{"error", e.Error == nil, e.Error},
		{"requested_by", e.RequestedBy == "", &e.RequestedBy},
		{"timestamp", false, &e.Timestamp},
		{"metrics", len(e.Metrics) == 0, e.Metrics},
		{"req_id", e.RequestID == 0, &e.RequestID},
		{"rule_labels", len(e.RuleLabels) == 0, &e.RuleLabels},
		{"request_context", e.RequestContext == nil, e.RequestContext},
		{"custom", len(e.Custom) == 0, e.Custom},
	} {
		if f.omit {
			continue
		}
		b = append(append(append(b, sep, '"'), f.name...), '"', ':')
		sep = ','
		var err error
		switch v := f.value.(type) {
		case *string:
			b = util.AppendJSONString(b, *v)
		case *any:
			b, err = util.AppendJSON(b, *v)
		case *uint64:
			b = strconv.AppendUint(b, *v, 10)
		case *time.Time:
			b, err = v.AppendText(append(b, '"'))
			b = append(b, '"')
		default:
			b, err = util.AppendJSON(b, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
