package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPythonVersion(t *testing.T) {
	for described, want := range map[string]string{
		"v1.2.3":                     "1.2.3",
		"1.2":                        "1.2",
		"v1.2.0-rc.1":                "1.2.0rc1",
		"v1.2.0-beta2":               "1.2.0b2",
		"v1.2.3-14-g0123abcdef":      "1.2.3.post14+g0123abcdef",
		"v1.2.3-dirty":               "1.2.3+dirty",
		"v1.2.0-rc.1-2-gab12-dirty":  "1.2.0rc1.post2+gab12.dirty",
		"0123abcdef":                 "0.0.0.dev0+g0123abcdef",
		"3302795":                    "0.0.0.dev0+g3302795",
		"unknown":                    "0.0.0.dev0",
		"nightly-3-gab12cd34ef-more": "0.0.0.dev0",
	} {
		require.Equal(t, want, pythonVersion(described), described)
	}
}

func TestChartVersion(t *testing.T) {
	for described, want := range map[string]string{
		"v1.2.3":                     "1.2.3",
		"1.2":                        "1.2.0",
		"v1.2.0-rc.1":                "1.2.0-rc.1",
		"v1.2.0-beta2":               "1.2.0-beta.2",
		"v1.2.3-14-g0123abcdef":      "1.2.3+post.14.g0123abcdef",
		"v1.2.3-dirty":               "1.2.3+dirty",
		"v1.2.0-rc.1-2-gab12-dirty":  "1.2.0-rc.1+post.2.gab12.dirty",
		"0123abcdef":                 "0.0.0-dev.0+g0123abcdef",
		"nightly-3-gab12cd34ef-more": "0.0.0-dev",
	} {
		require.Equal(t, want, chartVersion(described), described)
	}
}
