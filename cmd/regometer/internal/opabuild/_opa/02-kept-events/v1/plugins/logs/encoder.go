// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"encoding/json"
)

// encodedError is the JSON of an event's error. It is encoded again as it is.
type encodedError json.RawMessage

func (e encodedError) Error() string { return string(e) }

func (e encodedError) MarshalJSON() ([]byte, error) { return e, nil }

func (e *encodedError) UnmarshalJSON(text []byte) error {
	*e = bytes.Clone(text)
	return nil
}
