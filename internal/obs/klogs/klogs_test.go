package klogs_test

import (
	"bytes"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/obs/klogs"
)

func TestInstall(t *testing.T) {
	var out bytes.Buffer
	klogs.Install(zerolog.New(&out).Level(zerolog.InfoLevel))
	t.Cleanup(klog.ClearLogger)
	klog.Info("from klog")
	klog.V(1).Info("too much")
	ctrllog.Log.Info("from controller-runtime", "pod", "p")
	ctrllog.Log.V(1).Info("too much")
	require.Contains(t, out.String(), "from klog")
	require.Contains(t, out.String(), `"pod":"p"`)
	require.NotContains(t, out.String(), "too much")
}

// The log of a server has a level that can be changed, which belongs to the process.
func TestInstallKeepsTheLevelOfTheProcess(t *testing.T) {
	before := zerolog.GlobalLevel()
	t.Cleanup(func() { zerolog.SetGlobalLevel(before) })
	t.Cleanup(klog.ClearLogger)
	var out bytes.Buffer
	log, level, err := obs.NewAdjustableLogger(obs.LogConfig{Level: "info", Format: "json"}, &out)
	require.NoError(t, err)
	klogs.Install(log)
	logger := klogs.Logger(log)
	require.Equal(t, "info", level.Current())
	log.Debug().Msg("too much from us")
	logger.V(3).Info("too much from controller-runtime")
	require.Empty(t, out.String())

	require.NoError(t, level.Set("debug"))
	logger.V(1).Info("wanted")
	logger.V(2).Info("traced")
	require.Contains(t, out.String(), "wanted")
	require.NotContains(t, out.String(), "traced")

	require.NoError(t, level.Set("trace"))
	logger.V(2).Info("traced")
	logger.V(3).Info("beyond")
	require.Contains(t, out.String(), `"level":"trace"`)
	require.NotContains(t, out.String(), "beyond")
}
