package manager

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/clusters/credentials"
	"github.com/flyte-binary/flyte-binary/internal/names/credential"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// controllerCredential is the credential of a controller at the API. One in a file is read again when the file changes. It is safe for
// concurrent use.
type controllerCredential struct {
	file string

	mu       sync.Mutex
	known    string    // GUARDED_BY(mu)
	modified time.Time // GUARDED_BY(mu): when the file was changed from which known is
}

// newControllerCredential returns the credential of a configuration; nil if it has none.
func newControllerCredential(config configuration.ControlPlaneConfig) *controllerCredential {
	if !config.HasCredential() {
		return nil
	}
	return &controllerCredential{file: config.CredentialFile, known: config.Credential}
}

// secret is the credential as it is now. While its file cannot be read, it is the last one that was.
func (c *controllerCredential) secret() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == "" {
		return c.known, nil
	}
	read, modified, err := readCredential(c.file, c.modified)
	switch {
	case err == nil && read != "":
		c.known, c.modified = read, modified
	case err != nil && c.known == "":
		return "", fmt.Errorf("controlPlane.credentialFile: %w", err)
	}
	return c.known, nil
}

// readCredential reads a file; empty if it is as it was at a time.
func readCredential(file string, before time.Time) (secret string, modified time.Time, err error) {
	is, err := os.Stat(file)
	if err != nil || is.ModTime().Equal(before) {
		return "", before, err //nolint:wrapcheck // it names the file
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return "", before, err //nolint:wrapcheck // as above
	}
	secret = strings.TrimSpace(string(body))
	if !credential.WellFormed(credentials.Prefix, secret) {
		return "", before, fmt.Errorf("%s: want a credential as flyte-binary clusters add prints it; it is incomplete or mistyped", file)
	}
	return secret, is.ModTime(), nil
}
