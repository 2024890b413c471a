package failure_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

// TestTableIsInTheDocs checks that docs/failures.md has every row.
func TestTableIsInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/failures.md")
	require.NoError(t, err)
	for reason, row := range failure.Table() {
		again := "no"
		if row.Recoverable {
			again = "yes"
		}
		require.Contains(t, string(page), fmt.Sprintf("| `%s` | %s | %s | %s |", reason, row.Class, again, row.Words))
	}
}
