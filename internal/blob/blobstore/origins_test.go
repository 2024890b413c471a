package blobstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// Pages must allow the origins of signed URLs before the first URL is signed.
func TestOrigins(t *testing.T) {
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	directory := t.TempDir()
	for name, c := range map[string]struct {
		change func(*blobstore.Config)
		want   []string
	}{
		"a directory":   {func(c *blobstore.Config) { c.URL, c.PublicURL = directory, "https://flyte.example.com/base" }, []string{"https://flyte.example.com"}},
		"an S3 service": {func(c *blobstore.Config) { c.URL, c.S3.Endpoint = "s3://bucket/x", "http://minio:9000" }, []string{"http://minio:9000"}},
		"one that clients reach elsewhere": {func(c *blobstore.Config) {
			c.URL, c.S3.Endpoint, c.S3.PublicEndpoint = "s3://bucket/x", "http://minio:9000", "https://files.example.com"
		}, []string{"https://files.example.com"}},
		"a host for each bucket": {func(c *blobstore.Config) {
			c.URL, c.S3.Endpoint, c.S3.PathStyle = "s3://bucket/x", "https://files.example.com", false
			c.ExtraPrefixes = []string{"s3://other", "s3://bucket/y"}
		}, []string{"https://bucket.files.example.com", "https://other.files.example.com"}},
		"S3":    {func(c *blobstore.Config) { c.URL, c.S3.Region = "s3://bucket", "eu-west-1" }, []string{"https://s3.eu-west-1.amazonaws.com"}},
		"Azure": {func(c *blobstore.Config) { c.URL = "abfs://container@account.dfs.core.windows.net" }, []string{"https://account.blob.core.windows.net"}},
	} {
		config := blobstore.DefaultConfig()
		config.S3.AccessKeyID, config.S3.SecretAccessKey = "id", "secret"
		c.change(&config)
		store, err := blobstore.Open(t.Context(), config)
		require.NoError(t, err, name)
		require.Equal(t, c.want, store.Origins(), name)
		require.NoError(t, store.Close())
	}
}
