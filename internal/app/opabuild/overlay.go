// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/regometer/regometer/internal/app/outfile"
)

// An overlay says, in the form of go build's flag -overlay, which files the go
// command reads instead of others. "" means that there is no such file.
type overlay struct {
	work    string            // folder of the overlay's own files
	Replace map[string]string // by absolute path
}

// readOverlay begins an overlay whose files are in the folder work. It has what
// the user's own one, file, has. Paths there are relative to dir.
func readOverlay(work, file, dir string) (*overlay, error) {
	o := &overlay{work, map[string]string{}}
	if file == "" {
		return o, nil
	}
	abs := func(name string) string {
		if name != "" && !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name
	}
	var theirs overlay
	text, err := os.ReadFile(abs(file))
	if err == nil {
		err = json.Unmarshal(text, &theirs)
	}
	if err != nil {
		return nil, fmt.Errorf("the flag -overlay: %w", err)
	}
	for name, to := range theirs.Replace {
		o.Replace[abs(name)] = abs(to)
	}
	return o, nil
}

// add replaces files in the folder dir, which the user's overlay must not
// replace too.
func (o *overlay) add(dir string, r replacement) error {
	for path, text := range r {
		name := filepath.Join(dir, filepath.FromSlash(path))
		if _, ok := o.Replace[name]; ok {
			return fmt.Errorf("the flag -overlay replaces %s, which Regometer has to replace: remove it from the overlay", name)
		}
		o.Replace[name] = ""
		if text == nil {
			continue
		}
		// Error messages show this path.
		o.Replace[name] = filepath.Join(o.work, "files", filepath.FromSlash(path))
		if err := (replacement{path: text}).apply(filepath.Join(o.work, "files")); err != nil {
			return err
		}
	}
	return nil
}

// file returns the path of the overlay, for the flag.
func (o *overlay) file() string { return filepath.Join(o.work, "overlay.json") }

// write writes the overlay, which may be repeated after more files were added.
func (o *overlay) write() error {
	text, err := json.Marshal(map[string]any{"Replace": o.Replace})
	if err != nil {
		return err
	}
	return outfile.Write(o.file(), text)
}
