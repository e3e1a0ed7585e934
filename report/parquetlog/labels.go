// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"github.com/parquet-go/parquet-go"

	"github.com/regometer/regometer/decisionlog"
)

// A label is an entry of the map.
type label struct{ name, value parquet.Value }

// labelCache remembers labels by the JSON that they are in: those of a server
// are always the same.
type labelCache map[string][]label

const (
	cachedLabels    = 256
	cachedLabelText = 4 << 10
)

// of returns the labels of an event, and how large their texts are if they are
// new.
func (c *labelCache) of(e *decisionlog.Event) (labels []label, size int) {
	if labels, ok := (*c)[string(e.Labels)]; ok || e.Labels == nil {
		return labels, 0
	}
	labels = labelsOf(e)
	if len(e.Labels) > cachedLabelText {
		return labels, len(e.Labels)
	}
	if *c == nil || len(*c) == cachedLabels {
		*c = labelCache{}
	}
	(*c)[string(e.Labels)] = labels
	return labels, len(e.Labels)
}

// labelsOf returns those labels that are texts, each once.
func labelsOf(e *decisionlog.Event) (labels []label) {
	values := map[string][]byte{}
	var names []string
	e.EachLabel(func(name, value []byte) {
		key := string(limited(name))
		if _, ok := values[key]; !ok {
			if len(names) == maxEntries {
				return
			}
			names = append(names, key)
		}
		values[key] = value
	})
	for _, name := range names {
		if value := values[name]; value != nil {
			value = append([]byte{}, limited(value)...)
			labels = append(labels, label{parquet.ByteArrayValue([]byte(name)), parquet.ByteArrayValue(value)})
		}
	}
	return labels
}
