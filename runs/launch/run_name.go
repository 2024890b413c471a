package launch

import (
	"crypto/rand"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// nameAlphabet has no vowels and nothing that looks alike, so that no words and no mix-ups arise.
	nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	nameLength   = 19 // about 90 bits
)

// newRunName generates a unique name of a run: an "r" and random characters.
func newRunName() (string, error) {
	name := append(make([]byte, 0, nameLength+1), 'r')
	var random [2 * nameLength]byte
	for len(name) <= nameLength {
		if _, err := rand.Read(random[:]); err != nil {
			return "", rpc.Internal(err, "generating a random run name failed")
		}
		for _, b := range random {
			// Larger bytes would make some characters more likely than others.
			if int(b) < 256-256%len(nameAlphabet) && len(name) <= nameLength {
				name = append(name, nameAlphabet[int(b)%len(nameAlphabet)])
			}
		}
	}
	return string(name), nil
}
