package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tarball is a compressed archive of one directory with the program and the documents.
func tarball(dir string, o options, program []byte, documents map[string][]byte) ([]byte, error) {
	a := newArchive(dir, o.made)
	a.add(o.name(), 0o755, program)
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		a.add(name, 0o644, documents[name])
	}
	return a.bytes()
}

// archive is a compressed archive of one directory, with the same bytes for the same files.
type archive struct {
	dir     string
	made    time.Time
	packed  bytes.Buffer
	zipped  *gzip.Writer
	entries *tar.Writer
	err     error
}

func newArchive(dir string, made time.Time) *archive {
	a := &archive{dir: dir, made: made}
	a.zipped = gzip.NewWriter(&a.packed)
	a.entries = tar.NewWriter(a.zipped)
	return a
}

// add appends a file. bytes returns its error.
func (a *archive) add(name string, mode int64, content []byte) {
	if a.err == nil {
		a.err = a.entries.WriteHeader(&tar.Header{
			Name: a.dir + "/" + name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content)), ModTime: a.made, Format: tar.FormatUSTAR,
		})
	}
	if a.err == nil {
		_, a.err = a.entries.Write(content)
	}
}

// bytes ends the archive and returns it.
func (a *archive) bytes() ([]byte, error) {
	a.err = errors.Join(a.err, a.entries.Close(), a.zipped.Close())
	return a.packed.Bytes(), a.err
}

// zipTime is the time of entries in a zip file, which cannot be before 1980.
func (o options) zipTime() time.Time {
	earliest := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	if o.made.Before(earliest) {
		return earliest
	}
	return o.made
}

// writeSums writes SHA256SUMS of the files in a directory, as sha256sum --check reads it.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	const sums = "SHA256SUMS"
	var lines strings.Builder
	for _, entry := range entries { // sorted by name
		if entry.Name() == sums || !entry.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return os.WriteFile(filepath.Join(dir, sums), []byte(lines.String()), 0o644) //nolint:gosec // a public file
}
