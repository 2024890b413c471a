package klogs_test

import (
	"bytes"
	"errors"
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

// formatted counts how often a value is formatted.
type formatted struct{ times int }

func (f *formatted) String() string {
	f.times++
	return "formatted"
}

// TestValuesAreFormattedByLinesOnly: a logger that writes nothing costs nothing, and each line has all values.
func TestValuesAreFormattedByLinesOnly(t *testing.T) {
	var out bytes.Buffer
	logger := klogs.Logger(zerolog.New(&out).Level(zerolog.WarnLevel))
	value := &formatted{}
	one := logger.WithName("part").WithValues("first", value)
	other := one.WithValues("second", 2)
	one.WithValues("second", 3).Info("too much")
	require.Zero(t, value.times)
	require.Empty(t, out.String())

	other.Error(errors.New("broken"), "cannot", "third", true)
	require.JSONEq(t, `{"level":"error","error":"broken","logger":"part","first":"formatted","second":2,"third":true,"message":"cannot"}`, out.String())
	out.Reset()
	one.Error(nil, "again")
	require.JSONEq(t, `{"level":"error","logger":"part","first":"formatted","message":"again"}`, out.String())
	require.Equal(t, 2, value.times)
}
