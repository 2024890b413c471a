// Package settings validates settings and resolves those of the installation, of a domain and of a project to what
// applies to a run. It serves SettingsService, and resolves settings for new runs.
package settings
