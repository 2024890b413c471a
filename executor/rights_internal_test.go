package executor

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// merged are the rights of a plugin, with one entry for each resource.
func merged(rights []plugin.Right) []plugin.Right {
	byResource := map[[2]string][]string{}
	for _, right := range rights {
		key := [2]string{right.Group, right.Resource}
		byResource[key] = append(byResource[key], right.Verbs...)
	}
	order := []string{"get", "list", "watch", "create", "patch", "delete"}
	var result []plugin.Right
	for key, verbs := range byResource {
		slices.SortFunc(verbs, func(a, b string) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
		result = append(result, plugin.Right{Group: key[0], Resource: key[1], Verbs: slices.Compact(verbs)})
	}
	slices.SortFunc(result, func(a, b plugin.Right) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	return result
}

// TestRightsAreInTheDocs compares the table of docs/plugins.md. To update it, paste what the test prints.
func TestRightsAreInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/plugins.md")
	require.NoError(t, err)
	var table strings.Builder
	table.WriteString("| plugin | API group | resource | verbs |\n|---|---|---|---|\n")
	for _, definition := range available(Config{}) {
		for _, right := range merged(definition.Rights) {
			fmt.Fprintf(&table, "| `%s` | %s | %s | `%s` |\n", definition.Name, cmp.Or(right.Group, "core"), right.Resource, strings.Join(right.Verbs, "`, `"))
		}
	}
	require.Contains(t, string(page), table.String(), "the table must be:\n%s", table.String())
}

// TestTheChartGrantsTheRightsOfPlugins: charts/rbac_test.go shows that every right which the chart grants is used.
func TestTheChartGrantsTheRightsOfPlugins(t *testing.T) {
	rules, err := os.ReadFile("../charts/flyte-binary/templates/_rbac.tpl")
	require.NoError(t, err)
	_, tasks, found := strings.Cut(string(rules), `define "flyte-binary.taskRules"`)
	require.True(t, found)
	granted := map[[2]string][]string{}
	rule := regexp.MustCompile(`- \{apiGroups: \["?([^"\]]*)"?\], resources: \[([^\]]*)\], verbs: \[([^\]]*)\]\}`)
	for _, found := range rule.FindAllStringSubmatch(tasks, -1) {
		granted[[2]string{found[1], found[2]}] = strings.Split(found[3], ", ")
	}
	for _, definition := range available(Config{}) {
		for _, right := range merged(definition.Rights) {
			require.Subset(t, granted[[2]string{right.Group, right.Resource}], right.Verbs, "plugin %s: %s", definition.Name, right.Resource)
		}
	}
}
