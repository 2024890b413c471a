package devices_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/devices"
)

func idsOf(all []devices.Device) (ids []string) {
	for _, d := range all {
		ids = append(ids, d.ID)
	}
	return ids
}

func mixed() *devices.Table {
	return devices.NewTable([]devices.Device{
		{ID: "part", Maker: devices.NVIDIA, Model: "NVIDIA A100-SXM4-40GB", Partition: "1g.5gb"}, {ID: "h1", Maker: devices.NVIDIA, Model: "NVIDIA H200"},
		{ID: "h2", Maker: devices.NVIDIA, Model: "NVIDIA H200"}, {ID: "m", Maker: devices.AMD, Model: "AMD Instinct MI300X"},
	})
}

func TestDevicesAreTakenByModelAndPartition(t *testing.T) {
	table := mixed()
	wish := devices.Wish{Maker: devices.NVIDIA, Count: 1, Accelerator: "H200"}
	require.True(t, table.Take("one", "run one", wish))
	require.Equal(t, []string{"h1"}, idsOf(table.Of("one", devices.NVIDIA)))
	require.True(t, table.Take("one", "run one", wish), "asking again changes nothing")
	require.Equal(t, []string{"h1"}, idsOf(table.Of("one", devices.NVIDIA)))
	require.True(t, table.Take("two", "run two", devices.Wish{Maker: devices.NVIDIA, Count: 1}))
	require.Equal(t, []string{"h2"}, idsOf(table.Of("two", devices.NVIDIA)), "whole devices come first")
	require.False(t, table.Take("three", "run three", wish))
	require.Equal(t, "run two", table.Holder("h2"))
	require.False(t, table.Take("four", "run four", devices.Wish{Maker: devices.NVIDIA, Count: 1, Whole: true}))
	require.True(t, table.Take("five", "run five", devices.Wish{Maker: devices.NVIDIA, Count: 1, Partition: "1g.5gb"}))
	require.True(t, table.Release("one"))
	require.False(t, table.Release("one"))
	require.True(t, table.Take("three", "run three", wish))
}

func TestAPodGetsAllOrNothing(t *testing.T) {
	table := mixed()
	require.False(t, table.Take("greedy", "", devices.Wish{Maker: devices.NVIDIA, Count: 2}, devices.Wish{Maker: devices.AMD, Count: 2}))
	require.Equal(t, 3, table.Free(devices.Wish{Maker: devices.NVIDIA}))
	require.True(t, table.Take("both", "", devices.Wish{Maker: devices.NVIDIA, Count: 2}, devices.Wish{Maker: devices.AMD, Count: 1}))
	require.Equal(t, []string{"h1", "h2"}, idsOf(table.Of("both", devices.NVIDIA)))
	require.Equal(t, []string{"m"}, idsOf(table.Of("both", devices.AMD)))
}

func TestDevicesAreRestored(t *testing.T) {
	table := mixed()
	table.Restore("old", "run old", []string{"h2", "gone"})
	table.Restore("older", "run older", []string{"h2", "m"})
	require.Equal(t, []string{"h2"}, idsOf(table.Of("old", devices.NVIDIA)))
	require.Empty(t, table.Of("older", devices.NVIDIA), "no device is given twice")
	require.Equal(t, []string{"m"}, idsOf(table.Of("older", devices.AMD)))
	require.True(t, table.Take("old", "run old", devices.Wish{Maker: devices.NVIDIA, Count: 2}))
	require.Equal(t, []string{"h1", "h2"}, idsOf(table.Of("old", devices.NVIDIA)), "what is gone is replaced")
}

func TestWhatNeverFitsIsExplained(t *testing.T) {
	table := mixed()
	for text, wish := range map[string]devices.Wish{
		"asks for 4 GPUs and this machine has 1 NVIDIA A100-SXM4-40GB 1g.5gb and 2 NVIDIA H200, so it will never start": {Maker: devices.NVIDIA, Count: 4},
		"asks for 1 nvidia-tesla-h100 and this machine has":                                                             {Maker: devices.NVIDIA, Count: 1, Accelerator: "nvidia-tesla-h100"},
		"asks for 1 H200 1g.18gb and":                         {Maker: devices.NVIDIA, Count: 1, Accelerator: "H200", Partition: "1g.18gb"},
		"asks for 2 GPUs and this machine has 1 AMD Instinct": {Maker: devices.AMD, Count: 2},
	} {
		require.Less(t, len(table.Fitting(wish)), wish.Count)
		require.Contains(t, table.Never(wish), text)
	}
	require.Contains(t, devices.NewTable(nil).Never(devices.Wish{Maker: devices.NVIDIA, Count: 1}), "1 GPU (nvidia.com/gpu), which this machine does not have")
}

// TestNoDeviceIsGivenTwice: many pods take and free devices at once.
func TestNoDeviceIsGivenTwice(t *testing.T) {
	table := mixed()
	var mu sync.Mutex
	users := map[string]string{}
	var pods sync.WaitGroup
	for i := range 8 {
		pods.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			pod := fmt.Sprint("pod ", i)
			for range 500 {
				if !table.Take(pod, pod, devices.Wish{Maker: devices.NVIDIA, Count: 1 + random.IntN(2)}) {
					continue
				}
				held := table.Of(pod, devices.NVIDIA)
				mu.Lock()
				for _, d := range held {
					if other, used := users[d.ID]; used {
						t.Errorf("%s and %s have %s", pod, other, d.ID)
					}
					users[d.ID] = pod
				}
				mu.Unlock()
				mu.Lock()
				for _, d := range held {
					delete(users, d.ID)
				}
				mu.Unlock()
				table.Release(pod)
			}
		})
	}
	pods.Wait()
	require.Equal(t, 3, table.Free(devices.Wish{Maker: devices.NVIDIA}))
}
