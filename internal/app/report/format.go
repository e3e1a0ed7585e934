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

// The formats that are read, and that of saved reports.
const (
	formatGzip  format = "gzip"
	formatZstd  format = "zstd"
	formatBzip2 format = "bzip2"
	formatLZ4   format = "lz4"
	formatUTF16 format = "utf16"
	formatTar   format = "tar"
	formatZip   format = "zip"
	formatSaved format = "saved"
)

// zstdMagic begins the frames of RFC 8878, except those to be skipped.
const zstdMagic = "\x28\xb5\x2f\xfd"

// magics are the beginnings of the formats. Those without a constant are
// refused.
var magics = []struct {
	magic  string
	format format
}{
	{"\x1f\x8b\x08", formatGzip}, // RFC 1952
	{zstdMagic, formatZstd},
	{"\x04\x22\x4d\x18", formatLZ4},
	{"\xff\xfe", formatUTF16},
	{"\xfe\xff", formatUTF16},
	{"PK\x03\x04", formatZip},
	{"PK\x05\x06", formatZip},       // without members
	{"\x02\x21\x4c\x18", "lz4_old"}, // whose end has no mark
	{"\xfd7zXZ\x00", "xz"},
	{"7z\xbc\xaf\x27\x1c", "7z"},
	{"Rar!\x1a\x07", "rar"},
	{"\x1f\x9d", "compress"},
	{"\xff\x06\x00\x00sNaPpY", "snappy"},
}

// headSize is the size of the beginning that formatOf needs.
const headSize = 512

// peekFormat returns the format of the text that follows. It returns an error
// only if there is no text.
func peekFormat(text *bufio.Reader) (format, []byte, error) {
	head, err := text.Peek(headSize)
	if len(head) == 0 && !errors.Is(err, io.EOF) {
		return "", nil, err
	}
	return formatOf(head), head, nil
}

// formatOf returns the format of a file with this beginning.
func formatOf(head []byte) format {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
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
