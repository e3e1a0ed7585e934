// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// mostWarned limits the paths in the warnings of a recorder, because a client
// may ask for every path of a policy.
const mostWarned = 20

// noteAsked warns if l is the label of a merged document that clients have not
// asked for before.
func (r *recorder) noteAsked(l pathLabel) {
	if l.merged == nil || l.merged.asked.Load() || l.merged.asked.Swap(true) {
		return
	}
	r.state.configuring.Lock()
	text := r.warningAbout("Clients ask for a path that has no label of its own for lack of room", r.labels.Load(), l.merged.path)
	r.state.configuring.Unlock()
	if text != "" {
		r.warn(text)
	}
}

// warningAbout returns a warning about paths that have another path's label. It
// is "" if all are in earlier warnings. The line of configuration in it is for
// these paths, and for those of earlier warnings that still lack a label. The
// caller holds state.configuring.
func (r *recorder) warningAbout(what string, l *labels, paths ...string) string {
	var now []string
	for _, path := range paths {
		if len(r.warned) < mostWarned && !slices.Contains(r.warned, path) {
			given, _ := l.of(path, "")
			now = append(now, path+" counts as "+given.name)
			r.warned = append(r.warned, path)
		}
	}
	if len(now) == 0 {
		return ""
	}
	config := *r.config
	config.Paths.Allow = slices.Clone(config.Paths.Allow)
	for _, path := range r.warned {
		if given, _ := l.of(path, ""); given.name != path {
			config.Paths.Allow = append(config.Paths.Allow, path)
		}
	}
	list := func(paths []string) string {
		text, _ := json.Marshal(paths) // never fails; YAML reads it too
		return string(text)
	}
	line := "allow: " + list(config.Paths.Allow)
	if len(config.Paths.Prefixes) > 0 {
		line += ", prefixes: " + list(config.Paths.Prefixes)
	}
	text := fmt.Sprintf("%s: %s. To give each its own label, put this into %s: paths: {%s}", what, strings.Join(now, ", "), configPath, line)
	if err := config.check(); err != nil {
		text += fmt.Sprintf(" (%v)", err)
	}
	if len(r.warned) == mostWarned {
		text += " There are no more such warnings until the next start."
	}
	return text
}

// lost returns the paths of rules that have their own label in l, but not in
// the labels of a new policy, and that have decisions.
func (l *labels) lost(next *labels, decided []string) (paths []string) {
	for _, path := range decided {
		d := l.policy.find(path)
		if d == nil || d.path != path || len(d.rules) == 0 || d.label != path {
			continue
		}
		if now, _ := next.of(path, ""); now.name != path {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
