package pgtest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// VerifyMain is goleak.VerifyTestMain for packages that use New: a TestMain of one line.
func VerifyMain(m *testing.M, options ...goleak.Option) {
	code := Main(m)
	if code == 0 {
		if err := goleak.Find(options...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
