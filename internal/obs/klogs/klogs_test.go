package klogs_test

import (
	"bytes"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

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
