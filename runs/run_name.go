package runs

import (
	"crypto/rand"

	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

const (
	// nameAlphabet has no vowels and nothing that looks alike, so that no words and no mix-ups arise.
	nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	nameLength   = 19 // about 90 bits
)

// newRunName makes a name that no other run has: an "r" and random characters.
func newRunName() (string, error) {
	name := append(make([]byte, 0, nameLength+1), 'r')
	var random [2 * nameLength]byte
	for len(name) <= nameLength {
		if _, err := rand.Read(random[:]); err != nil {
			return "", rpc.Internal(err, "no random name could be made")
		}
		for _, b := range random {
			// Bytes beyond the last multiple would make some characters likelier.
			if int(b) < 256-256%len(nameAlphabet) && len(name) <= nameLength {
				name = append(name, nameAlphabet[int(b)%len(nameAlphabet)])
			}
		}
	}
	return string(name), nil
}
