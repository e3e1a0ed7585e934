// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/internal/verdicts"
)

// none is the key of decisions without the field that groups them.
const none = "(none)"

// inSeveral reports whether a decision may be in several groups of a grouping:
// by the values of a rule's label, or of a field.
func inSeveral(by string) bool {
	kind, _, _ := strings.Cut(by, ":")
	return kind == "rule" || kind == "input" || kind == "result"
}

// A keyFunc appends the keys of an event's groups to keys: one, or if inSeveral
// at least one. They are valid until the next event or the next call.
type keyFunc func(e *logread.Event, keys [][]byte) [][]byte

// keyOf returns the function that finds an event's keys in a grouping. Only one
// goroutine may use the function. keyOf fails if the grouping is unknown.
func keyOf(by string) (keyFunc, error) {
	kind, name, _ := strings.Cut(by, ":")
	switch {
	case name == "":
	case kind == "label":
		return oneKey(func(e *logread.Event) []byte { return e.Label(name) }), nil
	case kind == "rule":
		return ruleKeys(name), nil
	case kind == "input":
		return fieldKeys(kind, name, func(e *logread.Event) []byte { return e.Input })
	case kind == "result":
		return fieldKeys(kind, name, func(e *logread.Event) []byte { return e.Result })
	}
	switch by {
	case "path":
		return oneKey(func(e *logread.Event) []byte { return e.Path }), nil
	case "bundle":
		return oneKey((*logread.Event).BundleRevisions), nil
	case "requested_by":
		return oneKey(func(e *logread.Event) []byte { return withoutPort(e.RequestedBy) }), nil
	case "hour":
		return timeKey("2006-01-02T15:00Z"), nil
	case "day":
		return timeKey("2006-01-02"), nil
	}
	return nil, fmt.Errorf("unknown grouping %q: use path, bundle, requested_by, hour, day, label:KEY, rule:KEY, input:FIELD or result:FIELD", by)
}

// oneKey returns the function for groupings in which a decision has one key, or
// none.
func oneKey(key func(*logread.Event) []byte) keyFunc {
	return func(e *logread.Event, keys [][]byte) [][]byte {
		if k := key(e); len(k) > 0 {
			return append(keys, k)
		}
		return append(keys, noKey)
	}
}

var noKey, erasedKey, maskedKey = []byte(none), []byte("(erased)"), []byte("(masked)")

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

// maxElements limits the elements of a list that are keys of a decision, and
// maxKey the bytes of a key.
const (
	maxElements = 100
	maxKey      = stages.MaxName
)

// ruleKeys returns the function for the values of a label of rules.
func ruleKeys(name string) keyFunc {
	return func(e *logread.Event, keys [][]byte) [][]byte {
		logread.EachElement(e.RuleLabels, func(labels []byte) {
			if value := logread.Field(labels, name); value != nil {
				keys = appendNew(keys, valueKey(value))
			}
		})
		return someKey(keys)
	}
}

// fieldKeys returns the function for the values of a field of the input or the
// result.
func fieldKeys(root, field string, document func(*logread.Event) []byte) (keyFunc, error) {
	names := strings.Split(field, ".")
	if strings.HasPrefix(field, "/") {
		names = verdicts.NamesOf(field)
	} else if slices.Contains(names, "") {
		return nil, fmt.Errorf("invalid field %q: write a name such as user, names with dots such as user.name, or a JSON pointer such as /user/name", field)
	}
	path := append([]string{root}, names...)
	return func(e *logread.Event, keys [][]byte) [][]byte {
		isMasked, maskedIn := pointed(e.Masked, path)
		isErased, erasedIn := pointed(e.Erased, path)
		switch {
		case isMasked:
			return append(keys, maskedKey)
		case isErased:
			return append(keys, erasedKey)
		}
		value := logread.Field(document(e), names...)
		switch {
		case value == nil:
			return append(keys, noKey)
		case value[0] != '[':
			return append(keys, valueKey(value))
		}
		i := 0
		logread.EachElement(value, func(v []byte) {
			switch {
			case i >= maxElements:
			case slices.Contains(maskedIn, strconv.Itoa(i)):
				keys = appendNew(keys, maskedKey)
			default:
				keys = appendNew(keys, valueKey(v))
			}
			i++
		})
		if len(erasedIn) > 0 {
			keys = appendNew(keys, erasedKey)
		}
		return someKey(keys)
	}, nil
}

// someKey returns the keys, or the key of decisions without one.
func someKey(keys [][]byte) [][]byte {
	if len(keys) == 0 {
		return append(keys, noKey)
	}
	return keys
}

// valueKey returns the key for a JSON value, which is not "".
func valueKey(value []byte) []byte {
	switch value[0] {
	case '{':
		return []byte("(object)")
	case '[':
		return []byte("(list)")
	}
	if value = logread.Meaning(value); len(value) == 0 {
		return []byte(text.Empty)
	}
	return text.Cut(value, maxKey)
}

// appendNew appends a key unless it is among the keys.
func appendNew(keys [][]byte, key []byte) [][]byte {
	if slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) }) {
		return keys
	}
	return append(keys, key)
}

// pointed reports whether a JSON pointer in a list, which is the "erased" or the
// "masked" of an event, points to a path in the event or to a parent of it. It
// also returns the names to which others point directly below the path.
func pointed(pointers []byte, path []string) (at bool, below []string) {
	logread.EachElement(pointers, func(v []byte) {
		pointer := string(logread.Meaning(v))
		names := verdicts.NamesOf(pointer)
		switch n := min(len(names), len(path)); {
		case !strings.HasPrefix(pointer, "/") || !slices.Equal(names[:n], path[:n]):
		case len(names) == n:
			at = true
		case len(names) == n+1:
			below = append(below, names[n])
		}
	})
	return at, below
}

// matches reports whether a path begins with the segments of a pattern. The
// segment * matches any.
func matches(path []byte, pattern string) bool {
	for want := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		segment, rest, _ := bytes.Cut(path, []byte{'/'})
		if len(path) == 0 || want != "*" && string(segment) != want {
			return false
		}
		path = rest
	}
	return true
}
