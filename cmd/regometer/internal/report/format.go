// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A format is a form of a whole file. The zero value is any text.
type format string

// The formats that are read.
const (
	formatGzip  format = "gzip"
	formatZstd  format = "zstd"
	formatBzip2 format = "bzip2"
	formatLZ4   format = "lz4"
	formatUTF16 format = "utf16"
	formatTar   format = "tar"
)

// zstdMagic begins the frames of RFC 8878, except those to be skipped.
const zstdMagic = "\x28\xb5\x2f\xfd"

// savedMagic begins a saved report.
const savedMagic = "regometer report "

// magics are the beginnings of the formats. Those with a remedy are refused. An
// empty one needs more than a beginning.
var magics = []struct {
	magic  string
	format format
	remedy string
}{
	{"\x1f\x8b\x08", formatGzip, ""}, // RFC 1952
	{zstdMagic, formatZstd, ""},
	{"\x04\x22\x4d\x18", formatLZ4, ""},
	{"\xff\xfe", formatUTF16, ""},
	{"\xfe\xff", formatUTF16, ""},
	{savedMagic, "saved", "a saved report, which has no decisions: name the logs, or run regometer merge FILE"},
	{"PK\x03\x04", "zip", "a zip archive: run unzip -p FILE | regometer report -"},
	{"", "nested", "an archive in an archive, or compressed twice: unpack the outer one, and name its files"},
	{"", "window", "compressed by zstd --long=28 or more: run zstd -dc --long=31 FILE | regometer report -"},
	// The maintained library for xz lets a file ask for 4 GB of memory.
	{"\xfd7zXZ\x00", "xz", "compressed by xz: run xz -dc FILE | regometer report -"},
	// Databases, and files of columns. Their rows may be events.
	{"PAR1", "parquet", `a Parquet file: run duckdb -c "COPY (FROM 'FILE') TO '/dev/stdout' (FORMAT json)" | regometer report -`},
	{"SQLite format 3\x00", "sqlite", "an SQLite database: run sqlite3 -json FILE 'SELECT * FROM TABLE' | regometer report -"},
	{"Obj\x01", "avro", "an Avro file: run avro-tools tojson FILE | regometer report -"},
	{"LPKSHHRH", "journal", "a file of systemd's journal: run journalctl --all --file FILE -o json | regometer report -"},
}

// headSize is the size of the beginning that formatOf needs.
const headSize = 512

// peekFormat returns the format of the text that follows. It returns an error
// only if there is no text.
func peekFormat(text *bufio.Reader) (format, error) {
	head, err := text.Peek(headSize)
	if len(head) == 0 && !errors.Is(err, io.EOF) {
		return "", err
	}
	return formatOf(head), nil
}

// formatOf returns the format of a file with this beginning.
func formatOf(head []byte) format {
	for _, m := range magics {
		if m.magic != "" && bytes.HasPrefix(head, []byte(m.magic)) {
			return m.format
		}
	}
	switch {
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18": // a frame to be skipped, such as pzstd's
		return formatZstd
	case len(head) >= 10 && string(head[:3]) == "BZh" && (string(head[4:10]) == "1AY&SY" || string(head[4:10]) == "\x17\x72\x45\x38\x50\x90"):
		return formatBzip2
	case isTar(head):
		return formatTar
	}
	return ""
}

// isTar reports whether text begins with a tar header, which has the sum of its
// bytes. More may be missing.
func isTar(text []byte) bool {
	_, err := tar.NewReader(bytes.NewReader(text)).Next()
	return len(text) == headSize && (err == nil || errors.Is(err, io.ErrUnexpectedEOF))
}
