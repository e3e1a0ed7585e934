// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/server"
)

// DecisionObserver is implemented by plugins that want to see each decision of
// the server, whether or not decision logs are configured.
//
// The runtime calls the plugins that are registered with its plugins.Manager. A
// plugin that registers while the server runs, as with discovery, is called
// from the next plugin status update on, which plugins make when they start.
type DecisionObserver interface {
	// ObserveDecision is called in the goroutine of the request, before the
	// decision is logged, and before the response is written (the Compile API
	// writes it first). It must not block, and must neither change nor keep
	// info and what that refers to. It may be called before the plugin is
	// started and after it is stopped.
	ObserveDecision(ctx context.Context, info *server.Info)
}

// DecisionObserved returns true if o has seen the decision that a decision
// logger is called for with ctx. By it a plugin that is both tells the
// decisions that it knows already.
func DecisionObserved(ctx context.Context, o DecisionObserver) bool {
	set, ok := ctx.Value(decisionObserversKey{}).(*decisionObserverSet)
	return ok && slices.ContainsFunc(set.observers, func(p DecisionObserver) bool { return sameObserver(p, o) })
}

// sameObserver returns true if both are the same. Values that cannot be
// compared are, if they have the same type.
func sameObserver(a, b DecisionObserver) bool {
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	ok := reflect.ValueOf(a).Comparable()
	return ok == reflect.ValueOf(b).Comparable() && (!ok || a == b)
}

type decisionObserversKey struct{}

// decisionObservers holds the observers among the plugins of the manager that
// is in effect, so that a decision neither searches nor locks.
type decisionObservers struct {
	current atomic.Pointer[decisionObserverSet]
}

// decisionObserverSet is never changed but replaced, by a new one each time.
type decisionObserverSet struct {
	manager   *plugins.Manager
	observers []DecisionObserver
	stale     bool // the plugins are to be searched again
}

// of returns the observers among the plugins of the manager.
func (o *decisionObservers) of(manager *plugins.Manager) *decisionObserverSet {
	set := o.current.Load()
	if set != nil && set.manager == manager && !set.stale {
		return set
	}
	return o.find(manager, set)
}

// find searches the plugins of the manager. What it finds is held only if
// nothing took the place of set, which was loaded before: the plugins may have
// changed meanwhile.
func (o *decisionObservers) find(manager *plugins.Manager, set *decisionObserverSet) *decisionObserverSet {
	if set == nil || set.manager != manager {
		next := &decisionObserverSet{manager: manager, stale: true}
		if o.current.CompareAndSwap(set, next) {
			// On its own: registering can wait for a listener that is being
			// called, and for good if the manager has been stopped.
			go o.watch(manager)
		}
		set = next
	}
	found := &decisionObserverSet{manager: manager}
	names := manager.Plugins()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if observer, ok := manager.Plugin(name).(DecisionObserver); ok {
			found.observers = append(found.observers, observer)
		}
	}
	o.current.CompareAndSwap(set, found)
	return found
}

// watch makes plugin status updates invalidate what was found.
func (o *decisionObservers) watch(manager *plugins.Manager) {
	manager.RegisterPluginStatusListener("decision_observers", func(map[string]*plugins.Status) {
		o.invalidate(manager) // and nothing else: the manager may be waiting for the listener
	})
	o.invalidate(manager) // for the updates that came before
}

// invalidate makes the next decision search the plugins of the manager again.
func (o *decisionObservers) invalidate(manager *plugins.Manager) {
	for {
		set := o.current.Load()
		if set.manager != manager || o.current.CompareAndSwap(set, &decisionObserverSet{manager: manager, stale: true}) {
			return
		}
	}
}

// observe hands a decision to the observers.
func (s *decisionObserverSet) observe(ctx context.Context, info *server.Info) {
	for _, observer := range s.observers {
		observer.ObserveDecision(ctx, info)
	}
}

// mark returns a context that tells who has observed the decision, see
// DecisionObserved.
func (s *decisionObserverSet) mark(ctx context.Context) context.Context {
	if len(s.observers) == 0 {
		return ctx
	}
	return context.WithValue(ctx, decisionObserversKey{}, s)
}
