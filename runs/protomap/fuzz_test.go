package protomap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// FuzzStored maps rows whose encoded parts are damaged: each is mapped, or refused with DataLoss; nothing panics.
func FuzzStored(f *testing.F) {
	f.Add(int16(1), int16(6), []byte("\x0a\x01"), []byte("x"), []byte(nil))
	f.Add(int16(2), int16(5), []byte(nil), []byte(nil), []byte("\xff\xff"))
	f.Add(int16(3), int16(9), []byte("\x12\x03abc"), []byte(nil), []byte("\x0a\x00"))
	f.Add(int16(-1), int16(77), []byte("\x08\x96\x01"), []byte("\x08"), []byte("\x08\x96"))
	f.Fuzz(func(t *testing.T, kind, phase int16, spec, failure, rest []byte) {
		action := &schema.Action{
			Name: "c1", ActionType: kind, Phase: phase, Attempt: 1, Error: failure, Signal: rest, AbortedBy: rest, RecoveredFrom: rest,
			Relation: rest, CreatedBy: rest,
		}
		events := []schema.Event{{Attempt: 1, Phase: phase, Event: rest, Error: failure}}
		details, err := protomap.Details(action, spec, events)
		if err != nil {
			require.Equal(t, rpc.KindDataLoss, rpc.KindOf(err), "%v", err)
			return
		}
		require.NotNil(t, details.GetMetadata())
	})
}
