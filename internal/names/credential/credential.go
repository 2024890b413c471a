// Package credential makes and recognizes the secrets of programs, such as API keys: a prefix, by which scanners of repositories
// find them, 36 random characters, and a checksum. By the checksum a typing error, or a text that only looks like a secret, is
// known without a lookup.
package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

const (
	// alphabet is that of what follows the prefix.
	alphabet       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomLength   = 36
	checksumLength = 6
	hintLength     = 4
)

// New returns a new secret with a prefix.
func New(prefix string) string {
	random := make([]byte, 0, randomLength)
	for len(random) < randomLength {
		var some [64]byte
		_, _ = rand.Read(some[:]) // it never fails
		for _, b := range some {
			if int(b) < 256/len(alphabet)*len(alphabet) && len(random) < randomLength { // evenly distributed
				random = append(random, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return prefix + string(random) + checksum(string(random))
}

// checksum is the CRC-32 of the random part, in the alphabet of secrets.
func checksum(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	var text [checksumLength]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(text[:])
}

// WellFormed reports whether a text is a secret with a prefix, by its form.
func WellFormed(prefix, text string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	return ok && len(rest) == randomLength+checksumLength && checksum(rest[:randomLength]) == rest[randomLength:]
}

// Hash is what a store keeps of a secret. The secret is random, so a plain hash is enough.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Hint is the end of a secret, which people see to tell secrets apart.
func Hint(secret string) string { return secret[len(secret)-hintLength:] }
