//go:build !nocloudgcs

package blobstore

import (
	"context"
	"net/url"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/gcsblob" // serves gs://

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// openGCS takes credentials from the environment, as Google's own tools do. Build with the tag nocloudgcs to leave it
// out.
func openGCS(ctx context.Context, r root, clk clock.Clock) (backend, error) {
	b, err := blob.OpenBucket(ctx, "gs://"+r.bucket)
	if err != nil {
		return nil, err
	}
	return &bucket{bucket: b, signing: b, prefix: r.prefix, clock: clk, demand: demandGCS, present: presentGCS, leadsTo: "https://storage.googleapis.com"}, nil
}

func presentGCS(o GetOptions, file string, as func(any) bool) {
	var options *storage.SignedURLOptions
	if as(&options) {
		if options.QueryParameters == nil {
			options.QueryParameters = url.Values{}
		}
		options.QueryParameters.Set("response-content-type", mediaType(o))
		options.QueryParameters.Set("response-content-disposition", disposition(o, file))
	}
}

func demandGCS(o PutOptions, as func(any) bool) map[string]string {
	headers := map[string]string{}
	var options *storage.SignedURLOptions
	if !as(&options) {
		return headers
	}
	if o.CreateOnly {
		options.Headers = append(options.Headers, "x-goog-if-generation-match:0")
		headers["x-goog-if-generation-match"] = "0"
	}
	if len(o.ContentMD5) == 0 {
		return headers
	}
	digest := encodeMD5(o.ContentMD5)
	options.MD5 = digest
	headers["Content-MD5"] = digest
	if o.MD5Metadata {
		options.Headers = append(options.Headers, "x-goog-meta-"+metadataMD5+":"+digest)
		headers["x-goog-meta-"+metadataMD5] = digest
	}
	return headers
}
