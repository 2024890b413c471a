package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// packed packs a small program, this test. The whole program is packed by tests/e2e/test_wheel.py.
func packed(t *testing.T, platform string) (string, options) {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	program, err := os.Executable()
	require.NoError(t, err)
	o := options{
		root: "..", program: program, slim: true, main: []string{"-test", "./release"}, goos: goos, goarch: goarch, version: "v1.2.3",
		made: time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC), out: t.TempDir(),
	}
	require.NoError(t, run(t.Context(), o))
	require.NoError(t, writeSums(o.out))
	return o.out, o
}

func skipWithoutConsole(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("../console/node_modules/react/LICENSE"); err != nil {
		t.Skip("the console's packages are not installed: run `make console` first")
	}
}

func TestTheSameBytesEachTime(t *testing.T) {
	skipWithoutConsole(t)
	first, _ := packed(t, "linux/amd64")
	second, _ := packed(t, "linux/amd64")
	for _, name := range []string{"SHA256SUMS", "flyte-binary-slim-1.2.3-linux-amd64.tar.gz"} {
		one, err := os.ReadFile(filepath.Join(first, name))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(second, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(one, other), name)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = first
	said, err := check.CombinedOutput()
	require.NoError(t, err, string(said))
}

func TestTheListHasEveryModule(t *testing.T) {
	skipWithoutConsole(t)
	dir, o := packed(t, "linux/amd64")
	content, err := os.ReadFile(filepath.Join(dir, "flyte-binary-slim-1.2.3-linux-amd64.cdx.json"))
	require.NoError(t, err)
	var list document
	require.NoError(t, json.Unmarshal(content, &list))
	require.Equal(t, "CycloneDX", list.BOMFormat)
	listed := map[string]string{}
	for _, one := range list.Components {
		require.Regexp(t, `^pkg:(golang|npm)/[^@ ]+@[^@ ]+$`, one.PURL)
		require.NotEmpty(t, one.Licenses, one.PURL)
		require.NotContains(t, listed, one.Ref, "a reference is unique")
		listed[one.Ref] = one.Name
	}
	linked, err := buildinfo.ReadFile(o.program)
	require.NoError(t, err)
	require.NotEmpty(t, linked.Deps)
	for _, module := range linked.Deps {
		require.Contains(t, listed, "pkg:golang/"+module.Path+"@"+module.Version)
	}
	require.Contains(t, listed, "pkg:golang/std@"+strings.TrimPrefix(linked.GoVersion, "go"))
}

func TestTheArchive(t *testing.T) {
	skipWithoutConsole(t)
	dir, _ := packed(t, "linux/arm64")
	file, err := os.Open(filepath.Join(dir, "flyte-binary-slim-1.2.3-linux-arm64.tar.gz"))
	require.NoError(t, err)
	defer file.Close()
	plain, err := gzip.NewReader(file)
	require.NoError(t, err)
	modes := map[string]int64{}
	texts := map[string]string{}
	for entries := tar.NewReader(plain); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		name := strings.TrimPrefix(header.Name, "flyte-binary-slim-1.2.3-linux-arm64/")
		modes[name] = header.Mode
		if strings.HasSuffix(name, ".txt") {
			text, err := io.ReadAll(entries)
			require.NoError(t, err)
			texts[name] = string(text)
		}
	}
	require.Equal(t, map[string]int64{"flyte-binary-slim": 0o755, "LICENSE": 0o644, "README.md": 0o644, "THIRD_PARTY_LICENSES.txt": 0o644}, modes)
	for _, word := range []string{"The Go Authors", "github.com/google/licensecheck v", "react 19", "Permission is hereby granted"} {
		require.True(t, strings.Contains(texts["THIRD_PARTY_LICENSES.txt"], word), word) //nolint:testifylint // the text is too long to print
	}
}

func TestPartsWithoutAllowedLicenseAreRefused(t *testing.T) {
	text := map[string][]byte{"LICENSE": []byte("...")}
	for license, refused := range map[string]string{
		"MIT":                           "",
		"Apache-2.0 AND MIT":            "",
		"EPL-2.0 OR GPL-3.0-or-later":   "",
		"(Apache-2.0 AND BSD-3-Clause)": "",
		"":                              "unknown",
		"GPL-3.0-only":                  "not allowed",
		"MIT AND AGPL-3.0-only":         `"AGPL-3.0-only" is not allowed`,
	} {
		err := component{purl: "pkg:npm/one@1", license: license, texts: text}.check()
		if refused == "" {
			require.NoError(t, err, license)
		} else {
			require.ErrorContains(t, err, refused)
		}
	}
	require.ErrorContains(t, component{purl: "pkg:npm/one@1", license: "MIT"}.check(), "no license file")
}

func TestThePostgresIsTheOneThatIsFetched(t *testing.T) {
	script, err := os.ReadFile("../tools/postgres.sh")
	require.NoError(t, err)
	require.Contains(t, string(script), "version="+postgresVersion+"\n")
}
