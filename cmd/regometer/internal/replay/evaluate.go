// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/dependencies"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

// An evaluator evaluates decisions with a policy, one after the other.
type evaluator struct {
	*Policy
	timeout time.Duration
	queries map[string]*preparedQuery // by query and labels
	values  cache.InterQueryValueCache
}

func newEvaluator(p *Policy, timeout time.Duration) *evaluator {
	return &evaluator{p, timeout, map[string]*preparedQuery{}, cache.NewInterQueryValueCache(context.Background(), nil)}
}

// maxPrepared limits the compiled queries that an evaluator keeps.
const maxPrepared = 200

// A preparedQuery is a compiled query.
type preparedQuery struct {
	rego.PreparedEvalQuery
	lacks string // what the policy lacks, as a reason, or ""
}

// An answer is what an evaluation came to.
type answer struct {
	result []byte        // JSON as a server logs it, or nil if it is undefined
	code   string        // of the error, or ""
	took   time.Duration // the evaluation
	// failed says that a built-in function failed.
	failed bool
	// unanswered is a built-in function that had no answer in the log, or "",
	// clock one whose answer OPA does not always log, and refused one that failed,
	// because it got no connection.
	unanswered, clock, refused string
	lacks                      string // of the query
}

// The code of an evaluation that was cut off, and that of an error without one.
const cutOff, otherError = "longer than --timeout", "other"

// evaluate evaluates a decision as the server did at its time. Each tracer may
// be nil.
func (e *evaluator) evaluate(ctx context.Context, d *decision, input ast.Value, tracers ...topdown.QueryTracer) (a answer) {
	query, err := e.prepared(ctx, d)
	answers, err2 := parseCache(d.Cache)
	if err := cmp.Or(err, err2); err != nil {
		return answer{code: codeOf(err)}
	}
	logged := map[string]int{}
	for name, calls := range answers {
		logged[name] = calls.Len()
	}
	limited, stop := context.WithTimeout(ctx, e.timeout)
	defer stop()
	var failures []topdown.Error
	m := metrics.New()
	options := []rego.EvalOption{
		rego.EvalParsedInput(input), rego.EvalMetrics(m), rego.EvalNDBuiltinCache(answers), rego.EvalExternalCancel(ending{limited}),
		rego.EvalInterQueryBuiltinValueCache(e.values), rego.EvalBuiltinErrorList(&failures),
	}
	if d.Time != logread.NoTime {
		options = append(options, rego.EvalTime(time.Unix(0, d.Time)))
	}
	for _, t := range tracers {
		options = append(options, rego.EvalQueryTracer(t))
	}
	results, err := query.Eval(limited, options...)
	a.took = time.Duration(m.Timer(metrics.RegoQueryEval).Int64())
	for name, calls := range answers {
		switch {
		case calls.Len() == logged[name]:
		case name == ast.NowNanos.Name, name == ast.OPARuntime.Name:
			a.clock = name
		default:
			a.unanswered = max(a.unanswered, name)
		}
	}
	for _, f := range failures { // the message begins with the name
		if name, _, _ := strings.Cut(f.Message, ":"); name == ast.HTTPSend.Name || name == ast.NetLookupIPAddr.Name {
			a.refused = max(a.refused, name)
		}
	}
	if err == nil {
		a.result, err = resultOf(d, results)
	}
	a.failed, a.code, a.lacks = len(failures) > 0, codeOf(err), query.lacks
	if limited.Err() != nil {
		a.code = cutOff
	}
	return a
}

// parseCache parses the answers of built-in functions in a log, by name and
// arguments. JSON has made texts of the arguments, and lists of sets.
func parseCache(text []byte) (builtins.NDBCache, error) {
	cache, logged := builtins.NDBCache{}, map[string]map[string]any{}
	if len(text) > len("{}") {
		if err := util.UnmarshalJSON(text, &logged); err != nil {
			return nil, err
		}
	}
	for name, calls := range logged {
		builtin := ast.BuiltinMap[name]
		if builtin == nil {
			return nil, fmt.Errorf("OPA has no built-in function %s", name)
		}
		for arguments, answer := range calls {
			key, err := ast.ValueFromReader(strings.NewReader(arguments))
			value, err2 := ast.InterfaceToValue(answer)
			if err := cmp.Or(err, err2); err != nil {
				return nil, err
			}
			cache.Put(name, key, asSet(value, builtin.Decl.Result()))
		}
	}
	return cache, nil
}

// asSet returns a list as a set if the type is one.
func asSet(v ast.Value, t types.Type) ast.Value {
	list, isList := v.(*ast.Array)
	if _, ok := t.(*types.Set); !ok || !isList {
		return v
	}
	set := ast.NewSet()
	list.Foreach(set.Add)
	return set
}

// ending cancels an evaluation when a context ends. For a context alone, OPA
// starts a goroutine.
type ending struct{ context.Context }

func (e ending) Cancel()         {}
func (e ending) Cancelled() bool { return e.Err() != nil }

// codeOf returns the code of an error of OPA. It returns "" if there is none, or
// if it only says that there is no result.
func codeOf(err error) (code string) {
	if e, ok := errors.AsType[*topdown.Error](err); ok {
		code = e.Code
	} else if e, ok := errors.AsType[ast.Errors](err); ok && len(e) > 0 {
		code = e[0].Code
	} else if err != nil {
		code = otherError
	}
	if o, _ := verdicts.OfError(code, ""); o == outcome.Undefined {
		return ""
	}
	return code
}

// resultOf returns the result that a server writes into its log.
func resultOf(d *decision, results rego.ResultSet) ([]byte, error) {
	switch {
	case len(results) == 0:
		return nil, nil
	case !d.isQuery():
		return json.Marshal(results[0].Expressions[0].Value)
	}
	bindings := make([]rego.Vars, len(results))
	for i, r := range results {
		bindings[i] = r.Bindings.WithoutWildcards()
	}
	return json.Marshal(bindings)
}

// prepared returns the compiled query of a decision.
func (e *evaluator) prepared(ctx context.Context, d *decision) (*preparedQuery, error) {
	key := string(d.Path) + " " + d.Query
	labels := map[string]any{}
	if e.asksRuntime {
		key += " " + string(d.Labels)
		_ = util.UnmarshalJSON(d.Labels, &labels) // what is no object has no labels
	}
	if q := e.queries[key]; q != nil {
		return q, nil
	}
	body, err := queryOf(d)
	if err != nil {
		return nil, err
	}
	runtime := map[string]any{"config": map[string]any{"labels": labels}, "env": map[string]any{}, "version": labels["version"]}
	delete(labels, "id") // OPA adds these, but not to its configuration
	if delete(labels, "version"); len(labels) == 0 {
		runtime["config"] = labels
	}
	prepared, err := rego.New(
		rego.Compiler(e.compiler), rego.Store(e.store), rego.ParsedQuery(body), rego.Runtime(ast.NewTerm(ast.MustInterfaceToValue(runtime))),
		rego.UnsafeBuiltins(map[string]struct{}{ast.HTTPSend.Name: {}}), // in queries only, as in a server
	).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	if len(e.queries) == maxPrepared {
		clear(e.queries)
	}
	e.queries[key] = &preparedQuery{prepared, e.lacks(ctx, body)}
	return e.queries[key], nil
}

// lacksPath is the reason of decisions whose evaluation has nothing to evaluate.
const lacksPath = "a path that the policy lacks"

// lacks says that the policy lacks the path of a query, or data that its rules
// refer to. It returns "" if the policy has all.
func (p *Policy) lacks(ctx context.Context, query ast.Body) string {
	refs, _ := dependencies.Base(p.compiler, query) // a body is no error
	for _, ref := range refs {
		path, err := storage.NewPathForRef(ref)
		if err == nil && ref.HasPrefix(ast.DefaultRootRef) {
			_, err = storage.ReadOne(ctx, p.store, path)
		}
		switch name := ref.String(); {
		case !storage.IsNotFound(err):
		case name == query.String():
			return lacksPath
		default:
			return name + ", which the policy lacks"
		}
	}
	return ""
}

// queryOf returns the query of a decision.
func queryOf(d *decision) (ast.Body, error) {
	if d.isQuery() {
		return ast.ParseBody(d.Query)
	}
	ref := ast.DefaultRootRef.Copy()
	// The segments of a path are those of a URL.
	for _, name := range strings.FieldsFunc(strings.TrimPrefix(string(d.Path), outcome.AllData), func(r rune) bool { return r == '/' }) {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		if n, isNumber := util.Atoi64(name); isNumber {
			ref = append(ref, ast.InternedTerm(n))
		} else {
			ref = append(ref, ast.InternedTerm(name))
		}
	}
	return ast.NewBody(ast.NewExpr(ast.NewTerm(ref))), nil
}
