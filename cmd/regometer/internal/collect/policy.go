// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/config"
)

// A Policy gives labels to the paths of rules. The rules of all its sources are
// one policy.
type Policy struct {
	collector *Collector
	sources   []*source
	mu        sync.Mutex // protects the sources' modules
}

// NewPolicy returns a policy of files, and of the bundles in a configuration of
// OPA. It fails if a file cannot be used, or if the configuration is invalid.
func NewPolicy(c *Collector, files []string, opa config.Config) (*Policy, error) {
	bundles, err := bundleSources(opa)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	if len(opa.Discovery) > 0 {
		c.options.Log.Warn("The bundles that discovery names are not read. Name them in bundles, in the file of --config.")
	}
	if len(bundles)+len(files) == 0 && c.Counter.NeedsPolicy() {
		c.options.Log.Warn("The only paths are (query), (data) and other, because there is no policy. Name it with --policy, " +
			"or give --config the configuration of OPA with services and bundles, or name paths in plugins.regometer.paths.allow.")
	}
	p := &Policy{collector: c, sources: bundles}
	if len(files) > 0 {
		s := fileSource("--policy", files...)
		p.sources = append(p.sources, s)
		if err := p.read(context.Background(), s); err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
	}
	return p, nil
}

// Follow reads the sources again and again, until ctx ends.
func (p *Policy) Follow(ctx context.Context) {
	for _, s := range p.sources {
		go func() {
			for ctx.Err() == nil {
				p.update(ctx, s)
				select {
				case <-ctx.Done():
				case <-time.After(s.wait()):
				}
			}
		}()
	}
}

var number = regexp.MustCompile(`\d+`)

// update reads a source, and logs a failure with another reason than the last.
func (p *Policy) update(ctx context.Context, s *source) {
	err, failure, log := p.read(ctx, s), "", p.collector.options.Log.With("source", s.name)
	if err == nil {
		s.failures = 0
		p.collector.metrics.policy.WithLabelValues(s.name).SetToCurrentTime()
	} else {
		s.failures++
		failure = number.ReplaceAllString(err.Error(), "")
	}
	switch {
	case failure == s.failure || ctx.Err() != nil:
	case err == nil:
		log.Info("The source of the policy can be used again.")
	default:
		log.Error("A source of the policy cannot be used. Its last rules stay, if it has any.", "error", err)
	}
	s.failure = failure
}

// read reads a source, and gives labels to the rules of all sources. If that
// fails, it changes nothing.
func (p *Policy) read(ctx context.Context, s *source) error {
	m, version, err := s.read(ctx, s.version)
	if err != nil || m == nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := modules{}
	for _, x := range p.sources {
		if x != s {
			maps.Copy(all, x.modules)
		}
	}
	maps.Copy(all, m)
	compiler := ast.NewCompiler().WithAllowUndefinedFunctionCalls(true) // built-ins of other programs
	if compiler.Compile(all); compiler.Failed() {
		return compiler.Errors
	}
	s.modules, s.version = m, version
	p.collector.Counter.SetPolicy(compiler)
	if profiler := p.collector.options.Profiler; profiler != nil {
		profiler.Renew()
	}
	return nil
}
