package usage_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/usage"
)

var start = time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)

// hour is the curve of an hour of a task, measured every 15 s.
func hour() []usage.Point {
	random := rand.New(rand.NewPCG(1, 2))
	var points []usage.Point
	memory := float64(200 << 20)
	for i := range 240 {
		memory = max(100<<20, memory+random.NormFloat64()*4*(1<<20))
		points = usage.Append(points, usage.Point{At: start.Add(time.Duration(i) * 15 * time.Second), Used: usage.Amounts{
			usage.CPU: usage.Of(uint64(900 + random.IntN(100))), usage.Memory: usage.Of(uint64(memory)), usage.Disk: usage.Of(10 << 20),
		}})
	}
	return points
}

func TestACurveComesBackAsItWas(t *testing.T) {
	points := hour()
	raw := usage.Encode(points)
	require.Less(t, len(raw), 1300, "an hour has few bytes a point")
	back, err := usage.Decode(raw)
	require.NoError(t, err)
	require.Len(t, back, len(points))
	for i := range points {
		require.Equal(t, points[i].At, back[i].At)
		require.False(t, back[i].Used[usage.GPU].Known)
		require.InDelta(t, points[i].Used[usage.CPU].Value, back[i].Used[usage.CPU].Value, 3)
		require.InDelta(t, points[i].Used[usage.Memory].Value, back[i].Used[usage.Memory].Value, 128<<10)
	}
}

func TestResourcesMayBeUnknownAtTimes(t *testing.T) {
	points := []usage.Point{
		{At: start, Used: usage.Amounts{usage.Memory: usage.Of(1 << 30)}},
		{At: start.Add(time.Second), Used: usage.Amounts{usage.CPU: usage.Of(500), usage.Memory: usage.Of(2 << 30), usage.GPU: usage.Of(40)}},
		{At: start.Add(time.Minute)},
		{At: start.Add(time.Hour), Used: usage.Amounts{usage.CPU: usage.Of(0), usage.GPUMemory: usage.Of(5 << 30)}},
	}
	back, err := usage.Decode(usage.Encode(points))
	require.NoError(t, err)
	require.Equal(t, points, back)
	none, err := usage.Decode(usage.Encode(nil))
	require.NoError(t, err)
	require.Empty(t, none)
}

// TestALongCurveStaysSmall: a day of measurements has at most as many points as an hour, from the first to the last, keeps every peak of
// memory, and its average of processors.
func TestALongCurveStaysSmall(t *testing.T) {
	var points []usage.Point
	const steps = 24 * 240
	for i := range steps {
		memory, cpu := uint64(100<<20), uint64(1000)
		if i == 1234 {
			memory = 900 << 20
		}
		if i%2 == 1 {
			cpu = 500
		}
		at := start.Add(time.Duration(i) * 15 * time.Second)
		points = usage.Append(points, usage.Point{At: at, Used: usage.Amounts{usage.CPU: usage.Of(cpu), usage.Memory: usage.Of(memory)}})
		require.LessOrEqual(t, len(points), usage.MaxPoints)
	}
	require.Equal(t, start.Add((steps-1)*15*time.Second), points[len(points)-1].At)
	require.Less(t, points[0].At.Sub(start), 30*time.Minute)
	highest, spent := uint64(0), 0.0
	before := start
	for _, point := range points {
		highest = max(highest, point.Used[usage.Memory].Value)
		spent += float64(point.Used[usage.CPU].Value) * point.At.Sub(before).Seconds()
		before = point.At
	}
	require.EqualValues(t, 900<<20, highest)
	require.InDelta(t, 750, spent/before.Sub(start).Seconds(), 15)
}

func FuzzDecode(f *testing.F) {
	f.Add(usage.Encode(hour()))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		points, err := usage.Decode(raw)
		if err == nil && len(points) > 0 {
			_ = usage.Encode(points)
		}
	})
}

func TestACutCurveIsAnError(t *testing.T) {
	raw := usage.Encode(hour())
	for _, broken := range [][]byte{nil, {9}, {1, 0x80}, raw[:len(raw)-1]} {
		_, err := usage.Decode(broken)
		if len(broken) != len(raw)-1 { // which may be a curve of one point less
			require.Error(t, err)
		}
	}
	_, err := usage.Decode([]byte{1, 0, 1})
	require.ErrorContains(t, err, "cut off")
	require.EqualValues(t, math.MaxInt64, usage.Amount{}.Max(usage.Of(math.MaxInt64)).Value)
}
