// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/regometer/regometer/internal/app/outfile"
)

// The files that are added to OPA's own main package: a main of ours would lack
// what OPA's does with errors. One says what is in the binary, the other puts
// the plugin in.
const (
	buildFile  = "regometer_build.go"
	pluginFile = "regometer_plugin.go"
)

//go:embed _opa/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "_opa/*.tmpl"))

// A record says what a binary is made of. The binary holds it: see Text.
type record struct {
	Regometer string `json:"regometer"` // its version
	OPA       string `json:"opa"`       // OPA's version, as its source has it
	DropIn    string `json:"dropIn"`    // the hash of its source, or ""
	Plugin    bool   `json:"plugin"`
	Hook      bool   `json:"hook"`               // the decision hook
	Upstream  int    `json:"upstream,omitempty"` // steps of the series, in the place of the drop-in
}

// recordMark begins a record in a binary. One that holds this text as it is
// here has no record, since none follows.
const recordMark = "regometer build record 1: "

// Text returns the record as the binary holds it: one line.
func (r record) Text() (string, error) {
	text, err := json.Marshal(r)
	return recordMark + string(text) + "\n", err
}

// ShortHash returns enough of the drop-in's hash to tell one from another.
func (r record) ShortHash() string { return r.DropIn[:12] }

// findRecord returns the record that a binary holds, or nil.
func findRecord(binary []byte) *record {
	mark := []byte(recordMark)
	for {
		_, after, found := bytes.Cut(binary, mark)
		if !found {
			return nil
		}
		binary = after
		line, _, found := bytes.Cut(after[:min(len(after), 4096)], []byte("\n"))
		var r record
		if found && json.Unmarshal(line, &r) == nil && r.OPA != "" && (len(r.DropIn) == 2*sha256.Size || r.Upstream > 0) {
			return &r
		}
	}
}

// writeTemplate writes one of the files into the source tree in dir.
func (r record) writeTemplate(dir, name string) error {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name+".tmpl", r); err != nil {
		return err
	}
	return outfile.Write(filepath.Join(dir, name), b.Bytes())
}

// hashInjected writes all that decides on what is put into a tree, beside the
// drop-in and the plugin.
func hashInjected(w io.Writer) {
	fmt.Fprintf(w, "regometer %s\n", regometerVersion())
	for _, name := range []string{buildFile, pluginFile} {
		text, _ := templateFiles.ReadFile("_opa/" + name + ".tmpl") // it is there: see templates
		fmt.Fprintf(w, "%q\n", text)
	}
	fmt.Fprintf(w, "%q\n", []string{string(hookText), hookField, hookStart, hookMark})
}

// regometerVersion returns the version of this program that Go recorded, or
// "(devel)".
func regometerVersion() string {
	if version := ownVersion(); version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if ok && strings.HasPrefix(info.Main.Path, ourModule) && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
