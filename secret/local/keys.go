package local

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// keySize is that of AES-256.
const keySize = 32

// key is one key of the key file.
type key struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Bytes   []byte    `json:"key"`
}

// keyring is the key file. The first key encrypts; the others only decrypt, until a rotation is complete.
type keyring struct {
	Keys []key `json:"keys"`
}

func newKey(now time.Time) (key, error) {
	bytes := make([]byte, keySize)
	if _, err := rand.Read(bytes); err != nil {
		return key{}, fmt.Errorf("create a key: %w", err)
	}
	// 60 random bits, which identify a key within one file
	return key{ID: rand.Text()[:12], Created: now, Bytes: bytes}, nil
}

// readKeys reads the key file, or creates it with one key.
func readKeys(path string, now time.Time) (keyring, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		first, err := newKey(now)
		if err != nil {
			return keyring{}, err
		}
		made := keyring{Keys: []key{first}}
		return made, made.write(path)
	}
	if err != nil {
		return keyring{}, fmt.Errorf("read the key file: %w", err)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return keyring{}, fmt.Errorf("the key file %s has mode %04o: others than its owner must have no rights on it (chmod 600)", path, info.Mode().Perm())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return keyring{}, fmt.Errorf("read the key file: %w", err)
	}
	ring := keyring{}
	// The error of the decoder may quote the file.
	if json.Unmarshal(content, &ring) != nil || len(ring.Keys) == 0 {
		return keyring{}, fmt.Errorf("the key file %s is damaged; restore it from a backup", path)
	}
	for _, one := range ring.Keys {
		if len(one.Bytes) != keySize || one.ID == "" {
			return keyring{}, fmt.Errorf("the key file %s has a key that is damaged; restore it from a backup", path)
		}
	}
	return ring, nil
}

func (r keyring) write(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(path, content); err != nil {
		return fmt.Errorf("write the key file: %w", err)
	}
	return nil
}

// find returns the cipher of a key.
func (r keyring) find(id string) (cipher.AEAD, error) {
	for _, one := range r.Keys {
		if one.ID != id {
			continue
		}
		block, err := aes.NewCipher(one.Bytes)
		if err != nil {
			return nil, err
		}
		return cipher.NewGCMWithRandomNonce(block)
	}
	return nil, fmt.Errorf("the key file has no key %s", id)
}
