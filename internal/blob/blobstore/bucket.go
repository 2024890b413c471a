package blobstore

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// metadataMD5 is the metadata key under which clients of this contract keep the digest of an upload.
const metadataMD5 = "flytecontentmd5"

// bucket is an object store, accessed with gocloud.
type bucket struct {
	bucket *blob.Bucket
	// signing creates signed URLs; the same bucket, unless clients reach it under another name.
	signing *blob.Bucket
	prefix  string
	clock   clock.Clock
	// demand adds the conditions of a PUT to the request to be signed, and returns the headers that a client must send.
	demand func(o PutOptions, as func(any) bool) map[string]string
	// present adds the response headers of a GET to the request to be signed.
	present func(o GetOptions, file string, as func(any) bool)
	// leadsTo is the origin of signed URLs.
	leadsTo string
	// unbound says that signatures do not bind the digest of the content: demand can only make a URL create an object.
	unbound bool
}

var _ backend = (*bucket)(nil)

func (b *bucket) key(key string) string {
	if b.prefix == "" {
		return key
	}
	return b.prefix + "/" + key
}

func (b *bucket) open(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := b.bucket.NewReader(ctx, b.key(key), nil)
	if err != nil {
		return nil, bucketError(err)
	}
	return r, nil
}

func (b *bucket) openRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.bucket.NewRangeReader(ctx, b.key(key), offset, length, nil)
	if err != nil {
		return nil, bucketError(err)
	}
	return r, nil
}

func (b *bucket) create(ctx context.Context, key string) (io.WriteCloser, error) {
	return b.bucket.NewWriter(ctx, b.key(key), &blob.WriterOptions{
		ContentType: "application/octet-stream", DisableContentTypeDetection: true,
	})
}

func (b *bucket) stat(ctx context.Context, key string) (Info, error) {
	attributes, err := b.bucket.Attributes(ctx, b.key(key))
	if err != nil {
		return Info{}, bucketError(err)
	}
	return Info{
		Size: attributes.Size, ModTime: attributes.ModTime.UTC(), MD5: attributes.MD5, Metadata: attributes.Metadata,
	}, nil
}

func (b *bucket) remove(ctx context.Context, key string) error {
	return bucketError(b.bucket.Delete(ctx, b.key(key)))
}

func (b *bucket) signPut(ctx context.Context, key string, o PutOptions) (Signed, error) {
	key, o, err := b.keep(ctx, key, o)
	if err != nil {
		return Signed{}, err
	}
	headers := map[string]string{}
	at := b.clock.Now().Add(o.Expires)
	signed, err := b.signing.SignedURL(ctx, b.key(key), &blob.SignedURLOptions{
		Method: http.MethodPut, Expiry: o.Expires,
		BeforeSign: func(as func(any) bool) error { headers = b.demand(o, as); return nil },
	})
	return Signed{URL: signed, Headers: headers, ExpiresAt: at}, bucketError(err)
}

func (b *bucket) signGet(ctx context.Context, key string, o GetOptions) (Signed, error) {
	at := b.clock.Now().Add(o.Expires)
	signed, err := b.signing.SignedURL(ctx, b.key(key), &blob.SignedURLOptions{
		Method: http.MethodGet, Expiry: o.Expires,
		BeforeSign: func(as func(any) bool) error { b.present(o, path.Base(key), as); return nil },
	})
	return Signed{URL: signed, Headers: map[string]string{}, ExpiresAt: at}, bucketError(err)
}

func (b *bucket) origin() string { return b.leadsTo }

// disposition says whether a browser shows or downloads an object.
func disposition(o GetOptions, file string) string {
	if o.ShowAs != "" {
		return "inline"
	}
	return mime.FormatMediaType("attachment", map[string]string{"filename": file})
}

// mediaType is the media type under which a browser handles an object.
func mediaType(o GetOptions) string { return cmp.Or(o.ShowAs, "application/octet-stream") }

func (b *bucket) close() error {
	err := b.bucket.Close()
	if b.signing != b.bucket {
		_ = b.signing.Close() // it only signed
	}
	return err
}

func bucketError(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %w", ErrNotExist, err)
	}
	return err
}

func encodeMD5(digest []byte) string { return base64.StdEncoding.EncodeToString(digest) }
