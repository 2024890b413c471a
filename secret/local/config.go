package local

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config is the section secrets.local.
type Config struct {
	// Directory has the files of the secrets. It is created with mode 0700. Required for this backend.
	Directory string `config:"directory"`
	// KeyFile has the keys, and is created with mode 0600. The server does not start when others may read it. Keep it on
	// another volume than the directory, and out of its backups. Required for this backend.
	KeyFile string `config:"keyFile"`
	// RotateKeyAfter is how old a key may get: then a new one is made, every secret is encrypted again, and the old key is
	// deleted. 0 keeps a key forever. Defaults to 720h, thirty days.
	RotateKeyAfter time.Duration `config:"rotateKeyAfter"`
}

// DefaultConfig names no directory.
func DefaultConfig() Config { return Config{RotateKeyAfter: 720 * time.Hour} }

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Directory == "", "directory: required for the backend local")
	found.If(c.KeyFile == "", "keyFile: required for the backend local")
	found.If(c.RotateKeyAfter < 0, "rotateKeyAfter: must not be negative, got %s", c.RotateKeyAfter)
	return found.Err()
}
