// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
)

// jsonFormatter writes the lines of logrus.JSONFormatter. It neither copies the
// fields nor encodes them as a map, which allocates for each key and value.
type jsonFormatter struct{ logrus.JSONFormatter }

func (f *jsonFormatter) Format(e *logrus.Entry) ([]byte, error) {
	if e.HasCaller() {
		return f.JSONFormatter.Format(e) // adds two fields
	}
	keys := make([]string, 0, len(e.Data)+3)
	for key := range e.Data {
		switch key {
		case logrus.FieldKeyTime, logrus.FieldKeyMsg, logrus.FieldKeyLevel, logrus.FieldKeyLogrusError:
			return f.JSONFormatter.Format(e) // renames the field
		}
		keys = append(keys, key)
	}
	keys = append(keys, logrus.FieldKeyTime, logrus.FieldKeyMsg, logrus.FieldKeyLevel)
	slices.Sort(keys)

	b := e.Buffer
	if b == nil {
		b = new(bytes.Buffer)
	}
	enc := json.NewEncoder(b)
	sep := byte('{')
	for i, key := range keys {
		value := e.Data[key]
		switch key {
		case logrus.FieldKeyTime:
			value = e.Time.Format(cmp.Or(f.TimestampFormat, time.RFC3339))
		case logrus.FieldKeyMsg:
			value = e.Message
		case logrus.FieldKeyLevel:
			value = e.Level.String()
		}
		if err, ok := value.(error); ok {
			value = err.Error()
		}

		b.WriteByte(sep)
		if err := enc.Encode(&keys[i]); err != nil { // a pointer needs no allocation
			return nil, fmt.Errorf("failed to marshal fields to JSON, %w", err)
		}
		b.Truncate(b.Len() - 1) // the encoder's line feed
		b.WriteByte(':')
		if err := enc.Encode(value); err != nil {
			return nil, fmt.Errorf("failed to marshal fields to JSON, %w", err)
		}
		b.Truncate(b.Len() - 1)
		sep = ','
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}
