package cachekey

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

type goldenCase struct {
	Name       string   `json:"name"`
	Task       string   `json:"task"`
	Interface  []byte   `json:"interface"`
	Version    string   `json:"version"`
	Ignored    []string `json:"ignored"`
	Inputs     []byte   `json:"inputs"`
	InputsHash string   `json:"inputsHash"`
	Key        string   `json:"key"`
}

type golden struct {
	Cases   []goldenCase `json:"cases"`
	Msgpack []struct {
		Data      []byte `json:"data"`
		Canonical []byte `json:"canonical"`
	} `json:"msgpack"`
}

func readGolden(t *testing.T) golden {
	t.Helper()
	body, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var g golden
	require.NoError(t, json.Unmarshal(body, &g))
	return g
}

func (c goldenCase) decode(t *testing.T) (*task.Inputs, *core.TypedInterface) {
	t.Helper()
	inputs, declared := &task.Inputs{}, &core.TypedInterface{}
	require.NoError(t, proto.Unmarshal(c.Inputs, inputs))
	require.NoError(t, proto.Unmarshal(c.Interface, declared))
	return inputs, declared
}

// Story: upstream computed the key of a task that was started by itself in another way than the SDK does for one that
// is called by a task, so that they never shared an entry.
//
// Story R24: inputs that differed only in what the cache ignores overwrote each other.
func TestKeysAreTheSDKs(t *testing.T) {
	for _, c := range readGolden(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			inputs, declared := c.decode(t)
			hash := InputsHash(inputs, c.Ignored)
			require.Equal(t, c.InputsHash, hash)
			require.Equal(t, c.Key, Key(c.Task, hash, declared, c.Version))
			offloaded := OffloadedHash(inputs, c.Ignored)
			require.NotEmpty(t, offloaded, "the contract wants some")
			require.Equal(t, c.Key, Key(c.Task, offloaded, declared, c.Version))
		})
	}
}

func TestMsgpackIsTheSDKs(t *testing.T) {
	for _, c := range readGolden(t).Msgpack {
		require.Equal(t, c.Canonical, canonicalMsgpack(c.Data), "%x", c.Data)
	}
}

// The context of inputs, such as a trace id, makes no difference.
func TestContextDoesNotCount(t *testing.T) {
	for _, c := range readGolden(t).Cases {
		inputs, _ := c.decode(t)
		inputs.Context = []*core.KeyValuePair{{Key: "a", Value: "b"}}
		require.Equal(t, c.InputsHash, InputsHash(inputs, c.Ignored), c.Name)
	}
}

func FuzzCanonicalMsgpack(f *testing.F) {
	f.Add([]byte("\x82\xa1b\x01\xa1a\x02"))
	f.Add([]byte("\xdd\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		once := canonicalMsgpack(data)
		if string(once) != string(data) {
			require.Equal(t, once, canonicalMsgpack(once), "canonical bytes stay the same")
		}
	})
}
