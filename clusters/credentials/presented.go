package credentials

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/names/credential"
)

// Presented is the credential that a controller presents. One in a file is read again when the file changes. It is safe for concurrent
// use.
type Presented struct {
	file string

	mu       sync.Mutex
	known    string    // GUARDED_BY(mu)
	modified time.Time // GUARDED_BY(mu): when the file was changed from which known is
}

// NewPresented returns a credential that is given, or one in a file.
func NewPresented(secret, file string) *Presented { return &Presented{file: file, known: secret} }

// Secret is the credential as it is now. While its file cannot be read, it is the last one that was.
func (c *Presented) Secret() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == "" {
		return c.known, nil
	}
	read, modified, err := readFile(c.file, c.modified)
	switch {
	case err == nil && read != "":
		c.known, c.modified = read, modified
	case err != nil && c.known == "":
		return "", fmt.Errorf("read the credential of the controller: %w", err)
	}
	return c.known, nil
}

// readFile reads a file; empty if it is as it was at a time.
func readFile(file string, before time.Time) (secret string, modified time.Time, err error) {
	is, err := os.Stat(file)
	if err != nil || is.ModTime().Equal(before) {
		return "", before, err //nolint:wrapcheck // it names the file
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return "", before, err //nolint:wrapcheck // as above
	}
	secret = strings.TrimSpace(string(body))
	if !credential.WellFormed(Prefix, secret) {
		return "", before, fmt.Errorf("%s: want a credential as flyte-binary clusters add prints it; it is incomplete or mistyped", file)
	}
	return secret, is.ModTime(), nil
}
