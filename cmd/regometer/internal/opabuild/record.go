// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"text/template"
)

// The files that are added to a program's main package. One has the record of
// the build, and the other imports the plugin. A main package of our own would
// lack the way in which OPA's handles errors.
const (
	buildFile  = "regometer_build.go"
	pluginFile = "regometer_plugin.go"
)

// The fixes by which the plugin gets decisions from OPA's server.
const (
	hookFix    = "decision-hook"
	oldHookFix = "observed-decisions"
)

// ownFiles has the steps of inPlaceOf and the templates.
//
//go:embed _opa
var ownFiles embed.FS

// templates parses them only when one is needed, because most commands need
// none.
var templates = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(ownFiles, "_opa/*.tmpl")) })

// A Record has the parts of a binary that Regometer built. The binary contains
// the record's Text.
type Record struct {
	Regometer string `json:"regometer"`          // the version that built it; "" if another program did
	OPA       string `json:"opa"`                // OPA's version, as its source says
	DropIn    string `json:"dropIn"`             // the SHA-256 of the drop-in's source, [Unknown], or "" without it
	Plugin    bool   `json:"plugin"`             // it has the plugin
	Hook      bool   `json:"hook"`               // the plugin gets decisions straight from OPA's server
	Fixes     string `json:"fixes,omitempty"`    // the names of the fixes that it has, with commas
	Upstream  int    `json:"upstream,omitempty"` // the number of steps of the Series
}

// recordMark begins a record in a binary. This program contains the mark too,
// but without a record.
const recordMark = "regometer build record 1: "

// Text returns the record as the binary contains it: one line.
func (r Record) Text() string {
	text, _ := json.Marshal(r) // strings, numbers and booleans
	return recordMark + string(text) + "\n"
}

// ShortHash returns the beginning of the drop-in's hash.
func (r Record) ShortHash() string { return r.DropIn[:12] }

// HookFix reports whether the plugin gets decisions by the fix [hookFix].
func (r Record) HookFix() bool { return r.Hook && strings.Contains(r.Fixes, hookFix) }

// parts names the parts of Regometer in a binary.
func (r Record) parts() string {
	if r.Upstream > 0 {
		return stepsName(r.Upstream)
	}
	names := "the drop-in"
	if r.Fixes != "" {
		names += ", the fixes " + r.Fixes
	}
	switch {
	case r.Hook:
		return names + ", the plugin and the decision hook"
	case r.Plugin:
		return names + " and the plugin"
	}
	return names
}

var recordLine = regexp.MustCompile(recordMark + `(\{.*\})\n`)

// findRecord returns the record in a binary, or nil.
func findRecord(binary []byte) *Record {
	for _, line := range recordLine.FindAllSubmatch(binary, -1) {
		var r Record
		if json.Unmarshal(line[1], &r) == nil && r.OPA != "" && (len(r.DropIn) == 2*sha256.Size || r.Upstream > 0) {
			return &r
		}
	}
	return nil
}

// file returns the text of buildFile or pluginFile.
func (r Record) file(name string) []byte {
	var b bytes.Buffer
	_ = templates().ExecuteTemplate(&b, name+".tmpl", r) // into memory, see TestTemplates
	return b.Bytes()
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
