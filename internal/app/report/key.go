// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/logread"
)

// byStage is the value of Options.By for groups that are stages.
const byStage = "stage"

// none is the key of decisions without the field that groups them.
const none = "(none)"

// byRule begins the value of Options.By for groups that are the values of a
// rule's label.
const byRule = "rule:"

// A keyFunc appends the keys of an event's groups to keys: one, or with byRule
// at least one. They are valid until the next event or the next call.
type keyFunc func(e *logread.Event, keys [][]byte) [][]byte

// keyOf returns the function that finds an event's keys in a grouping. Only one
// goroutine may use the function. keyOf fails if the grouping is unknown.
func keyOf(by string) (keyFunc, error) {
	if name, ok := strings.CutPrefix(by, "label:"); ok && name != "" {
		return oneKey(func(e *logread.Event) []byte { return e.Label(name) }), nil
	}
	if name, ok := strings.CutPrefix(by, byRule); ok && name != "" {
		return func(e *logread.Event, keys [][]byte) [][]byte {
			if keys = e.RuleLabel(keys, name); len(keys) == 0 {
				keys = append(keys, noKey)
			}
			return keys
		}, nil
	}
	switch by {
	case "path":
		return oneKey(func(e *logread.Event) []byte { return e.Path }), nil
	case byStage: // one group, whose stages become groups at the end
		return oneKey(func(*logread.Event) []byte { return nil }), nil
	case "bundle":
		return oneKey((*logread.Event).BundleRevisions), nil
	case "requested_by":
		return oneKey(func(e *logread.Event) []byte { return withoutPort(e.RequestedBy) }), nil
	case "hour":
		return timeKey("2006-01-02T15:00Z"), nil
	case "day":
		return timeKey("2006-01-02"), nil
	}
	return nil, fmt.Errorf("unknown grouping %q: use path, stage, bundle, requested_by, hour, day, label:KEY or rule:KEY", by)
}

// oneKey returns the function for groupings in which a decision has one key, or
// none.
func oneKey(key func(*logread.Event) []byte) keyFunc {
	return func(e *logread.Event, keys [][]byte) [][]byte { return append(keys, orNone(key(e))) }
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
	return oneKey(func(e *logread.Event) []byte {
		if e.Time == logread.NoTime {
			return nil
		}
		key = time.Unix(0, e.Time).UTC().AppendFormat(key[:0], layout)
		return key
	})
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
