// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
)

// unselected describes the decisions that the options do not select, in any
// order.
type unselected struct {
	count       int64
	first, last int64    // times, or logread.NoTime
	paths       []string // the first ones, sorted; one more than text shows
}

// unselectedPaths limits the paths that text shows.
const unselectedPaths = 3

func (u *unselected) add(e *logread.Event) {
	u.count++
	widen(&u.first, &u.last, e.Time)
	if n := len(u.paths); n <= unselectedPaths || string(e.Path) < u.paths[n-1] {
		u.addPath(string(e.Path))
	}
}

func (u *unselected) merge(o *unselected) {
	u.count += o.count
	widen(&u.first, &u.last, o.first)
	widen(&u.first, &u.last, o.last)
	for _, path := range o.paths {
		u.addPath(path)
	}
}

func (u *unselected) addPath(path string) {
	if at, found := slices.BinarySearch(u.paths, path); !found {
		u.paths = slices.Insert(u.paths, at, path)
		u.paths = u.paths[:min(len(u.paths), unselectedPaths+1)]
	}
}

// text describes the decisions, and says how to select them.
func (u *unselected) text() string {
	var paths []string
	for _, path := range u.paths[:min(len(u.paths), unselectedPaths)] {
		paths = append(paths, name(path))
	}
	list := strings.Join(paths, ", ")
	if len(u.paths) > unselectedPaths {
		list += " and others"
	}
	when := ""
	if u.first != logread.NoTime {
		when = fmt.Sprintf(" from %s to %s UTC", text.Time(u.first, text.ToTheSecond), text.Time(u.last, text.ToTheSecond))
	}
	return fmt.Sprintf("The flags select none of %s%s. The paths are %s. Change `--path`, `--since` or `--until`.",
		text.Plural(u.count, "decision"), when, list)
}
