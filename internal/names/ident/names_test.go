package ident_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

func TestNamesOfRunsAndActions(t *testing.T) {
	for _, name := range []string{"a0", "A", "0", "3f9xk2-b_1", strings.Repeat("a", 30)} {
		require.True(t, ident.IsName(name), name)
	}
	for _, name := range []string{
		"", "../x", "..", ".", "a/b", `a\b`, "a b", " a", "a\n", "a\x00", "-a", "_a", "a.b", "é", "a\u202eb", "{{.actionName}}", strings.Repeat("a", 31),
	} {
		require.False(t, ident.IsName(name), "%q", name)
	}
}

func TestNamesOfPlaces(t *testing.T) {
	for _, name := range []string{"flytesnacks", "development", "Team_1.eu", strings.Repeat("a", 63)} {
		require.True(t, ident.IsPlace(name), name)
	}
	for _, name := range []string{"", "..", ".a", "a/b", "a b", "ä", "a\u200bb", strings.Repeat("a", 64)} {
		require.False(t, ident.IsPlace(name), "%q", name)
	}
}

func TestNamesOfArtifacts(t *testing.T) {
	for _, name := range []string{"model", "-a", "_a", ".", "Team-1_x.y", strings.Repeat("a", 255)} {
		require.True(t, ident.IsArtifact(name), name)
	}
	for _, name := range []string{"", "a/b", "a b", "a\n", "a\x00", "é", "a:b", strings.Repeat("a", 256)} {
		require.False(t, ident.IsArtifact(name), "%q", name)
	}
}

func TestNamesOfSecrets(t *testing.T) {
	for _, name := range []string{"token", "-A_1", strings.Repeat("a", 253)} {
		require.True(t, ident.IsSecretName(name), name)
	}
	for _, name := range []string{"", "a.b", "a/b", "é", "a\n", strings.Repeat("a", 254)} {
		require.False(t, ident.IsSecretName(name), "%q", name)
	}
}

func TestClusters(t *testing.T) {
	for text, valid := range map[string]bool{
		"default": true, "a": true, "east-1": true, strings.Repeat("a", 32): true,
		"": false, "East": false, "-a": false, "a-": false, "a.b": false, "a_b": false, strings.Repeat("a", 33): false, "a\n": false,
	} {
		require.Equal(t, valid, ident.IsCluster(text), "%q", text)
	}
}
