// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "encoding/json"

// descriptor holds the strings that depend only on a metric's kind and name. It
// is immutable. All collections share the descriptors in the catalog, so that
// the program formats and escapes a key once.
type descriptor struct {
	name string
	key  string // as in [Metrics.All]
	json string // the key as a JSON string, and a colon
	hash uint64 // 0 outside the catalog; see hashName
	kind Kind
	id   uint32 // the place in the catalog plus 1, or 0 outside the catalog
}

// format makes d the descriptor of a metric. It copies the name, because the
// name may be part of a large buffer.
func (d *descriptor) format(kind Kind, name string) {
	prefix, suffix := "timer_", "_ns"
	switch kind {
	case KindCounter:
		prefix, suffix = "counter_", ""
	case KindHistogram:
		prefix, suffix = "histogram_", ""
	}
	d.kind = kind
	if isPlainJSON(name) {
		d.json = `"` + prefix + name + suffix + `":`
		d.key = d.json[1 : len(d.json)-2]
		d.name = d.key[len(prefix) : len(prefix)+len(name)]
		return
	}
	d.key = prefix + name + suffix
	d.name = d.key[len(prefix) : len(prefix)+len(name)]
	quoted, _ := json.Marshal(d.key) // never fails for a string
	d.json = string(quoted) + ":"
}

// isPlainJSON reports whether JSON writes s without any escape.
func isPlainJSON(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
