package plugintest

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// Blobs is an object store in memory.
type Blobs struct {
	// Objects by URI.
	Objects map[string][]byte
	// Asked counts reads.
	Asked int
	// Down, where set, is the error of every read.
	Down error
}

// ReadAll implements plugin.Store.
func (b *Blobs) ReadAll(_ context.Context, uri string, limit int64) ([]byte, error) {
	b.Asked++
	body, found := b.Objects[uri]
	switch {
	case b.Down != nil:
		return nil, b.Down
	case !found:
		return nil, fmt.Errorf("%s: %w", uri, blobstore.ErrNotExist)
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("%s: %w", uri, blobstore.ErrTooLarge)
	}
	return body, nil
}

// NewReader implements verdict.Store.
func (b *Blobs) NewReader(ctx context.Context, uri string) (io.ReadCloser, error) {
	body, err := b.ReadAll(ctx, uri, 1<<40)
	return io.NopCloser(bytes.NewReader(body)), err
}

// Stat implements plugin.Store.
func (b *Blobs) Stat(ctx context.Context, uri string) (blobstore.Info, error) {
	body, err := b.ReadAll(ctx, uri, 1<<40)
	return blobstore.Info{Size: int64(len(body))}, err
}
