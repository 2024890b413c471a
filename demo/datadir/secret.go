package datadir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Secret is a random value that is created once and stored in a file of its own: 64 hexadecimal digits.
func (d *Dir) Secret(name string) (string, error) {
	path := filepath.Join(d.Secrets(), name)
	kept, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(kept))) == 64 {
		return strings.TrimSpace(string(kept)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the secret %s: %w", name, err)
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("create the secret %s: %w", name, err)
	}
	value := hex.EncodeToString(raw)
	// Written atomically: a truncated key would be another key at the next start.
	if err := os.WriteFile(path+".new", []byte(value+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("store the secret %s: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("store the secret %s: %w", name, err)
	}
	return value, nil
}
