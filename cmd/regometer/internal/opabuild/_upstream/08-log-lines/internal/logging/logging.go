// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"cmp"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/util"
)

// jsonFormatter writes the lines of logrus.JSONFormatter. It neither copies the
// fields nor encodes them as a map, which allocates for each key and value.
type jsonFormatter struct{ logrus.JSONFormatter }

func (f *jsonFormatter) Format(e *logrus.Entry) ([]byte, error) {
	if e.Caller != nil {
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
	line, sep := b.AvailableBuffer(), byte('{')
	for _, key := range keys {
		line = append(util.AppendJSONString(append(line, sep), key), ':')
		sep = ','
		var err error
		switch key {
		case logrus.FieldKeyTime:
			line = util.AppendJSONString(line, e.Time.Format(cmp.Or(f.TimestampFormat, time.RFC3339)))
		case logrus.FieldKeyMsg:
			line = util.AppendJSONString(line, e.Message)
		case logrus.FieldKeyLevel:
			line = util.AppendJSONString(line, e.Level.String())
		default:
			value := e.Data[key]
			if err, ok := value.(error); ok {
				value = err.Error()
			}
			line, err = util.AppendJSON(line, value)
		}
		if err != nil {
			return nil, fmt.Errorf("failed to marshal fields to JSON, %w", err)
		}
	}
	b.Write(append(line, '}', '\n'))
	return b.Bytes(), nil
}
