package policy_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/policy"
)

var update = flag.Bool("update", false, "write the table of roles in docs/access.md")

// TestThePageListsTheRoles compares the table of roles in docs/access.md with the built-in ones.
func TestThePageListsTheRoles(t *testing.T) {
	var table strings.Builder
	table.WriteString("| role | what it is for | permissions |\n|---|---|---|\n")
	var before []string
	for _, role := range policy.BuiltIn() {
		var added []string
		for _, permission := range policy.Expand(role) {
			if !slices.Contains(before, permission) {
				added = append(added, "`"+permission+"`")
				before = append(before, permission)
			}
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", role.Name, role.Description, strings.Join(added, ", "))
	}
	const path, begin, end = "../../docs/access.md", "<!-- roles -->\n", "<!-- end -->"
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(body), begin)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	wanted := head + begin + table.String() + end + tail
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(wanted), 0o644))
		return
	}
	require.Equal(t, wanted, string(body), "run `go test ./access/policy -run TestThePageListsTheRoles -update`")
}
