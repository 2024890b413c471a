package archtest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A new package gets a row on the map: what it is responsible for, so that readers find the place for a new line of code.
func TestTheMapNamesEveryPackage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/architecture.md")
	require.NoError(t, err)
	rows := map[string]bool{} // what the first columns of tables name
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for i, text := range strings.Split(cells[1], "`") {
				if i%2 == 1 {
					rows[text] = true
				}
			}
		}
	}
	seen := 0
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.dir, "tools/") {
			continue
		}
		seen++
		require.True(t, rows[s.dir], "docs/architecture.md has no row for %s", s.dir)
	}
	require.Greater(t, seen, 1000, "the walk must see the packages")
}
