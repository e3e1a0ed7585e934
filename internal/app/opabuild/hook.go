// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The decision hook is a change to OPA's package runtime by which plugins see
// each decision of the server, whether or not a decision log is configured. It
// is written as OPA's maintainers could take it: a new file, a field of the
// type Runtime, and some lines in its method decisionLogger.
//
// Releases differ, so this is no diff: the places are found in the syntax tree,
// and the text is changed there, which leaves OPA's own formatting and comments
// as they are. What is not exactly as expected is not guessed at: a binary
// without the hook works, one whose hook sees half of the decisions misleads.
const (
	runtimeDir = "v1/runtime"
	hookFile   = "decision_observer.go"

	hookField = "\n\t// The plugins that see each decision, see DecisionObserver.\n\tobservers decisionObservers\n"
	hookStart = "manager := %s\n\tobservers := %s.observers.of(manager)\n\tobservers.observe(%s, %s)\n\n\t"
	hookMark  = "observers.mark(%s)"
)

//go:embed _upstream/10-decision-hook/v1/runtime/decision_observer.go
var hookSource []byte

// hookText is what the file holds in OPA's tree. The series for OPA has it as
// its last step, for one release.
var hookText = withOPAHeader(hookSource)

// hookedMethod is the method that is edited, the same in all releases that are
// supported but for names and for the last one, where the manager comes from.
// It is compared as a whole, since any other statement in it could be one that
// the hook has to know of.
const hookedMethod = `func (%[1]s *Runtime) decisionLogger(%[2]s context.Context, %[3]s *server.Info) error {
	%[4]s := logs.Lookup(%[5]s)
	if %[4]s == nil {
		return nil
	}
	return %[4]s.Log(%[2]s, %[3]s)
}`

// hookedImports are what its package names stand for.
var hookedImports = map[string]string{
	"context": "context", "server": opaModule + "/v1/server", "logs": opaModule + "/v1/plugins/logs",
}

// The declarations of an OPA that has the hook of its own.
var ownHook = map[string]*regexp.Regexp{
	"DecisionObserver": regexp.MustCompile(`^DecisionObserver interface ?{ ObserveDecision\((\w+ )?context\.Context, (\w+ )?\*server\.Info\) }$`),
	"DecisionObserved": regexp.MustCompile(`^func DecisionObserved\((\w+ )?context\.Context, (\w+ )?DecisionObserver\) bool {`),
}

// A hookError tells where an OPA is not as the decision hook expects it.
type hookError struct{ where, expected, found string }

func (e *hookError) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s", e.where, e.expected, e.found)
}

// addHook puts the decision hook into the source tree of OPA in dir, if it does
// not have it already. If the tree is not as expected it stays as it is, and
// the error is a [*hookError].
func addHook(ctx context.Context, dir string, env map[string]string) error {
	p, err := parseRuntime(dir)
	if err != nil {
		return err
	}
	r, err := p.hook()
	if err != nil || len(r) == 0 {
		return err
	}
	if err := r.apply(p.dir); err != nil {
		return err
	}
	// Only in its place can the hook be type-checked, and be found not to fit.
	refusal, err := checkHook(ctx, dir, env)
	if err != nil || refusal == nil {
		return err
	}
	for name := range r {
		r[name] = p.texts[name] // nil, if there was none
	}
	if err := r.apply(p.dir); err != nil {
		return err
	}
	return refusal
}

// A runtimePackage is the source of OPA's package runtime, without its tests.
type runtimePackage struct {
	dir     string
	fset    *token.FileSet
	texts   map[string][]byte    // by file name
	files   map[string]*ast.File // without comments
	names   map[string]ast.Node  // what is declared at top level, but for methods
	methods []*ast.FuncDecl
}

func parseRuntime(dir string) (*runtimePackage, error) {
	p := &runtimePackage{
		dir: filepath.Join(dir, filepath.FromSlash(runtimeDir)), fset: token.NewFileSet(),
		texts: map[string][]byte{}, files: map[string]*ast.File{}, names: map[string]ast.Node{},
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, &hookError{runtimeDir, "a package", err.Error()}
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if p.texts[name], err = os.ReadFile(filepath.Join(p.dir, name)); err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(p.fset, path.Join(runtimeDir, name), p.texts[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, &hookError{path.Join(runtimeDir, name), "Go", err.Error()}
		}
		p.files[name] = f
		p.methods = append(p.methods, addNames(p.names, f)...)
	}
	return p, nil
}

// addNames adds what a file declares at top level and returns its methods.
func addNames(names map[string]ast.Node, f *ast.File) (methods []*ast.FuncDecl) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				methods = append(methods, d)
			} else {
				names[d.Name.Name] = d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = spec
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						names[id.Name] = spec
					}
				}
			}
		}
	}
	return methods
}

// hook returns what becomes of the package's files, none if it has the hook
// already.
func (p *runtimePackage) hook() (replacement, error) {
	if own, err := p.hasHook(); own || err != nil {
		return nil, err
	}
	if err := p.checkNames(); err != nil {
		return nil, err
	}
	field, err := p.fieldEdit()
	if err != nil {
		return nil, err
	}
	edits, err := p.methodEdits()
	if err != nil {
		return nil, err
	}
	edits = append(edits, field)
	// From the end on, so that what is not edited yet stays where it is.
	slices.SortFunc(edits, func(a, b edit) int { return int(b.from - a.from) })
	r := replacement{hookFile: hookText}
	for _, e := range edits {
		from, to := p.fset.Position(e.from), p.fset.Position(e.to)
		name := path.Base(from.Filename)
		if r[name] == nil {
			r[name] = p.texts[name]
		}
		r[name] = slices.Concat(r[name][:from.Offset], []byte(e.text), r[name][to.Offset:])
	}
	return r, nil
}

// hasHook reports whether this OPA has the hook of its own: the plugin then
// needs nothing put in, provided that it is the hook which the plugin is
// written for.
func (p *runtimePackage) hasHook() (bool, error) {
	found := 0
	for _, name := range slices.Sorted(maps.Keys(ownHook)) {
		n := p.names[name]
		if n == nil {
			continue
		}
		found++
		if text := p.text(n); !ownHook[name].MatchString(text) {
			return false, p.unexpected(n, "it as Regometer's plugin needs it", "`"+text+"`")
		}
	}
	if found > 0 && found < len(ownHook) {
		return false, &hookError{runtimeDir, "both DecisionObserver and DecisionObserved, or neither", "one"}
	}
	return found > 0, nil
}

// checkNames makes sure that nothing has the name of something in the hook:
// the compiler would say so too, but after minutes and as an error.
func (p *runtimePackage) checkNames() error {
	if f := p.files[hookFile]; f != nil {
		return p.unexpected(f, "no such file", "one")
	}
	f, err := parser.ParseFile(token.NewFileSet(), hookFile, hookText, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	names := map[string]ast.Node{}
	addNames(names, f)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if n := p.names[name]; n != nil {
			return p.unexpected(n, "no "+name, "one")
		}
	}
	return nil
}

// An edit puts text in the place of what is between two positions.
type edit struct {
	from, to token.Pos
	text     string
}

// fieldEdit adds the field to the type Runtime.
func (p *runtimePackage) fieldEdit() (edit, error) {
	n := p.names["Runtime"]
	if n == nil {
		return edit{}, &hookError{runtimeDir, "a type Runtime", "none"}
	}
	spec, _ := n.(*ast.TypeSpec)
	if spec == nil {
		return edit{}, p.unexpected(n, "a type Runtime", "something else")
	}
	t, ok := spec.Type.(*ast.StructType)
	if !ok {
		return edit{}, p.unexpected(n, "Runtime to be a struct", "`"+p.text(spec.Type)+"`")
	}
	for _, field := range t.Fields.List {
		for _, name := range field.Names {
			if name.Name == "observers" {
				return edit{}, p.unexpected(name, "no field observers", "one")
			}
		}
	}
	for _, m := range p.methods {
		if m.Name.Name == "observers" {
			return edit{}, p.unexpected(m, "no method observers", "one")
		}
	}
	// In front of the closing brace, behind whatever the last field's line
	// says.
	return edit{t.Fields.Closing, t.Fields.Closing, hookField}, nil
}

// methodEdits makes the method decisionLogger hand each decision to the
// observers.
func (p *runtimePackage) methodEdits() ([]edit, error) {
	var m *ast.FuncDecl
	for _, method := range p.methods {
		if method.Name.Name != "decisionLogger" {
			continue
		}
		if m != nil {
			return nil, p.unexpected(method, "one method decisionLogger", "another one")
		}
		m = method
	}
	if m == nil {
		return nil, &hookError{runtimeDir, "a method decisionLogger", "none"}
	}
	names := []string{"rt", "ctx", "event", "plugin"} // for the message, if there are no others
	for i, field := range slices.Concat(m.Recv.List, m.Type.Params.List) {
		if i < 3 && len(field.Names) == 1 {
			names[i] = field.Names[0].Name
		}
	}
	if m.Body != nil && len(m.Body.List) > 0 {
		if a, ok := m.Body.List[0].(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			names[3] = p.text(a.Lhs[0])
		}
	}
	// The expected text is made with the names and the manager found here, so
	// that they may be called otherwise and nothing else.
	receiver, ctx, event, plugin := names[0], names[1], names[2], names[3]
	text, manager := p.text(m), receiver+".Manager"
	if strings.Contains(text, receiver+".manager()") {
		manager = receiver + ".manager()"
	}
	want := oneLine(fmt.Sprintf(hookedMethod, receiver, ctx, event, plugin, manager))
	if text != want {
		return nil, p.unexpected(m, "`"+want+"`", "`"+text+"`")
	}
	for _, name := range []string{"manager", "observers"} {
		if slices.Contains(names, name) {
			return nil, p.unexpected(m, "no variable "+name, "one")
		}
	}
	if err := p.checkImports(m); err != nil {
		return nil, err
	}
	// These are what they are: the text is that of hookedMethod.
	lookup := m.Body.List[0].(*ast.AssignStmt)
	argument := lookup.Rhs[0].(*ast.CallExpr).Args[0]
	log := m.Body.List[2].(*ast.ReturnStmt).Results[0].(*ast.CallExpr)
	return []edit{
		{lookup.Pos(), lookup.Pos(), fmt.Sprintf(hookStart, manager, receiver, ctx, event)},
		{argument.Pos(), argument.End(), "manager"},
		{log.Args[0].Pos(), log.Args[0].End(), fmt.Sprintf(hookMark, ctx)},
	}, nil
}

// checkImports makes sure that the packages in the method are those that are
// meant: equal text is no equal meaning if logs is another package.
func (p *runtimePackage) checkImports(m *ast.FuncDecl) error {
	f := p.files[path.Base(p.fset.Position(m.Pos()).Filename)]
	found := map[string]string{}
	for _, spec := range f.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		found[name] = importPath
	}
	for _, name := range slices.Sorted(maps.Keys(hookedImports)) {
		if found[name] != hookedImports[name] {
			return p.unexpected(f, fmt.Sprintf("%s to be the package %q", name, hookedImports[name]), strconv.Quote(found[name]))
		}
	}
	return nil
}

func (p *runtimePackage) unexpected(at ast.Node, expected, found string) *hookError {
	where := p.fset.Position(at.Pos())
	return &hookError{fmt.Sprintf("%s:%d", where.Filename, where.Line), expected, found}
}

// text returns a node as gofmt has it, in one line and without comments, which
// the parser has left out.
func (p *runtimePackage) text(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, p.fset, n); err != nil {
		return err.Error()
	}
	return oneLine(b.String())
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
