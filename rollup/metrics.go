// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "github.com/regometer/regometer/internal/stages"

// metrics holds the stages and counters that have a label. It does not change.
type metrics struct {
	byKey    map[string]*stages.Metric
	families stages.Table // stages and counters of these families have the label Other, without overflow
	isOther  [stages.Kinds]*stages.Metric
	noRoom   [stages.Kinds]*stages.Metric // the stages and counters that overflow

	stages, counters []string // labels by column, Other first
}

func newMetrics(t stages.Table, counters []string) metrics {
	c := metrics{
		byKey:    map[string]*stages.Metric{},
		families: t,
		stages:   []string{Other},
		counters: append([]string{Other}, counters...),
	}
	for i, m := range t.Stages {
		m.Column = 1 + i
		c.stages = append(c.stages, m.Name)
		c.byKey[stages.KeyOf(stages.Timer, m.Name)] = m
	}
	for i, name := range counters {
		c.byKey[stages.KeyOf(stages.Counter, name)] = stages.NewMetric(stages.Counter, name, 1+i)
	}
	for _, k := range [...]stages.Kind{stages.Timer, stages.Counter} {
		c.isOther[k] = stages.NewMetric(k, Other, stages.OtherColumn)
		c.noRoom[k] = stages.NewMetric(k, Other, stages.OtherColumn)
		c.noRoom[k].Overflows = true
		for _, name := range [...]string{"", Other} {
			c.byKey[stages.KeyOf(k, name)] = c.isOther[k]
		}
	}
	return c
}

// find returns the metric with this key, or nil if it is neither a timer nor a
// counter.
func (c *metrics) find(key string) *stages.Metric {
	if m := c.byKey[key]; m != nil {
		return m
	}
	k, name := stages.Split(key)
	if k == stages.Neither {
		return nil
	}
	switch f := c.families.Family(name); {
	case f == nil:
		return c.noRoom[k]
	case k == stages.Timer:
		return f
	default:
		return c.isOther[k]
	}
}
