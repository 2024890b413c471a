//go:build !nocloudazure

package blobstore

import (
	"context"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // serves azblob://

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// openAzure takes credentials from the environment, as Azure's own tools do. Build with the tag nocloudazure to leave
// it out.
func openAzure(ctx context.Context, r root, clk clock.Clock) (backend, error) {
	account, _, _ := strings.Cut(r.host, ".")
	b, err := blob.OpenBucket(ctx, "azblob://"+r.bucket+"?storage_account="+url.QueryEscape(account))
	if err != nil {
		return nil, err
	}
	return &bucket{bucket: b, signing: b, prefix: r.prefix, clock: clk, demand: demandAzure}, nil
}

// demandAzure names the header without which Azure refuses a PUT. Its signatures cannot bind a digest; clients send
// Content-MD5 by themselves and Azure checks it.
func demandAzure(o PutOptions, _ func(any) bool) map[string]string {
	headers := map[string]string{"x-ms-blob-type": "BlockBlob"}
	if len(o.ContentMD5) > 0 {
		headers["Content-MD5"] = encodeMD5(o.ContentMD5)
		if o.MD5Metadata {
			headers["x-ms-meta-"+metadataMD5] = encodeMD5(o.ContentMD5)
		}
	}
	return headers
}
