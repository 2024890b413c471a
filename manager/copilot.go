package manager

// fillCopilot tells pods of raw containers where the object store is, as far as the configuration leaves it to us. Secrets
// stay here.
func (c *Config) fillCopilot() {
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
