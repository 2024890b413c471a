package copilot

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// collectBlob uploads a file or a directory, whichever the output is declared as. A mismatch is an error of the task: a
// reader would look for a file where a directory is.
func (c *collector) collectBlob(at string, kind *core.BlobType, info fs.FileInfo) (*core.Literal, error) {
	if multipart := kind.GetDimensionality() == core.BlobType_MULTIPART; multipart != info.IsDir() {
		if multipart {
			return nil, malformed("%s is a file, but the output is declared as directory", c.seen(at))
		}
		return nil, malformed("%s is a directory, but the output is declared as file", c.seen(at))
	}
	uri, err := c.upload(at, info)
	return ofScalar(&core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: uri, Metadata: &core.BlobMetadata{Type: kind}}}}), err
}

// collectDataset reads a file or a directory of files.
func (c *collector) collectDataset(at string, kind *core.StructuredDatasetType, info fs.FileInfo) (*core.Literal, error) {
	uri, err := c.upload(at, info)
	return ofScalar(&core.Scalar{Value: &core.Scalar_StructuredDataset{StructuredDataset: &core.StructuredDataset{
		Uri: uri, Metadata: &core.StructuredDatasetMetadata{StructuredDatasetType: kind},
	}}}), err
}

// upload uploads a file or everything below a directory in the background, and returns its URI.
func (c *collector) upload(at string, info fs.FileInfo) (string, error) {
	uri := c.prefix + "/" + at
	if !info.IsDir() {
		c.send(at, uri)
		return uri, nil
	}
	return uri, fs.WalkDir(c.root.FS(), at, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return malformed("%s cannot be read: %v", c.seen(path), reason(err))
		}
		if entry.IsDir() {
			return nil
		}
		// A link counts as its target, if the target is an output, too.
		if found, err := c.root.Stat(path); err != nil || !found.Mode().IsRegular() {
			return malformed("%s is not a file, or a link to one in the directory of outputs", c.seen(path))
		}
		c.send(path, c.prefix+"/"+path)
		return nil
	})
}

// send uploads one file in the background, with retries.
func (c *collector) send(at, uri string) {
	c.group.Go(func() error {
		if err := again(c.ctx, c.clock, func() error { return c.copyFile(at, uri) }); err != nil {
			return fmt.Errorf("upload %s: %w", c.seen(at), err)
		}
		return nil
	})
}

// copyFile uploads one file once.
func (c *collector) copyFile(at, uri string) error {
	if strings.ContainsAny(at, "\\") || strings.ContainsFunc(at, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return malformed("%s has a character in its name that object stores do not support", c.seen(at))
	}
	file, err := c.root.Open(at)
	if err != nil {
		return malformed("%s cannot be read: %v", c.seen(at), reason(err))
	}
	defer file.Close()
	// The object appears when the writer is closed, unless the context has ended before.
	ctx, abandon := context.WithCancel(c.ctx)
	defer abandon()
	object, err := c.blobs.NewWriter(ctx, uri)
	if err != nil {
		return err
	}
	if _, err := io.Copy(object, file); err != nil {
		abandon()
		_ = object.Close() // it only reports the cancellation
		return err
	}
	return object.Close()
}
