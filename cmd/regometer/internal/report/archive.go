// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path"
	"strings"
)

// An archive is one input. Its members are read one after another, each like a
// file of its own, and are not written to disk.

// maxMemberName limits the name of a member in messages.
const maxMemberName = 4096

// readMember reads a member of an archive, and reports whether it was read to
// its end.
func (w *worker) readMember(ctx context.Context, archive *input, name string, text io.Reader) bool {
	in := &input{InputFile: InputFile{Name: archive.Name + ":" + name[:min(len(name), maxMemberName)]}}
	p := in.newPart()
	w.readContent(ctx, p, w.member, checked{text, zip.ErrAlgorithm, errMethod}, true)
	archive.members.merge(in.sum()) // at once, so that memory does not grow with the members
	return p.failure == ""
}

// isLog reports whether a member may be a log. Like files in folders, it must
// not be hidden.
func isLog(name string) bool {
	return !strings.Contains(path.Clean("/"+name), "/.")
}

// readTar reads tar archives, several if they are joined. The error is io.EOF
// if all could be read, or if the problems of a member say what could not.
func (w *worker) readTar(ctx context.Context, in *input, text *bufio.Reader) error {
	in.members = new(Inputs)
	for {
		if err := w.readOneTar(ctx, in, text); err != nil {
			return err
		}
		c, err := text.ReadByte()
		for c == 0 && err == nil { // the rest of the last record
			c, err = text.ReadByte()
		}
		if err != nil {
			return err
		}
		_ = text.UnreadByte() // which follows ReadByte
	}
}

// notFiles are the types of tar members that have no text of their own: links,
// devices, folders, pipes, headers for all members, and GNU's lists of folders
// and names of volumes.
const notFiles = "123456gDV"

// blockSizeOfTar is the size of a header. Two headers of zeros end an archive.
const blockSizeOfTar = 512

func (w *worker) readOneTar(ctx context.Context, in *input, text *bufio.Reader) error {
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
			return errDamaged
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		whole := true
		if !strings.ContainsRune(notFiles, rune(member.Typeflag)) && isLog(member.Name) {
			whole = w.readMember(ctx, in, member.Name, archive)
		}
		if _, err := io.Copy(io.Discard, archive); err != nil && whole {
			return err
		} else if err != nil {
			return io.EOF
		}
	}
}

// maxDirectory limits the directory of a zip archive, in bytes. Package zip
// keeps it in memory, where it takes some times as much. A test lowers it.
var maxDirectory int64 = 16 << 20

// A zipFile is the file of a zip archive. It can be read until left is used up,
// or the context has ended.
type zipFile struct {
	ctx  context.Context
	file *os.File
	left int64
}

func (z *zipFile) ReadAt(p []byte, at int64) (int, error) {
	if z.left -= int64(len(p)); z.left < 0 {
		return 0, errMembers
	}
	if err := z.ctx.Err(); err != nil {
		return 0, err
	}
	return z.file.ReadAt(p, at)
}

// readZip reads a zip archive, of which counted bytes are counted already. The
// error is as that of readTar.
func (w *worker) readZip(ctx context.Context, in *input, counted int) error {
	f, err := os.Open(in.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	size := in.Info.Size()
	from := &zipFile{ctx, f, maxDirectory}
	archive, err := zip.NewReader(from, size)
	switch {
	case errors.Is(err, errMembers):
		return err
	case err != nil:
		return errDamaged
	}
	from.left = math.MaxInt64
	in.members = new(Inputs)
	for _, member := range archive.File {
		if member.Mode().IsRegular() && isLog(member.Name) {
			text := openMember(member)
			w.readMember(ctx, in, member.Name, text)
			text.Close()
		}
	}
	w.bytes.Add(size - int64(counted))
	return io.EOF
}

// openMember opens a member. If that fails, reading it fails.
func openMember(member *zip.File) io.ReadCloser {
	text, err := member.Open()
	if member.Flags&1 != 0 { // encrypted
		err = zip.ErrAlgorithm
	}
	if err != nil {
		return io.NopCloser(readerFunc(func([]byte) (int, error) { return 0, err }))
	}
	return text
}
