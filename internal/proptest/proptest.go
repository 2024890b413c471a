// Package proptest runs tests of properties over values that rapid makes up. They are the same values in every run, so that a
// run tells of the change it is for and of nothing else.
package proptest

import (
	"flag"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Explore names the variable that asks for other values in each run: FLYTE_EXPLORE=1 go test ./runs/admission -rapid.checks=5000.
const Explore = "FLYTE_EXPLORE"

var once sync.Once

// Check is rapid.Check with a fixed seed, unless -rapid.seed gives one or the environment wants to explore.
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
