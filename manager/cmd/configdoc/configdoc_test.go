package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func TestEveryKeyIsExplained(t *testing.T) {
	text, err := render(configuration.DefaultConfig(), "../../..")
	require.NoError(t, err)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			require.NotRegexp(t, `\|\s*\|$`, strings.TrimSpace(line), "a field without a comment")
		}
	}
}

func TestNoTextServesTwoKeysOfASection(t *testing.T) {
	text, err := render(configuration.DefaultConfig(), "../../..")
	require.NoError(t, err)
	for section := range strings.SplitSeq(text, "\n## ") {
		seen := map[string]string{}
		for line := range strings.Lines(section) {
			cells := strings.Split(line, " | ")
			if !strings.HasPrefix(line, "| `") || len(cells) < 4 {
				continue
			}
			require.Empty(t, seen[cells[3]], "%s has the same text", cells[0])
			seen[cells[3]] = cells[0]
		}
	}
}
