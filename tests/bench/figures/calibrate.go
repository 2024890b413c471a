package figures

import (
	"crypto/sha256"
	"slices"
	"time"
)

const (
	// calibrationBytes is the unit of work: this much is hashed.
	calibrationBytes = 64 << 20
	// calibrations is how often it is done; the fastest counts, since other programs can only slow it down.
	calibrations = 5
)

// calibrate returns how long a fixed unit of work takes one core: SHA-256 of 64 MiB. Figures of two days or machines can be compared
// only as far as this is the same.
func calibrate() time.Duration {
	block := make([]byte, 1<<20)
	var taken []time.Duration
	for range calibrations {
		began := time.Now()
		hash := sha256.New()
		for range calibrationBytes / len(block) {
			hash.Write(block)
		}
		hash.Sum(nil)
		taken = append(taken, time.Since(began))
	}
	return slices.Min(taken)
}
