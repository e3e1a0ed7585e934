// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"path"
	"strings"
)

// An archive is one input. Its members are read one after another, each like a
// file of its own, and are not written to disk.

// isLog reports whether a member may be a log. Like files in folders, it must
// not be hidden.
func isLog(name string) bool {
	return !strings.Contains(path.Clean("/"+name), "/.")
}

// notFiles are the types of tar members that have no text of their own: links,
// devices, folders, pipes, headers for all members, and GNU's lists of folders
// and names of volumes.
const notFiles = "123456gDV"

// blockSizeOfTar is the size of a header. Two headers of zeros end an archive.
const blockSizeOfTar = 512

// readTar reads an archive. readMember reads a member that may be a log, and
// reports whether it was read to its end. The error is io.EOF if all could be
// read, or if the problems of a member say what could not.
func readTar(text *bufio.Reader, readMember func(name string, text io.Reader) bool) error {
	read := 0
	archive := tar.NewReader(readerFunc(func(p []byte) (int, error) {
		n, err := text.Read(p)
		read += n
		return n, err
	}))
	for {
		read = 0
		member, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && read < blockSizeOfTar: // which the package accepts
			return problemError{Damaged}
		case errors.Is(err, io.EOF):
			return readZeros(text)
		case err != nil:
			return err
		}
		mayBeLog := !strings.ContainsRune(notFiles, rune(member.Typeflag)) && isLog(member.Name)
		whole := !mayBeLog || readMember(member.Name, archive)
		if _, err := io.Copy(io.Discard, archive); err != nil && whole {
			return err
		} else if err != nil {
			return io.EOF
		}
	}
}

// readZeros reads what fills the last record of an archive. It does not read an
// archive that follows.
func readZeros(text io.ByteReader) error {
	for {
		if c, err := text.ReadByte(); err != nil {
			return err
		} else if c != 0 {
			return problemError{Damaged}
		}
	}
}
