// Package proptest runs property tests over values that rapid generates. The values are the same in every run, so that a
// failure comes from the change under test.
package proptest

import (
	"flag"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Explore names the environment variable that requests other values in each run: FLYTE_EXPLORE=1 go test ./runs/admission -rapid.checks=5000.
const Explore = "FLYTE_EXPLORE"

var once sync.Once

// Check is rapid.Check with a fixed seed, unless -rapid.seed gives one or Explore is set.
func Check(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	once.Do(func() {
		seed := flag.Lookup("rapid.seed")
		if seed.Value.String() != "0" || os.Getenv(Explore) != "" {
			return
		}
		if err := seed.Value.Set("1"); err != nil {
			panic(err)
		}
	})
	rapid.Check(t, prop)
}
