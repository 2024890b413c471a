package imagebuild

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Bounds of the archive with the client's files.
const (
	maxContextBytes   = 4 << 30
	maxContextEntries = 500_000
)

func (b *Build) unpackContext(dir string) error {
	file, err := b.object("context", b.Context)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := unpack(file, dir, bounds{maxContextBytes, maxContextEntries}); err != nil {
		return fmt.Errorf("context: %s: %w", b.Context, err)
	}
	return nil
}

// bounds limit what an archive may contain.
type bounds struct {
	bytes   int64
	entries int
}

// unpack writes the files of a compressed archive into a directory. Nothing is written outside of it: not by the name of an
// entry, and not through a link that an earlier entry has made.
func unpack(archive io.Reader, dir string, most bounds) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("is not an archive in the format tar.gz: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	entries := tar.NewReader(unzipped)
	for count := 0; ; count++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("is not an archive in the format tar.gz: %w", err)
		}
		if count >= most.entries {
			return fmt.Errorf("has more than %d entries", most.entries)
		}
		// By what the header declares, before anything is written.
		most.bytes -= max(header.Size, 0)
		if most.bytes < 0 {
			return errors.New("is too large once it is unpacked")
		}
		if err := unpackEntry(root, header, entries); err != nil {
			return fmt.Errorf("entry %q: %w", header.Name, err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := path.Clean(header.Name)
	if name == "." {
		return nil
	}
	if !filepath.IsLocal(name) || strings.ContainsRune(header.Name, 0) {
		return errors.New("its name leads out of the archive")
	}
	if header.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600|os.FileMode(header.Mode)&0o755) //nolint:gosec // masked
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Close())
	case tar.TypeSymlink:
		if path.IsAbs(header.Linkname) || !filepath.IsLocal(path.Join(path.Dir(name), header.Linkname)) { //nolint:gosec // the joined path is only checked
			return fmt.Errorf("the link to %q leads out of the archive", header.Linkname)
		}
		return root.Symlink(header.Linkname, name)
	}
	return errors.New("is neither a file nor a directory nor a link")
}
