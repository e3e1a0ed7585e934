// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/regometer/regometer/decisionlog"
)

// byStage is the value of Options.By for groups that are stages.
const byStage = "stage"

// none is the key of decisions without the field that groups them.
const none = "(none)"

// A keyFunc returns an event's key. The key is valid until the next event or
// the next call.
type keyFunc func(e *decisionlog.Event) []byte

// keyOf returns the function that finds an event's key in a grouping. Only one
// goroutine may use the function. keyOf fails if the grouping is unknown.
func keyOf(by string) (keyFunc, error) {
	if name, isLabel := strings.CutPrefix(by, "label:"); isLabel && name != "" {
		return func(e *decisionlog.Event) []byte { return orNone(e.Label(name)) }, nil
	}
	switch by {
	case "path":
		return func(e *decisionlog.Event) []byte { return orNone(e.Path) }, nil
	case byStage: // one group, whose stages become groups at the end
		return func(*decisionlog.Event) []byte { return noKey }, nil
	case "bundle":
		return func(e *decisionlog.Event) []byte { return orNone(e.BundleRevisions()) }, nil
	case "requested_by":
		return func(e *decisionlog.Event) []byte { return orNone(withoutPort(e.RequestedBy)) }, nil
	case "hour":
		return timeKey("2006-01-02T15:00Z"), nil
	case "day":
		return timeKey("2006-01-02"), nil
	}
	return nil, fmt.Errorf("unknown grouping %q: use path, stage, bundle, requested_by, hour, day or label:KEY", by)
}

var noKey = []byte(none)

func orNone(key []byte) []byte {
	if len(key) == 0 {
		return noKey
	}
	return key
}

func timeKey(layout string) keyFunc {
	var key []byte
	return func(e *decisionlog.Event) []byte {
		if e.Time == decisionlog.NoTime {
			return noKey
		}
		key = time.Unix(0, e.Time).UTC().AppendFormat(key[:0], layout)
		return key
	}
}

// withoutPort removes the port of a client, which differs by connection.
func withoutPort(address []byte) []byte {
	i := bytes.LastIndexByte(address, ':')
	if i < 0 {
		return address
	}
	host := address[:i]
	if inBrackets := len(host) >= 2 && host[0] == '[' && host[len(host)-1] == ']'; inBrackets {
		return host[1 : len(host)-1]
	}
	if bytes.IndexByte(host, ':') >= 0 { // an IPv6 address without a port
		return address
	}
	return host
}

// matches reports whether a path begins with the segments of a pattern. The
// segment * matches any.
func matches(path []byte, pattern string) bool {
	pattern = strings.Trim(pattern, "/")
	for more := true; more; {
		var want string
		want, pattern, more = strings.Cut(pattern, "/")
		if len(path) == 0 {
			return false
		}
		segment, rest, _ := bytes.Cut(path, []byte{'/'})
		if want != "*" && string(segment) != want {
			return false
		}
		path = rest
	}
	return true
}
