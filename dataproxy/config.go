package dataproxy

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the service.
type Config struct {
	// MaxUploadBytes bounds one upload by a signed URL.
	MaxUploadBytes int64 `config:"maxUploadBytes"`
	// ProjectUploadBytesPerDay bounds the bytes that a project uploads in a day, as code, files and inputs. What counts is what the
	// object store has: each request looks for the uploads that were requested before it. Each process of the API counts by
	// itself. Defaults to 0, no limit.
	ProjectUploadBytesPerDay int64 `config:"projectUploadBytesPerDay"`
	// CallerUploadBytesPerDay bounds the bytes that a person or an API key uploads in a day, in all projects together, and counts as
	// projectUploadBytesPerDay does. What tasks upload counts for their project alone. Defaults to 0, no limit.
	CallerUploadBytesPerDay int64 `config:"callerUploadBytesPerDay"`
	// MaxUploadExpiry is the longest, and the default, validity of a signed upload URL.
	MaxUploadExpiry time.Duration `config:"maxUploadExpiry"`
	// MaxDownloadExpiry is the longest, and the default, validity of a signed download URL.
	MaxDownloadExpiry time.Duration `config:"maxDownloadExpiry"`
	// MaxInlineBytes bounds the inputs that a client sends, and the inputs and the outputs that it gets, in a message.
	MaxInlineBytes int64 `config:"maxInlineBytes"`
	// Logs configures TailLogs.
	Logs LogsConfig `config:"logs"`
	// Code bounds the reading of code bundles for display.
	Code CodeConfig `config:"code"`
}

// CodeConfig bounds the reading of code bundles for display.
type CodeConfig struct {
	// MaxBundleBytes is the size of the largest bundle that is opened. Defaults to 128 MiB.
	MaxBundleBytes int64 `config:"maxBundleBytes"`
	// MaxUnpackedBytes is how much of a bundle is read, when unpacked. Defaults to 256 MiB.
	MaxUnpackedBytes int64 `config:"maxUnpackedBytes"`
	// MaxFiles is how many files of a bundle are listed. Defaults to 5000.
	MaxFiles int `config:"maxFiles"`
	// MaxReads is how many bundles are read at the same time; others wait. Defaults to 4.
	MaxReads int `config:"maxReads"`
}

// LogsConfig configures TailLogs.
type LogsConfig struct {
	// BatchLines is how many lines one message carries at most.
	BatchLines int `config:"batchLines"`
	// Heartbeat is how often a stream without new lines sends an empty message: clients and proxies close silent streams.
	Heartbeat time.Duration `config:"heartbeat"`
	// SealWait is how long the stored log is waited for when the pod vanishes while its log is followed.
	SealWait time.Duration `config:"sealWait"`
	// SealPoll is how often it is looked for meanwhile.
	SealPoll time.Duration `config:"sealPoll"`
}

// DefaultConfig suits the released SDK.
func DefaultConfig() Config {
	return Config{
		MaxUploadBytes:    5 << 30,
		MaxUploadExpiry:   time.Hour,
		MaxDownloadExpiry: time.Hour,
		MaxInlineBytes:    64 << 20,
		Logs: LogsConfig{
			BatchLines: 200,
			Heartbeat:  10 * time.Second,
			SealWait:   20 * time.Second,
			SealPoll:   500 * time.Millisecond,
		},
		Code: CodeConfig{MaxBundleBytes: 128 << 20, MaxUnpackedBytes: 256 << 20, MaxFiles: 5000, MaxReads: 4},
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.MaxUploadBytes <= 0, "maxUploadBytes: must be positive, got %d", c.MaxUploadBytes)
	found.If(c.ProjectUploadBytesPerDay < 0, "projectUploadBytesPerDay: must not be negative, got %d", c.ProjectUploadBytesPerDay)
	found.If(c.CallerUploadBytesPerDay < 0, "callerUploadBytesPerDay: must not be negative, got %d", c.CallerUploadBytesPerDay)
	found.If(c.MaxUploadExpiry <= 0, "maxUploadExpiry: must be positive, got %s", c.MaxUploadExpiry)
	found.If(c.MaxDownloadExpiry <= 0, "maxDownloadExpiry: must be positive, got %s", c.MaxDownloadExpiry)
	found.If(c.MaxInlineBytes <= 0, "maxInlineBytes: must be positive, got %d", c.MaxInlineBytes)
	found.If(c.Logs.BatchLines <= 0, "logs.batchLines: must be positive, got %d", c.Logs.BatchLines)
	found.If(c.Logs.Heartbeat <= 0, "logs.heartbeat: must be positive, got %s", c.Logs.Heartbeat)
	found.If(c.Logs.SealWait < 0, "logs.sealWait: must not be negative, got %s", c.Logs.SealWait)
	found.If(c.Logs.SealPoll <= 0, "logs.sealPoll: must be positive, got %s", c.Logs.SealPoll)
	found.If(c.Code.MaxBundleBytes <= 0, "code.maxBundleBytes: must be positive, got %d", c.Code.MaxBundleBytes)
	found.If(c.Code.MaxUnpackedBytes <= 0, "code.maxUnpackedBytes: must be positive, got %d", c.Code.MaxUnpackedBytes)
	found.If(c.Code.MaxFiles <= 0, "code.maxFiles: must be positive, got %d", c.Code.MaxFiles)
	found.If(c.Code.MaxReads <= 0, "code.maxReads: must be positive, got %d", c.Code.MaxReads)
	return found.Err()
}
