// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command decompress decompresses a gzip or zstd file to nowhere, by the
// library and with the settings that package report uses: what `regometer
// report` is measured beside on compressed files. It prints how many bytes of
// text there are.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// bufferSize is how much is read at a time.
const bufferSize = 1 << 18

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "Usage: decompress FILE.gz | FILE.zst")
		os.Exit(2)
	}
	n, err := decompress(os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "decompress: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	fmt.Println(n)
}

// decompress returns the length of a file's text.
func decompress(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buffered := bufio.NewReaderSize(f, bufferSize)
	var text io.Reader
	if strings.HasSuffix(name, ".zst") {
		d, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return 0, err
		}
		defer d.Close()
		text = d
	} else if text, err = gzip.NewReader(buffered); err != nil {
		return 0, err
	}
	n, buffer := int64(0), make([]byte, bufferSize)
	for {
		k, err := text.Read(buffer)
		n += int64(k)
		if errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}
