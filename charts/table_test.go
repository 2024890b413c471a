package charts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const tableHead = `# Values of the chart

<!-- Written by go test ./charts -update from the chart's schema and values. Do not edit. -->

[install-on-kubernetes.md](install-on-kubernetes.md) shows which of these an installation sets. Helm refuses keys and types that are
not listed. Everything else of the server's configuration goes to ` + "`config`" + `.

| key | type | default | meaning |
|---|---|---|---|
`

// TestTheTableOfValues: docs/chart-values.md is what the schema and values.yaml say.
func TestTheTableOfValues(t *testing.T) {
	var schema, values map[string]any
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &schema))
	text, err = os.ReadFile(filepath.Join(chart, "values.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &values))
	var table strings.Builder
	table.WriteString(tableHead)
	require.NoError(t, rows(&table, "", schema, values))
	const path = "../docs/chart-values.md"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(table.String()), 0o600))
	}
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, table.String(), string(written), "go test ./charts -update")
}

// rows writes a row for each key, and those below it.
func rows(table *strings.Builder, path string, schema, values map[string]any) error {
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if path == "" && key == "global" {
			continue
		}
		property, _ := properties[key].(map[string]any)
		value, section := values[key].(map[string]any)
		_, closed := property["properties"]
		shown := ""
		if !section || !closed {
			encoded, err := json.Marshal(values[key])
			if err != nil {
				return err
			}
			shown = "`" + string(encoded) + "`"
		}
		kind := fmt.Sprint(property["type"])
		if kinds, ok := property["type"].([]any); ok {
			kind = strings.Trim(strings.ReplaceAll(fmt.Sprint(kinds), " ", " or "), "[]")
		}
		if allowed, ok := property["enum"].([]any); ok {
			kind += ": " + strings.Trim(strings.ReplaceAll(fmt.Sprint(allowed), " ", ", "), "[]")
		}
		fmt.Fprintf(table, "| `%s%s` | %s | %s | %s |\n", path, key, kind, shown, strings.ReplaceAll(fmt.Sprint(property["description"]), "|", `\|`))
		if err := rows(table, path+key+".", property, value); err != nil {
			return err
		}
	}
	return nil
}
