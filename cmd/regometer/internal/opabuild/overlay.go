// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"encoding/json"
	"path/filepath"

	"github.com/regometer/regometer/cmd/regometer/internal/outfile"
)

// An overlay says which files the go command reads instead of others, in the
// form of go build's flag -overlay. "" removes a file.
type overlay struct {
	work    string            // folder of the overlay's own files
	Replace map[string]string // by absolute path
}

// add replaces files in the folder dir.
func (o *overlay) add(dir string, r replacement) error {
	own := replacement{}
	for path, text := range r {
		name := filepath.Join(dir, filepath.FromSlash(path))
		o.Replace[name] = ""
		if text != nil {
			own["files/"+path] = text
			o.Replace[name] = filepath.Join(o.work, "files", filepath.FromSlash(path)) // error messages show this path
		}
	}
	return own.apply(o.work)
}

// file returns the path of the overlay, for the flag.
func (o *overlay) file() string { return filepath.Join(o.work, "overlay.json") }

// write writes the overlay.
func (o *overlay) write() error {
	text, _ := json.Marshal(o) // strings
	return outfile.Write(o.file(), text)
}
