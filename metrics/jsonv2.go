// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build goexperiment.jsonv2 && go1.27

package metrics

import "encoding/json/jsontext"

// MarshalJSONTo writes the metrics as one JSON object. It saves
// encoding/json/v2, and encoding/json on top of it, a copy of the text.
func (c *collection) MarshalJSONTo(e *jsontext.Encoder) error {
	w := writers.Get().(*writer)
	defer w.release()
	w.json = c.store().appendJSON(w.json[:0])
	return e.WriteValue(w.json)
}
