package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

type credentials struct {
	authority []byte
	token     string
}

// writeCredentials writes the credential files of the cluster.
func writeCredentials(dir string) (*credentials, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	server, err := ca.issue("kube-apiserver")
	if err != nil {
		return nil, err
	}
	token, err := randomToken()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		AuthorityFile:  ca.pem,
		ServerCertFile: server.cert,
		ServerKeyFile:  server.key,
		TokenFile:      []byte(token + ",flyte-binary,flyte-binary,system:masters\n"),
	}
	for name, content := range files {
		if err := writePrivate(filepath.Join(dir, name), content); err != nil {
			return nil, err
		}
	}
	if err := ensureAccountKey(filepath.Join(dir, AccountKeyFile)); err != nil {
		return nil, err
	}
	if err := ensureEncryption(filepath.Join(dir, EncryptionFile)); err != nil {
		return nil, err
	}
	return &credentials{authority: ca.pem, token: token}, nil
}

// ensureAccountKey creates the key that signs service account tokens, once: tokens outlive a restart.
func ensureAccountKey(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return err
	}
	return writePrivate(path, encoded)
}

// ensureEncryption creates the key with which etcd's files have Secrets, once. Those of older clusters, which are not
// encrypted, can still be read.
func ensureEncryption(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	return writePrivate(path, fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: demo, secret: %s}]}
  - identity: {}
`, base64.StdEncoding.EncodeToString(key)))
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func randomToken() (string, error) {
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	return hex.EncodeToString(raw), nil
}

// writePrivate replaces a file atomically. It is never readable by others.
func writePrivate(path string, content []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Chmod(temporary, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return os.Rename(temporary, path)
}
