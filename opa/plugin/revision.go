// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/storage"
)

// A revision is the active revision of a bundle, as labels.
type revision struct{ bundle, revision string }

const (
	// maxRevisions limits the bundles whose revisions are exported.
	maxRevisions = 10
	// longestRevision limits the bytes of a bundle's name and of its revision.
	longestRevision = 64
)

// revisions returns the active revisions of the bundles. It returns none if OPA
// itself exports them. It reads the store at each scrape, because OPA tells
// plugins only of new policies, and not of every new bundle.
func (p *Plugin) revisions() (all []revision) {
	var status struct{ Prometheus bool }
	if config := configOf(p.manager); len(config.Status) > 0 && json.Unmarshal(config.Status, &status) == nil && status.Prometheus {
		return nil
	}
	ctx, store := context.Background(), p.manager.Store
	_ = storage.Txn(ctx, store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		names, err := bundle.ReadBundleNamesFromStore(ctx, store, txn)
		for _, name := range names {
			if r, err := bundle.ReadBundleRevisionFromStore(ctx, store, txn, name); err == nil {
				all = append(all, revision{cut(name), cut(r)})
			}
		}
		return err
	})
	return all
}

// cut returns the beginning of a text as a label.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), longestRevision)], "")
}

// revisions returns the revisions of all started plugins. It holds no lock
// while it reads them: an activation holds the store, and then needs the lock.
func (s *state) revisions() (all []revision) {
	var sources []func() []revision
	s.recording.RLock()
	for r := range s.started {
		if r.revisions != nil {
			sources = append(sources, r.revisions)
		}
	}
	s.recording.RUnlock()
	for _, revisions := range sources {
		all = append(all, revisions()...)
	}
	slices.SortFunc(all, func(a, b revision) int {
		return cmp.Or(cmp.Compare(a.bundle, b.bundle), cmp.Compare(a.revision, b.revision))
	})
	all = slices.Compact(all)
	return all[:min(len(all), maxRevisions)]
}
