// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/gotool"
	"github.com/regometer/regometer/internal/app/outfile"
)

// Any Go program that has OPA inside is built, and tested, where it is and by
// the user's own go command, with three things from the outside:
//
//   - A patched copy of the OPA that the program's go.mod, go.work or vendor
//     folder selects, in the cache: see trees.go.
//   - A go.work outside of the module, whose replace directive puts the copy
//     in OPA's place: see workspace.go. A vendored program needs none: there
//     the files that differ come by the overlay.
//   - An overlay, of which the go command takes files that are not there: the
//     record of the build, and the plugin, in the program's main package. See
//     overlay.go.
//
// So no file of the user's changes, and no version of a module does: the
// plugin comes as packages of the program's own, not as a module.

// ProgramOptions say which program to build, and how.
type ProgramOptions struct {
	// Dir is a folder in the program's module or workspace, where the go
	// command is run. "" is the current one.
	Dir string
	// Package is the main package, a folder such as "./cmd/x" or an import
	// path. "" is ".".
	Package string
	// NoPlugin leaves the plugin and the decision hook out.
	NoPlugin bool
	// Flags are handed on to go build.
	Flags []string
	// Platform is what to build for, as in [Options].
	Platform string
	// Env is added to the environment of the go command, such as
	// "CGO_ENABLED=0".
	Env []string
	// Progress receives a line now and then, and warnings. nil is silent.
	Progress io.Writer
}

// A Program is a program that has OPA inside.
type Program struct {
	Name    string   // of the file that go build writes
	Folders []string // of the user's modules, which the build reads

	*program
	main   mainPackage
	dropIn dropIn
	plugin *plugin  // nil = without
	temps  []string // folders to remove in the end
}

// OpenProgram finds a program and the OPA that it has inside. The caller closes
// it.
func OpenProgram(ctx context.Context, o ProgramOptions) (*Program, error) {
	d, err := loadDropIn()
	if err != nil {
		return nil, err
	}
	var ours *plugin
	if !o.NoPlugin {
		if ours, err = findPlugin(); err != nil {
			return nil, err
		}
	}
	return openProgramWith(ctx, o, d, ours)
}

func openProgramWith(ctx context.Context, o ProgramOptions, d dropIn, ours *plugin) (*Program, error) {
	work, err := os.MkdirTemp("", "regometer-")
	if err != nil {
		return nil, withHint(err)
	}
	p := &Program{dropIn: d, plugin: ours, temps: []string{work}}
	if err := p.open(ctx, o, work); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Program) open(ctx context.Context, o ProgramOptions, work string) error {
	target, err := platformEnv(ctx, o.Platform)
	if err != nil {
		return err
	}
	if p.program, err = openProgram(ctx, o.Dir, work, o.Flags, slices.Concat(o.Env, target), progress{o.Progress, time.Now()}); err != nil {
		return err
	}
	if p.main, err = p.mainPackage(ctx, cmp.Or(o.Package, ".")); err != nil {
		return err
	}
	p.Name, p.Folders = p.main.binary(p.env["GOOS"]), p.folders
	if r := p.opa.Replace; r != nil && r.Version == "" {
		p.Folders = append(p.Folders, p.opaDir)
	}
	return nil
}

// Close removes what Build returned.
func (p *Program) Close() {
	for _, dir := range p.temps {
		_ = removeAll(dir)
	}
}

// Build builds the program, with the drop-in in the place of its OPA's package
// v1/metrics, and returns the path of the binary.
//
// If the program has OPA's runtime in it, it gets the plugin and the decision
// hook too. Nothing in the program's folder changes. The build has the user's
// flags, environment, workspace, replacements and vendor folder. That the
// binary has the drop-in in it is checked.
func (p *Program) Build(ctx context.Context) (string, error) {
	pr, main, d, ours := p.program, p.main, p.dropIn, p.plugin
	r := record{Regometer: regometerVersion(), DropIn: d.hash()}
	if ours != nil {
		r.Plugin = main.wantsPlugin(pr.progress)
	}
	tree, err := pr.patch(ctx, d, r.Plugin)
	if err != nil {
		return "", err
	}
	r.OPA, r.Hook = pr.version(tree.dir), r.Plugin && tree.refusal == ""
	s, over, beside, err := pr.patched(ctx, tree)
	if err != nil {
		return "", err
	}
	p.temps = append(p.temps, beside)
	if r.Plugin {
		if err := pr.addPlugin(ctx, s, main, ours, &r, over, beside); err != nil {
			return "", fmt.Errorf("adding the plugin: %w", err)
		}
	}
	if err := main.addFile(over, beside, r, buildFile, nil); err != nil {
		return "", err
	}
	if err := over.write(beside); err != nil {
		return "", err
	}
	pr.compareModules(ctx, s)
	binary := filepath.Join(beside, p.Name)
	pr.progress.printf("building %s with %s; the first time this takes a few minutes", main.ImportPath, r.parts())
	build := s.command("build", slices.Concat([]string{"-v", "-o", binary}, pr.flags.all, []string{main.ImportPath})...)
	err = pr.progress.compile(ctx, binary, build)
	if _, gone := os.Stat(over.file(beside)); err != nil && errors.Is(gone, fs.ErrNotExist) {
		return "", fmt.Errorf("building %s: the folder of the build was removed meanwhile, with the cache: build again", main.ImportPath)
	}
	if err != nil {
		return "", fmt.Errorf("building %s: %w%s", main.ImportPath, err, buildHint(err))
	}
	if err := pr.check(binary, main.ImportPath, r, d); err != nil {
		return "", err
	}
	pr.progress.printf("built and checked: OPA %s in it has %s", r.OPA, r.parts())
	return binary, nil
}

// parts says what of ours is in a binary.
func (r record) parts() string {
	switch {
	case r.Hook:
		return "the drop-in, the plugin and the decision hook"
	case r.Plugin:
		return "the drop-in and the plugin"
	}
	return "the drop-in"
}

// buildHint tells what a failed build may be for.
func buildHint(err error) string {
	if text := err.Error(); strings.Contains(text, "cover: ") && strings.Contains(text, buildFile) {
		return "\nGo's cover does not read files that come from outside, as ours do: leave -cover out, or name other packages than the program's own by -coverpkg."
	}
	return rangeHint
}

// check returns an error unless the binary is built from the main package with
// the drop-in in it.
func (pr *program) check(binary, main string, r record, d dropIn) error {
	text, err := os.ReadFile(binary)
	if err != nil {
		return withHint(err)
	}
	b, err := Inspect(binary)
	if err != nil {
		return fmt.Errorf("checking what was built: %w", err)
	}
	found := findRecord(text)
	if b.Program != main || found == nil || *found != r {
		return fmt.Errorf("%s was built, but the binary has not the record of this build: %+v", main, *b)
	}
	// A binary names the files that its functions come from.
	var ours []string
	for name := range d {
		if _, err := os.Stat(filepath.Join(pr.opaDir, metricsDir, name)); errors.Is(err, fs.ErrNotExist) {
			ours = append(ours, name)
		}
	}
	isIn := func(name string) bool { return bytes.Contains(text, []byte("/v1/metrics/"+name)) }
	if len(ours) > 0 && isIn("metrics.go") && !slices.ContainsFunc(ours, isIn) {
		return fmt.Errorf("%s was built, but the binary has nothing of the drop-in: no function of %s", main, strings.Join(ours, ", "))
	}
	return nil
}

// A program is a module, or a workspace, that has OPA inside.
type program struct {
	dir      string // where the go command is run
	flags    buildFlags
	added    []string // to the environment of the go command
	work     string   // the go.work that it is built by, or ""
	asIsWork string   // one that stands for it when nothing is patched, or ""
	mod      string   // the go.mod of the module that dir is in, or ""
	vendor   string   // the vendor folder that it is built by, or ""
	folders  []string // of the user's modules
	opa      listedModule
	opaDir   string            // the root of the OPA that it selects
	env      map[string]string // of targetVariables, and GOMODCACHE
	progress progress
}

// A listedModule is what go list says of a module.
type listedModule struct {
	Path, Version, Dir, GoMod string
	Main                      bool
	Replace                   *listedModule
}

// openProgram finds the OPA that the program in dir selects. The folder work is
// for files that are needed as long as the program is, and added is for the
// environment of the go command.
func openProgram(ctx context.Context, dir, work string, flags, added []string, p progress) (*program, error) {
	dir, err := filepath.Abs(cmp.Or(dir, "."))
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return nil, fmt.Errorf("there is no folder %s: name one in the program's module by -C", dir)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder: name one in the program's module by -C", dir)
	}
	pr := &program{dir: dir, added: added, progress: p}
	var env map[string]string
	names := append([]string{"GOFLAGS", "GOMOD", "GOMODCACHE", "GOWORK"}, targetVariables...)
	if err := listJSON(ctx, pr.side().command("env", append([]string{"-json"}, names...)...), &env); err != nil {
		return nil, err
	}
	pr.env = env
	if pr.flags, err = readFlags(flags, env["GOFLAGS"]); err != nil {
		return nil, err
	}
	if pr.work = env["GOWORK"]; pr.work == "off" {
		pr.work = ""
	}
	if pr.mod = env["GOMOD"]; pr.mod == os.DevNull {
		pr.mod = ""
	}
	if pr.mod == "" && pr.work == "" {
		return nil, fmt.Errorf("%s is in no Go module: name a folder of the program's module by -C", dir)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(pr.work), "vendor", "modules.txt")); pr.work != "" && err != nil {
		// In a workspace the go command adds to go.work.sum what it lacks:
		// here to that of a copy.
		pr.asIsWork = filepath.Join(work, "asis", "go.work")
		if err := os.Mkdir(filepath.Dir(pr.asIsWork), 0o755); err != nil {
			return nil, withHint(err)
		}
		if err := pr.writeWork(ctx, pr.asIsWork, false); err != nil {
			return nil, err
		}
	}
	var modules []listedModule
	if err := listJSON(ctx, pr.asIs().command("list", "-m", "-json"), &modules); err != nil {
		return nil, err
	}
	for _, m := range modules {
		if m.Path == opaModule && m.GoMod == pr.mod {
			return nil, fmt.Errorf("%s is OPA itself, no program that has it inside: build it by --opa %s, without -C and PACKAGE", dir, dir)
		}
		pr.folders = append(pr.folders, m.Dir)
	}
	return pr, pr.findOPA(ctx)
}

// listJSON runs a go command that prints JSON and decodes it. A pointer to a
// slice gets all values that follow one another.
func listJSON[T any](ctx context.Context, c gotool.Command, to *T) error {
	out, err := c.Output(ctx)
	if err != nil {
		return err
	}
	text := string(out)
	if _, ok := any(to).(*[]listedModule); ok {
		text = "[" + strings.ReplaceAll(strings.TrimSpace(text), "}\n{", "},\n{") + "]"
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return fmt.Errorf("go %s printed something else than JSON: %w", c.Args[0], err)
	}
	return nil
}

// side returns what both sides have.
func (pr *program) side() side {
	return side{dir: pr.dir, env: slices.Clone(pr.added), userEnv: true}
}

// asIs returns the side without anything of ours. What has -mod=mod, which may
// change go.mod, is as if it had -mod=readonly: either does without the vendor
// folder.
func (pr *program) asIs() side {
	s := pr.side()
	if pr.asIsWork != "" {
		s.env = append(s.env, "GOWORK="+pr.asIsWork)
	}
	switch pr.flags.mod {
	case "":
	case "mod":
		s.flags = append(s.flags, "-mod=readonly")
	default:
		s.flags = append(s.flags, "-mod="+pr.flags.mod)
	}
	if pr.flags.overlay != "" {
		s.flags = append(s.flags, "-overlay="+pr.flags.overlay)
	}
	return s
}

// findOPA fills in what is known of the OPA that the program selects.
func (pr *program) findOPA(ctx context.Context) error {
	var pkg struct {
		Dir    string
		Module *listedModule
		Error  *struct{ Err string }
	}
	s := pr.asIs()
	if err := listJSON(ctx, s.command("list", slices.Concat(pr.flags.list(), []string{"-e", "-find", "-json=Dir,Module,Error", metricsPath})...), &pkg); err != nil {
		return err
	}
	if pkg.Module == nil || pkg.Dir == "" {
		return pr.explainNoOPA(ctx, s, pkg.Error)
	}
	pr.opa = *pkg.Module
	pr.opaDir = filepath.Dir(filepath.Dir(pkg.Dir))
	where := "in the module cache"
	vendored := filepath.Join("vendor", filepath.FromSlash(opaModule))
	switch {
	case strings.HasSuffix(pr.opaDir, string(filepath.Separator)+vendored) && pr.opa.Dir == "":
		pr.vendor = strings.TrimSuffix(pr.opaDir, filepath.FromSlash(opaModule))
		where = "in the vendor folder"
	case pr.opa.Main:
		where = "in the workspace"
	case pr.opa.Replace != nil && pr.opa.Replace.Version != "":
		where = "replaced by " + pr.opa.Replace.Path + " " + pr.opa.Replace.Version
	case pr.opa.Replace != nil:
		where = "replaced by a folder"
	}
	version := pr.version(pr.opaDir)
	pr.progress.printf("found OPA %s, %s: %s", version, where, pr.opaDir)
	warning, err := checkRange(version)
	if warning != "" {
		pr.progress.printf("warning: %s", warning)
	}
	return err
}

// explainNoOPA says why the program has no OPA that the drop-in can be put
// into.
func (pr *program) explainNoOPA(ctx context.Context, s side, cause *struct{ Err string }) error {
	var m listedModule
	if err := listJSON(ctx, s.command("list", "-m", "-json", opaModule), &m); err != nil {
		if !strings.Contains(err.Error(), "not a known dependency") {
			return err
		}
		return fmt.Errorf("%s does not require OPA (%s), so that there is nothing to put the drop-in into.\nOPA itself is what is meant without -C and without a package%s", pr.dir, opaModule, pr.workHint())
	}
	if m.Version != "" {
		if _, err := checkRange(m.Version); err != nil {
			return fmt.Errorf("%w\nIn %s: go get %s@%s", err, pr.dir, opaModule, NewestVersion)
		}
	}
	reason := "OPA has no package v1/metrics"
	if cause != nil {
		reason = cause.Err
	}
	return fmt.Errorf("the OPA that %s selects cannot be used: %s", pr.dir, reason)
}

// workHint tells what may mend that something is not found in a workspace.
func (pr *program) workHint() string {
	if pr.work == "" {
		return ""
	}
	return fmt.Sprintf("\nIf its module is not in the workspace of %s, set GOWORK=off", pr.work)
}

// version returns the version of the program's OPA, whose source is in dir.
func (pr *program) version(dir string) string {
	if version, err := treeVersion(dir); err == nil {
		return version
	}
	return strings.TrimPrefix(pr.opa.Version, "v") // a vendored OPA has only what is needed of it
}

// patch returns a copy of the OPA with the drop-in in it and, if asked for, the
// decision hook.
func (pr *program) patch(ctx context.Context, d dropIn, hook bool) (cachedTree, error) {
	c, err := openCache()
	if err != nil {
		return cachedTree{}, err
	}
	hash, err := hashTree(ctx, pr.opaDir)
	if err != nil {
		return cachedTree{}, withHint(err)
	}
	src := source{name: "OPA " + pr.version(pr.opaDir), dir: pr.opaDir, content: "folder " + hash}
	h := sha256.New()
	fmt.Fprintf(h, "%s\ndrop-in %s\n", src.content, d.hash())
	if hook {
		hashInjected(h)
	}
	t, err := c.tree(ctx, hex.EncodeToString(h.Sum(nil))[:32], pr.progress, func(dir string) (refusal string, err error) {
		pr.progress.printf("making a patched copy of %s", src.name)
		if err := pr.copyOPA(ctx, src, d, dir); err != nil || !hook {
			return "", err
		}
		var refused *hookError
		if err := addHook(ctx, dir, pr.env); errors.As(err, &refused) {
			return refused.Error(), nil
		} else if err != nil {
			return "", fmt.Errorf("adding the decision hook: %w", err)
		}
		return "", nil
	})
	if t.refusal != "" {
		pr.progress.warnOfNoHook(src.name, t.refusal)
	}
	return t, withHint(err)
}

// copyOPA makes the patched copy.
func (pr *program) copyOPA(ctx context.Context, src source, d dropIn, dir string) error {
	if pr.vendor == "" {
		if pr.opa.Main { // its replacements count
			if err := checkCopyable(src.dir); err != nil {
				return err
			}
		}
		return src.copyWith(ctx, d, dir, src.dir)
	}
	// Only the packages that the program needs are there.
	if err := src.copyWith(ctx, d, dir, src.dir); err != nil {
		return err
	}
	return outfile.Write(filepath.Join(dir, "go.mod"), []byte("module "+opaModule+"\n"))
}

// A mainPackage is what go list says of the package that is built.
type mainPackage struct {
	ImportPath, Name, Dir, Target string
	Module                        *listedModule
	GoFiles, Deps                 []string
	Error                         *struct{ Err string }
}

// mainPackage returns the main package with this name.
func (pr *program) mainPackage(ctx context.Context, name string) (mainPackage, error) {
	var pkg mainPackage
	if strings.HasSuffix(name, ".go") || strings.Contains(name, "...") {
		return pkg, fmt.Errorf("%s is not the name of one package: name the folder or the import path of a main package", name)
	}
	list := slices.Concat(pr.flags.list(), []string{"-e", "-json=ImportPath,Name,Dir,Target,Module,GoFiles,Deps,Error", "--", name})
	if err := listJSON(ctx, pr.asIs().command("list", list...), &pkg); err != nil {
		return pkg, err
	}
	switch {
	case pkg.Error != nil && (pkg.Name == "" || pkg.Dir == ""):
		text := fmt.Sprintf("there is no package %s: %s%s", name, pkg.Error.Err, pr.workHint())
		if info, err := os.Stat(filepath.Join(pr.dir, name)); err == nil && info.IsDir() && !filepath.IsAbs(name) && !strings.HasPrefix(name, ".") {
			text += "\nThe folder of this name is ./" + filepath.ToSlash(name)
		}
		return pkg, errors.New(text)
	case pkg.Module == nil || !pkg.Module.Main:
		return pkg, fmt.Errorf("%s is not in the module in %s, nor in its workspace: name one of its main packages, such as ./cmd/x", name, pr.dir)
	case strings.HasPrefix(pkg.Dir, pr.env["GOMODCACHE"]+string(filepath.Separator)):
		return pkg, fmt.Errorf("%s is in Go's module cache, where the go command takes no files of ours: copy the module to another folder", pkg.Dir)
	case pkg.Name != "main":
		return pkg, fmt.Errorf("%s is package %s, not a main package: name one, such as ./cmd/x", name, pkg.Name)
	case pkg.Error != nil: // then nothing is known of what it imports
		return pkg, fmt.Errorf("the go command cannot build %s: %s", name, pkg.Error.Err)
	case !slices.Contains(pkg.Deps, metricsPath):
		return pkg, fmt.Errorf("%s has no OPA inside: neither it nor what it imports needs %s", name, metricsPath)
	}
	return pkg, nil
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// binary returns the name of the file that go build writes.
func (m mainPackage) binary(goos string) string {
	if m.Target != "" {
		return filepath.Base(m.Target)
	}
	name := path.Base(m.ImportPath)
	if majorVersion.MatchString(name) {
		name = path.Base(path.Dir(m.ImportPath))
	}
	if goos == "windows" {
		name += ".exe"
	}
	return name
}

// wantsPlugin reports whether the plugin can do anything in the program, and
// says why not.
func (m mainPackage) wantsPlugin(p progress) bool {
	switch {
	case slices.Contains(m.Deps, ourModule+"/opa/plugin"):
		p.printf("without our plugin: the program brings Regometer's itself")
	case !slices.Contains(m.Deps, path.Join(opaModule, runtimeDir)):
		p.printf("without the plugin: the program does not use OPA's runtime; see docs/embedding.md")
	default:
		return true
	}
	return false
}

// compareModules warns of each module that has another version than without
// us.
func (pr *program) compareModules(ctx context.Context, s side) {
	if pr.vendor != "" {
		return // all is as it is vendored
	}
	list := func(s side) (map[string]string, error) {
		var all []listedModule
		err := listJSON(ctx, s.command("list", "-m", "-json=Path,Version,Dir,Replace", "all"), &all)
		modules := map[string]string{}
		for _, m := range all {
			version := cmp.Or(m.Version, "the workspace's")
			if r := m.Replace; r != nil && r.Version != "" {
				version += " => " + r.Path + " " + r.Version
			} else if r != nil {
				version += " => " + r.Dir
			}
			modules[m.Path] = version
		}
		delete(modules, opaModule)
		return modules, err
	}
	before, err := list(pr.asIs())
	if err == nil {
		var after map[string]string
		if after, err = list(s); err == nil {
			for _, line := range differences(before, after) {
				pr.progress.printf("warning: %s", line)
			}
			return
		}
	}
	pr.progress.printf("warning: whether modules move to other versions is not known: %v", err)
}

// differences says which modules have other versions.
func differences(before, after map[string]string) (lines []string) {
	for name, version := range after {
		if old, ok := before[name]; !ok {
			lines = append(lines, fmt.Sprintf("module %s comes in at %s", name, version))
		} else if old != version {
			lines = append(lines, fmt.Sprintf("module %s moves from %s to %s", name, old, version))
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			lines = append(lines, fmt.Sprintf("module %s is gone", name))
		}
	}
	slices.Sort(lines)
	return lines
}
