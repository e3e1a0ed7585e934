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

// row holds the texts and numbers of a row by column. The column of a map's
// entry is the map's name, a dot and the key. A list is a text with a semicolon
// behind each element. A row has no nulls.
type row map[string]any

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
		for !errors.Is(err, io.EOF) {
			var n int
			if n, err = reader.ReadRows(buffer); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			for _, r := range buffer[:n] {
				rows = append(rows, rowOf(t, columns, r))
			}
		}
		err = nil
	}
	if file.NumRows() != int64(len(rows)) {
		t.Errorf("read %d rows, the file says that it has %d", len(rows), file.NumRows())
	}
	return rows, len(file.RowGroups())
}

func rowOf(t *testing.T, columns [][]string, values parquet.Row) row {
	t.Helper()
	r := row{}
	keys := map[string][]string{} // of a map, whose values follow
	for _, v := range values {
		path := columns[v.Column()]
		column := path[0]
		if v.IsNull() {
			continue
		}
		if len(path) > 1 && path[1] == "list" {
			before, _ := r[column].(string)
			r[column] = before + string(v.ByteArray()) + ";"
			continue
		}
		if len(path) > 1 {
			if path[2] == "key" {
				keys[column] = append(keys[column], string(v.ByteArray()))
				continue
			}
			keys[column], column = keys[column][1:], column+"."+keys[column][0]
		}
		if _, twice := r[column]; twice {
			t.Errorf("two values for %q", column)
		}
		r[column] = v.Int64()
		if v.Kind() == parquet.ByteArray {
			r[column] = string(v.ByteArray())
		}
	}
	return r
}
