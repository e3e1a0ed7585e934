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
	"github.com/open-policy-agent/opa/v1/plugins"
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

// revisionsOf returns the active revisions of OPA's bundles, in order. It returns
// none if OPA itself exports them. It reads the store at each scrape, because
// OPA tells plugins only of new policies, and not of every new bundle.
func revisionsOf(m *plugins.Manager) (all []revision) {
	var status struct{ Prometheus bool }
	if config := configOf(m); len(config.Status) > 0 && json.Unmarshal(config.Status, &status) == nil && status.Prometheus {
		return nil
	}
	ctx := context.Background()
	_ = storage.Txn(ctx, m.Store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		names, err := bundle.ReadBundleNamesFromStore(ctx, m.Store, txn)
		slices.Sort(names)
		for _, name := range names[:min(len(names), maxRevisions)] {
			if r, err := bundle.ReadBundleRevisionFromStore(ctx, m.Store, txn, name); err == nil {
				all = append(all, revision{cut(name), cut(r)})
			}
		}
		return err
	})
	slices.SortFunc(all, func(a, b revision) int {
		return cmp.Or(cmp.Compare(a.bundle, b.bundle), cmp.Compare(a.revision, b.revision))
	})
	return slices.Compact(all)
}

// cut returns the beginning of a text as a label.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), longestRevision)], "")
}
