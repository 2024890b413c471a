package devices_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/devices"
)

// TestALostAnswerGivesNoDeviceTwice: a node that binds a pod and does not hear the answer binds it again, and another pod in between must
// not get the device. The same holds when the pod's end is handled twice.
func TestALostAnswerGivesNoDeviceTwice(t *testing.T) {
	one := devices.Device{ID: "GPU-a", Maker: devices.NVIDIA, Model: "NVIDIA H200"}
	wish := devices.Wish{Maker: devices.NVIDIA, Count: 1}
	table := devices.NewTable([]devices.Device{one})
	require.True(t, table.Take("first", "pod first", wish))
	require.False(t, table.Take("second", "pod second", wish))
	require.True(t, table.Take("first", "pod first", wish), "the answer was lost, and the pod is bound again")
	require.Len(t, table.Of("first", devices.NVIDIA), 1)
	table.Restore("second", "pod second", []string{one.ID}) // a note that is older than the table
	require.Equal(t, "pod first", table.Holder(one.ID))
	require.True(t, table.Used())
	require.True(t, table.Release("first"))
	require.True(t, table.Take("second", "pod second", wish))
	require.False(t, table.Release("first"), "its end is handled again")
	require.Equal(t, "pod second", table.Holder(one.ID))
	require.Equal(t, []devices.Maker{devices.NVIDIA}, table.Makers())
}
