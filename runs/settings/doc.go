// Package settings knows what settings mean: which values are sound, and what follows from those of the installation,
// of a domain and of a project together. It is pure; the service stores them, and applies what follows to new runs.
package settings
