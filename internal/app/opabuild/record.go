// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"runtime/debug"
	"strings"
	"text/template"
)

// The files that are added to a program's main package. One holds the record of
// the build, the other registers the plugin. A main package of ours would lack
// what OPA's does with errors.
const (
	buildFile  = "regometer_build.go"
	pluginFile = "regometer_plugin.go"
)

//go:embed _opa/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "_opa/*.tmpl"))

// A record says what a binary consists of. The binary contains its Text.
type record struct {
	Regometer string `json:"regometer"` // its version
	OPA       string `json:"opa"`       // OPA's version, as its source has it
	DropIn    string `json:"dropIn"`    // the hash of its source, or ""
	Plugin    bool   `json:"plugin"`
	Hook      bool   `json:"hook"`               // the decision hook
	Upstream  int    `json:"upstream,omitempty"` // steps of the series, instead of the drop-in
}

// recordMark begins a record in a binary. This program contains it too, but no
// record follows.
const recordMark = "regometer build record 1: "

// Text returns the record as the binary contains it: one line.
func (r record) Text() (string, error) {
	text, err := json.Marshal(r)
	return recordMark + string(text) + "\n", err
}

// ShortHash returns enough of the drop-in's hash to tell one from another.
func (r record) ShortHash() string { return r.DropIn[:12] }

// parts names what of ours is in a binary.
func (r record) parts() string {
	switch {
	case r.Upstream > 0:
		return stepsName(r.Upstream)
	case r.Hook:
		return "the drop-in, the plugin and the decision hook"
	case r.Plugin:
		return "the drop-in and the plugin"
	}
	return "the drop-in"
}

// findRecord returns the record in a binary, or nil.
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

// file returns the text of one of the files.
func (r record) file(name string) ([]byte, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, name+".tmpl", r)
	return b.Bytes(), err
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
