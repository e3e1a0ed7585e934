// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that is loaded by another one needs a base that has that.
func TestDynamic(t *testing.T) {
	for kind, refused := range map[elf.ProgType]bool{elf.PT_LOAD: false, elf.PT_INTERP: true} {
		var text bytes.Buffer
		header := elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
			Phoff: 64, Phentsize: 56, Phnum: 1, Ehsize: 64,
		}
		for _, part := range []any{header, elf.Prog64{Type: uint32(kind)}} {
			if err := binary.Write(&text, binary.LittleEndian, part); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(file, text.Bytes(), 0o755); err != nil {
			t.Fatal(err)
		}
		im := program(t, filepath.Join(t.TempDir(), "image"), "linux/amd64")
		im.Build = func(context.Context, string) (Binary, error) { return Binary{File: file}, nil }
		_, err := im.Write(t.Context())
		if refused != (err != nil && strings.Contains(err.Error(), "CGO_ENABLED=0")) || !refused && err != nil {
			t.Errorf("with %v the error is %v", kind, err)
		}
		if refused {
			index, _ := indexFor(t, "linux/amd64")
			im.Base = writeLayout(t, index)
			mustWrite(t, im)
		}
	}
}
