package manager

import "github.com/flyte-binary/flyte-binary/manager/configuration"

// fillCopilot derives the co-pilot's settings for the object store, unless they are configured. Secrets are not passed to
// pods.
func fillCopilot(c *configuration.Config) {
	to := &c.Executor.Pod.Copilot.Storage
	if to.URL != "" {
		return
	}
	to.URL, to.ExtraPrefixes, to.Sync = c.Storage.URL, c.Storage.ExtraPrefixes, c.Storage.Sync
	if to.S3.Endpoint == "" {
		to.S3.Endpoint = c.Storage.S3.Endpoint
	}
	if to.S3.Region == "" {
		to.S3.Region = c.Storage.S3.Region
	}
	to.S3.PathStyle = c.Storage.S3.PathStyle
}
