package imagebuild

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
)

// description is a digest of what the environment is made from: the description and the client's files. The tag of an image is the
// client's word, and cannot be computed from what is sent.
func (b *Build) description(spec *imagebuilder.ImageSpec) (string, error) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("spec: %w", err)
	}
	sum := sha256.New()
	field(sum, encoded)
	field(sum, []byte(b.SDK))
	if b.Context != "" {
		files, err := b.contentOfContext()
		if err != nil {
			return "", err
		}
		for _, one := range files {
			field(sum, []byte(one))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// field adds bytes with their number, so that no two lists of fields have the same bytes.
func field(sum hash.Hash, data []byte) { _, _ = fmt.Fprintf(sum, "%d:%s", len(data), data) }

// contentOfContext describes each file of the archive by name, kind, mode and content, in order: two archives of the same files
// differ in times, and in the order of their entries.
func (b *Build) contentOfContext() (files []string, failure error) {
	file, err := b.object("context", b.Context)
	if err != nil {
		return nil, err
	}
	defer func() { failure = errors.Join(failure, file.Close()) }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("context: %s is not an archive in the format tar.gz: %w", b.Context, err)
	}
	archive := tar.NewReader(io.LimitReader(unzipped, maxContextBytes))
	for len(files) < maxContextEntries {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(files)
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("context: read %s: %w", b.Context, err)
		}
		content := sha256.New()
		if _, err := io.Copy(content, archive); err != nil { //nolint:gosec // limited above
			return nil, fmt.Errorf("context: read %s: %w", b.Context, err)
		}
		files = append(files, fmt.Sprintf("%q %c %o %q %x", entry.Name, entry.Typeflag, entry.Mode&0o777, entry.Linkname, content.Sum(nil)))
	}
	return nil, fmt.Errorf("context: %s has more than %d entries", b.Context, maxContextEntries)
}
