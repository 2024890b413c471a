package devices_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/devices"
)

// recorded answers with what the tools print. A tool without files is not installed.
func recorded(t *testing.T, files map[string]string) devices.Run {
	t.Helper()
	return func(_ context.Context, name string, args ...string) (string, error) {
		for word, file := range files {
			if strings.Contains(name+" "+strings.Join(args, " "), word) {
				raw, err := os.ReadFile(filepath.Join("testdata", file))
				require.NoError(t, err)
				return string(raw), nil
			}
		}
		return "", exec.ErrNotFound
	}
}

func everything(t *testing.T) devices.Run {
	t.Helper()
	return recorded(t, map[string]string{"mig.mode.current": "gpus.csv", "nvidia-smi -L": "mig.txt", "utilization.gpu": "use.csv", "rocm-smi": "rocm.json"})
}

func find(t *testing.T, run devices.Run) []devices.Device {
	t.Helper()
	found, err := devices.Find(t.Context(), run)
	require.NoError(t, err)
	return found
}

func TestWhatTheToolsPrint(t *testing.T) {
	require.Equal(t, []devices.Device{
		{ID: "GPU-5f9c89f1-7d2a-4b57-9c07-0e5a3a6f4f21", Maker: devices.NVIDIA, Index: 0, Model: "NVIDIA H200", Bytes: 143771 << 20},
		{ID: "MIG-c7384736-a75d-5afc-978f-d2f1294409fd", Maker: devices.NVIDIA, Index: 1, Model: "NVIDIA A100-SXM4-40GB", Partition: "3g.20gb", Bytes: 20 << 30},
		{ID: "MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d", Maker: devices.NVIDIA, Index: 1, Model: "NVIDIA A100-SXM4-40GB", Partition: "1g.5gb", Bytes: 5 << 30},
		{ID: "MIG-7a2c1f7e-1f4b-5f0b-8d5e-3c2f0f0d6a11", Maker: devices.NVIDIA, Index: 1, Model: "NVIDIA A100-SXM4-40GB", Partition: "1g.5gb", Bytes: 5 << 30},
		{ID: "GPU-9be3a1c4-2d5f-11ef-9a1e-0242ac120002", Maker: devices.NVIDIA, Index: 2, Model: "NVIDIA GB10"},
		{ID: "GPU-5a0c9b1e7f2d3c4b", Maker: devices.AMD, Index: 0, Model: "AMD Instinct MI300X OAM", Bytes: 206141652992},
		{ID: "GPU-000c9b1e7f2d3c4b", Maker: devices.AMD, Index: 1, Model: "AMD Instinct MI300X OAM", Bytes: 206141652992},
		{ID: "2", Maker: devices.AMD, Index: 2, Model: "Radeon RX 7600 XT", Bytes: 17163091968},
	}, find(t, everything(t)))
}

func TestHowBusyDevicesAre(t *testing.T) {
	use := devices.Measure(t.Context(), everything(t), devices.Makers()...)
	require.Equal(t, devices.Use{Percent: 87, Bytes: 12 << 30}, use["GPU-5f9c89f1-7d2a-4b57-9c07-0e5a3a6f4f21"])
	require.Equal(t, devices.Use{Percent: -1, Bytes: 14 << 20}, use["GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"])
	require.Equal(t, devices.Use{Percent: 41, Bytes: 301989888}, use["GPU-5a0c9b1e7f2d3c4b"])
	d := find(t, everything(t))[0]
	require.Equal(t, "87 % busy, 12.0 of 140.4 GiB in use", d.Busy(use[d.ID], true))
	require.Equal(t, "140.4 GiB", d.Busy(devices.Use{}, false))
}

func TestAMachineWithoutTools(t *testing.T) {
	require.Empty(t, find(t, recorded(t, nil)))
	require.Equal(t, "none", devices.Inventory(nil))
}

// TestAToolThatFails: a driver that does not answer costs its own devices alone.
func TestAToolThatFails(t *testing.T) {
	rocm := recorded(t, map[string]string{"rocm-smi": "rocm.json"})
	found, err := devices.Find(t.Context(), func(ctx context.Context, name string, args ...string) (string, error) {
		if name == "nvidia-smi" {
			return "", errors.New("nvidia-smi: exit status 9: NVIDIA-SMI has failed")
		}
		return rocm(ctx, name, args...)
	})
	require.ErrorContains(t, err, "NVIDIA-SMI has failed")
	require.Len(t, found, 3)
}

func TestToolsOfThisMachine(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	_, err := devices.Tools(t.Context(), "nvidia-smi")
	require.ErrorIs(t, err, exec.ErrNotFound)
	const failing = "#!/bin/sh\necho \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\"; exit 9\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "nvidia-smi"), []byte(failing), 0o755))
	_, err = devices.Tools(t.Context(), "nvidia-smi")
	require.ErrorContains(t, err, "couldn't communicate with the NVIDIA driver")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "nvidia-smi"), []byte("#!/bin/sh\necho \"$1\"\n"), 0o755))
	out, err := devices.Tools(t.Context(), "nvidia-smi", "-L")
	require.NoError(t, err)
	require.Equal(t, "-L\n", out)
}

// TestNamesOfAccelerators: the names are those that the SDK sends, and those of the contract.
func TestNamesOfAccelerators(t *testing.T) {
	for tool, names := range map[string][]string{
		"NVIDIA H200":           {"H200", "nvidia-h200"},
		"NVIDIA H100 80GB HBM3": {"nvidia-tesla-h100", "nvidia-h100"},
		"NVIDIA A100-SXM4-40GB": {"nvidia-tesla-a100", "nvidia-a100"},
		"NVIDIA A100 80GB PCIe": {"nvidia-a100-80gb", "nvidia-tesla-a100"},
		"NVIDIA A10G":           {"nvidia-a10g"},
		"NVIDIA L4":             {"nvidia-l4"},
		"NVIDIA L40S":           {"nvidia-l40s"},
		"NVIDIA B200":           {"B200", "nvidia-b200"},
		"NVIDIA GB10":           {"GB10", "nvidia-gb10"},
		"Tesla T4":              {"nvidia-tesla-t4", "nvidia-t4"},
		"Tesla V100-SXM2-16GB":  {"nvidia-tesla-v100", "nvidia-v100"},
		"NVIDIA RTX PRO 6000 Blackwell Server Edition": {"nvidia-rtx-pro-6000"},
		"NVIDIA GeForce RTX 4090":                      {"nvidia-geforce-rtx-4090", "geforce-rtx-4090"},
	} {
		for _, name := range names {
			require.True(t, devices.Device{Maker: devices.NVIDIA, Model: tool}.Is(name), "%s is %s", tool, name)
		}
	}
	for tool, name := range map[string]string{
		"NVIDIA H200": "H100", "NVIDIA A100-SXM4-40GB": "nvidia-a100-80gb", "NVIDIA A10": "nvidia-a10g", "NVIDIA L40": "nvidia-l4", "Tesla T4": "T4 shared",
	} {
		require.False(t, devices.Device{Maker: devices.NVIDIA, Model: tool}.Is(name), "%s is not %s", tool, name)
	}
	amd := devices.Device{Maker: devices.AMD, Model: "AMD Instinct MI300X OAM"}
	require.True(t, amd.Is("MI300X"))
	require.True(t, amd.Is("amd-mi300x"))
	require.Equal(t, "amd-mi300x", amd.Label())
	require.Equal(t, "nvidia-geforce-rtx-4090", devices.Device{Maker: devices.NVIDIA, Model: "NVIDIA GeForce RTX 4090"}.Label())
}

func TestVariablesOfTheDemoChooseItsDevices(t *testing.T) {
	all := find(t, everything(t))
	ids := func(variables map[string]string) (ids []string) {
		for _, d := range devices.Visible(all, func(name string) (string, bool) { value, set := variables[name]; return value, set }) {
			ids = append(ids, d.ID[:min(len(d.ID), 8)])
		}
		return ids
	}
	amd := []string{"GPU-5a0c", "GPU-000c", "2"}
	require.Len(t, ids(nil), len(all))
	require.Equal(t, append([]string{"GPU-5f9c"}, amd...), ids(map[string]string{"CUDA_VISIBLE_DEVICES": "0"}))
	require.Equal(t, append([]string{"MIG-a28a", "GPU-9be3"}, amd...), ids(map[string]string{"CUDA_VISIBLE_DEVICES": "2,MIG-a28ad590"}))
	require.Equal(t, append([]string{"GPU-5f9c"}, amd...), ids(map[string]string{"CUDA_VISIBLE_DEVICES": "0,-1,2"}), "an unknown one ends the list")
	require.Equal(t, []string{"2"}, ids(map[string]string{"CUDA_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "2"}))
}

func TestAFileOfDevices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.json")
	read := func(text string) ([]devices.Device, error) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return devices.Read(path)
	}
	found, err := read(`[{"id": "GPU-1", "model": "NVIDIA H200", "memory": "141Gi"}, {"id": "GPU-2", "maker": "amd", "model": "AMD Instinct MI300X"}]`)
	require.NoError(t, err)
	require.Equal(t, []devices.Device{
		{ID: "GPU-1", Maker: devices.NVIDIA, Model: "NVIDIA H200", Bytes: 141 << 30}, {ID: "GPU-2", Maker: devices.AMD, Index: 1, Model: "AMD Instinct MI300X"},
	}, found)
	for text, words := range map[string]string{
		`{}`:               "cannot unmarshal",
		`[{"model": "X"}]`: "[0].id",
		`[{"id": "1"}]`:    "[0].model",
		`[{"id": "1", "model": "X", "maker": "x"}]`:              "[0].maker",
		`[{"id": "1", "model": "X", "memory": "much"}]`:          "[0].memory",
		`[{"id": "1", "model": "X"}, {"id": "1", "model": "X"}]`: "[1].id",
		`[{"id": "1", "model": "X", "size": "2"}]`:               "unknown field",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, words, text)
	}
	_, err = devices.Read(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
