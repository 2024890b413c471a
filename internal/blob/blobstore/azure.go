//go:build !nocloudazure

package blobstore

import (
	"context"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"gocloud.dev/blob/azureblob"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// openAzure takes credentials from the environment, as Azure's own tools do. Build with the tag nocloudazure to leave
// it out.
func openAzure(ctx context.Context, r root, clk clock.Clock) (backend, error) {
	account, _, _ := strings.Cut(r.host, ".")
	// The library's own opener reads the environment once in the life of a process.
	opener := azureblob.URLOpener{MakeClient: azureblob.NewDefaultClient, ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions()}
	b, err := opener.OpenBucketURL(ctx, &url.URL{
		Scheme: azureblob.Scheme, Host: r.bucket, RawQuery: url.Values{"storage_account": {account}}.Encode(),
	})
	if err != nil {
		return nil, err
	}
	return &bucket{
		bucket: b, signing: b, prefix: r.prefix, clock: clk, demand: demandAzure, present: presentAzure, leadsTo: originAzure(account), unbound: true,
	}, nil
}

// presentAzure does nothing: the signatures that gocloud makes do not cover how an object is answered.
func presentAzure(GetOptions, string, func(any) bool) {}

// originAzure follows AZURE_STORAGE_DOMAIN and similar variables, as opening a container does.
func originAzure(account string) string {
	options := azureblob.NewDefaultServiceURLOptions()
	options.AccountName = account
	service, err := azureblob.NewServiceURL(options)
	if err != nil {
		return ""
	}
	return originOf(string(service))
}

// demandAzure names the header without which Azure refuses a PUT. Its signatures cannot bind a digest; clients send
// Content-MD5 by themselves and Azure checks it. They can bind that an object is created and none replaced.
func demandAzure(o PutOptions, as func(any) bool) map[string]string {
	headers := map[string]string{"x-ms-blob-type": "BlockBlob"}
	var permissions *sas.BlobPermissions
	if o.CreateOnly && as(&permissions) {
		permissions.Write = false
	}
	if len(o.ContentMD5) > 0 {
		headers["Content-MD5"] = encodeMD5(o.ContentMD5)
		if o.MD5Metadata {
			headers["x-ms-meta-"+metadataMD5] = encodeMD5(o.ContentMD5)
		}
	}
	return headers
}
