// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/internal/groupby"
)

// Data is the content of a [Report]. It can be saved, loaded and merged. [Read]
// makes it from logs, [Load] from a file that Save has written. It must not be
// used by two goroutines at the same time.
//
// It depends only on the logs, and not on the order in which they were read or
// merged.
type Data struct {
	by                string
	groups, revisions *groupby.Groups
	// paths has the outcomes by path, or is nil if the groups are paths.
	paths   *groupby.Groups
	servers *names // by all their labels as JSON
	// whole has all decisions in one group, if they can be in several groups of
	// groups. Otherwise it is nil.
	whole       *groupby.Groups
	inputs      Inputs // without the repeats
	slowest     slowest
	ids         repeats.Finder
	interrupted bool
	common
}

// maxRevisions limits the bundle revisions that have durations of their own,
// and maxPaths the paths that have outcomes of their own beside other groups.
const maxRevisions, maxPaths = 256, 4096

// groupLimits are those of the groups. A test lowers them.
var groupLimits groupby.Limits

// newData returns empty data.
func newData(o *Options) *Data {
	x := &Data{
		by: o.By, groups: groupby.New(groupLimits), revisions: groupby.New(groupby.Limits{Groups: maxRevisions, Slices: 60}),
		servers: new(names), slowest: slowest{Limit: o.Slowest}, ids: repeats.New(new(repeats.Set)),
		common: common{outside: unseen, sample: &decisionSample{limit: hashLimit}, clients: new(names)},
	}
	if o.By != "path" {
		x.paths = groupby.New(groupby.Limits{Groups: maxPaths, Cells: 4 * maxPaths})
	}
	if inSeveral(o.By) {
		x.whole = groupby.New(groupLimits)
	}
	return x
}

// A table is one of the Groups of Data, with its name in a file.
type table struct {
	name string
	*groupby.Groups
}

// tables returns the tables. Data with groups of one kind have the same ones.
func (x *Data) tables() []table {
	all := []table{{"groups", x.groups}, {"revisions", x.revisions}, {"paths", x.paths}, {"whole", x.whole}}
	return slices.DeleteFunc(all, func(t table) bool { return t.Groups == nil })
}

// Merge adds the data of o. It fails if the two differ in their grouping.
// Afterwards o must not be used, and x must not be used after an error. Files of
// the same name count twice.
func (x *Data) Merge(o *Data) error {
	if x.by != o.by {
		return fmt.Errorf("one is grouped by %s, the other by %s: make both with the same --by", x.by, o.by)
	}
	others := o.tables()
	for i, t := range x.tables() {
		if err := t.Merge(others[i].Groups); err != nil {
			return err
		}
	}
	x.servers.merge(o.servers)
	x.clients.merge(o.clients)
	x.options = nil
	x.outside.merge(&o.outside)
	x.slowest.merge(&o.slowest)
	x.largest.merge(&o.largest)
	x.ids.Merge(&o.ids)
	x.sample.merge(o.sample)
	x.inputs.merge(&o.inputs)
	x.interrupted = x.interrupted || o.interrupted
	return cmp.Or(x.inputs.check(), x.ids.Check(maxTotal), x.largest.check())
}

// Inputs describes what was read, but not the repeats.
func (x *Data) Inputs() *Inputs { return &x.inputs }
