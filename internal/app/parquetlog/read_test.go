// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A row is one of a file, by the names of columns. What is null is left out.
type row struct {
	texts    map[string]string
	numbers  map[string]int64
	labels   map[string]string
	timers   map[string]int64
	counters map[string]int64
}

func newRow() row {
	return row{map[string]string{}, map[string]int64{}, map[string]string{}, map[string]int64{}, map[string]int64{}}
}

// readRows reads a file with the library.
func readRows(t *testing.T, text []byte) (rows []row, groups int) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	columns := file.Schema().Columns()
	buffer := make([]parquet.Row, 100)
	for _, group := range file.RowGroups() {
		reader := group.Rows()
		defer reader.Close()
		for {
			n, err := reader.ReadRows(buffer)
			for _, r := range buffer[:n] {
				rows = append(rows, rowOf(t, columns, r))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if file.NumRows() != int64(len(rows)) {
		t.Errorf("%d rows, and the file says that there are %d", len(rows), file.NumRows())
	}
	return rows, len(file.RowGroups())
}

func rowOf(t *testing.T, columns [][]string, values parquet.Row) row {
	t.Helper()
	r := newRow()
	keys := map[string][]string{}
	n := map[string]int{} // values of a map so far
	for _, v := range values {
		path := columns[v.Column()]
		name := path[0]
		switch {
		case v.IsNull():
		case len(path) == 1 && v.Kind() == parquet.ByteArray:
			r.texts[name] = string(v.ByteArray())
		case len(path) == 1:
			r.numbers[name] = v.Int64()
		case path[2] == "key":
			keys[name] = append(keys[name], string(v.ByteArray()))
		default:
			key := keys[name][n[name]]
			n[name]++
			switch name {
			case "labels":
				r.labels[key] = string(v.ByteArray())
			case "timers":
				r.timers[key] = v.Int64()
			case "counters":
				r.counters[key] = v.Int64()
			}
		}
	}
	for name, of := range map[string]int{"labels": len(r.labels), "timers": len(r.timers), "counters": len(r.counters)} {
		if of != len(keys[name]) {
			t.Errorf("%s: the keys %q are not all different", name, keys[name])
		}
	}
	return r
}
