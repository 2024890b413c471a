package blobstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"gocloud.dev/blob"
)

// claimsDir, below the root of a bucket, has one object for each name that was given out for one content only. Its name
// is the SHA-256 of that name, its content the MD5 in base64, or anyContent. No URI leads into it.
const claimsDir = ".flyte-claims"

// anyContent claims a name for whatever comes first.
const anyContent = "*"

// keep makes sure that a signed PUT replaces no other content, if that is wanted, and returns the key and the options to
// sign.
//
// The condition that object stores know, that there is no object yet, is not enough: a client that got no answer sends
// the same content again, and must not be refused. So a name is claimed for a digest before its URL exists. As the
// signature binds the digest, the holder of the URL can write that content only, as often as necessary. The condition is for
// content without a digest.
func (b *bucket) keep(ctx context.Context, key string, o PutOptions) (string, PutOptions, error) {
	if b.unbound {
		return b.keepUnbound(ctx, key, o)
	}
	if !o.CreateOnly {
		return key, o, nil
	}
	found, err := b.foundSame(ctx, key, o.ContentMD5)
	if err == nil && !found {
		err = b.claim(ctx, key, o.ContentMD5)
	}
	o.CreateOnly = len(o.ContentMD5) == 0
	return key, o, err
}

// keepUnbound is keep where no signature binds a digest: every URL can only create its object. What has the right content
// already is not sent there again, but to a place that no one reads, since the client must send it somewhere.
func (b *bucket) keepUnbound(ctx context.Context, key string, o PutOptions) (string, PutOptions, error) {
	found, err := b.foundSame(ctx, key, o.ContentMD5)
	if found {
		key = claimsDir + "/again/" + rand.Text()
	}
	o.CreateOnly = true
	return key, o, err
}

// foundSame reports whether there is an object with this digest. It returns ErrExists when there is one with another.
func (b *bucket) foundSame(ctx context.Context, key string, digest []byte) (bool, error) {
	info, err := b.stat(ctx, key)
	switch {
	case errors.Is(err, ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case len(digest) > 0 && (bytes.Equal(info.MD5, digest) || info.Metadata[metadataMD5] == encodeMD5(digest)):
		return true, nil
	}
	return false, ErrExists
}

// claim reserves a name for a digest. It returns ErrExists when the name is reserved for another.
func (b *bucket) claim(ctx context.Context, key string, digest []byte) error {
	content := anyContent
	if len(digest) > 0 {
		content = encodeMD5(digest)
	}
	name := sha256.Sum256([]byte(key))
	place := b.key(claimsDir + "/" + hex.EncodeToString(name[:]))
	failure := b.bucket.WriteAll(ctx, place, []byte(content), &blob.WriterOptions{
		ContentType: "text/plain", DisableContentTypeDetection: true, IfNotExist: true,
	})
	if failure == nil {
		return nil
	}
	// It may be claimed, also by this very request, whose answer was lost and which the client of the store sent again.
	claimed, err := b.bucket.ReadAll(ctx, place)
	if err != nil {
		return failure
	}
	if string(claimed) != content {
		return ErrExists
	}
	return nil
}
