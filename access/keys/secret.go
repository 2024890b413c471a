package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

const (
	// Prefix begins every secret, so that scanners of repositories recognise them.
	Prefix = "fbk_"
	// alphabet is that of the rest of a secret.
	alphabet       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomLength   = 36
	checksumLength = 6
	hintLength     = 4
)

// newSecret makes a secret: the prefix, 36 random characters, and a checksum. By it a typing error, or a text that only looks
// like a secret, is known without asking the server.
func newSecret() string {
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
	return Prefix + string(random) + checksum(string(random))
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

// WellFormed reports whether a text is a secret by its form.
func WellFormed(secret string) bool {
	rest, ok := strings.CutPrefix(secret, Prefix)
	return ok && len(rest) == randomLength+checksumLength && checksum(rest[:randomLength]) == rest[randomLength:]
}

// hashOf is what is kept of a secret.
func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
