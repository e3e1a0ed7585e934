// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

// mayBeDefined returns false if the mask or drop decision has no value, since
// there are neither rules nor data for it. Most deployments have none. Rules are
// in the compiler's tree, also those of external sources. Data can change without
// a new compiler, so it is read in the transaction of the decision, at the path.
func (p *Plugin) mayBeDefined(ctx context.Context, txn storage.Transaction, decision ast.Ref, path storage.Path) bool {
	compiler := p.manager.GetCompiler()
	if compiler == nil || txn == nil {
		return true
	}

	node := compiler.RuleTree
	for i := 0; i < len(decision) && node != nil; i++ {
		if len(node.Values) > 0 || node.External != nil {
			return true // the value of a rule can contain the decision
		}
		node = node.Child(decision[i].Value)
	}
	if node != nil {
		return true
	}

	_, err := p.manager.Store.Read(ctx, txn, path)
	return !storage.IsNotFound(err)
}
