package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheChartHasTheVersionOfTheRelease(t *testing.T) {
	pack := func() string {
		o := options{version: "v1.2.0-rc.1", made: time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC), out: filepath.Join(t.TempDir(), "dist")}
		require.NoError(t, packChart(o, "../charts/flyte-binary"))
		return filepath.Join(o.out, "flyte-binary-1.2.0-rc.1.tgz")
	}
	path := pack()
	one, err := os.ReadFile(path)
	require.NoError(t, err)
	other, err := os.ReadFile(pack())
	require.NoError(t, err)
	require.Equal(t, one, other, "the same bytes each time")
	require.ErrorContains(t, packChart(options{out: t.TempDir()}, "image"), chartFile)

	helm, err := filepath.Abs("../.bin/helm")
	require.NoError(t, err)
	if _, err := os.Stat(helm); err != nil {
		t.Skip("helm is not built: run `make helm`")
	}
	said, err := exec.CommandContext(t.Context(), helm, "show", "chart", path).CombinedOutput()
	require.NoError(t, err, string(said))
	require.Contains(t, string(said), "version: 1.2.0-rc.1\n")
	require.Contains(t, string(said), "appVersion: 1.2.0-rc.1\n")
	said, err = exec.CommandContext(t.Context(), helm, "template", "trial", path, "--set", "trial=true").CombinedOutput()
	require.NoError(t, err, string(said))
	require.Contains(t, string(said), "flyte-binary:1.2.0-rc.1", "the image of the release")
}
