package msgpackjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/values/msgpackjson"
)

func asItIs(value any) (any, error) { return value, nil }

func TestWhatWasPackedIsUnpacked(t *testing.T) {
	value := map[string]any{
		"n": int64(-7), "big": uint64(1 << 63), "f": 1.5, "s": "é", "no": nil, "yes": true,
		"list": []any{int64(1), []any{}, map[string]any{}},
	}
	body, err := msgpackjson.Encode(value)
	require.NoError(t, err)
	again, err := msgpackjson.Decode(body, asItIs)
	require.NoError(t, err)
	require.Equal(t, value, again)
}

func TestValuesThatJSONLacks(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want any
	}{
		"bytes":                  {"\xc4\x02\x00\xff", "AP8="},
		"text that is not UTF-8": {"\xa2\xff\xfe", "//4="},
		"a time":                 {"\xd6\xff\x00\x00\x00\x01", "1970-01-01T00:00:01Z"},
		"a number as a key":      {"\x81\x07\xc3", map[string]any{"7": true}},
	} {
		got, err := msgpackjson.Decode([]byte(c.body), asItIs)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := msgpackjson.Decode(bytes.Repeat([]byte{0x91}, 200), asItIs)
	require.ErrorIs(t, err, msgpackjson.ErrTooDeep)
	_, err = msgpackjson.Decode([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, asItIs)
	require.Error(t, err, "a declared length is not trusted")
}

// FuzzDecode decodes arbitrary bytes: it terminates, and what it returns is JSON.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{"\x81\xa1a\x01", "\x93\x01\x02\x03", "\xc4\x00", "\xd6\xff\x00\x00\x00\x01", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		value, err := msgpackjson.Decode(body, func(leaf any) (any, error) {
			if _, number := leaf.(float64); number {
				return "a number", nil // not all of them are JSON
			}
			return leaf, nil
		})
		if err != nil {
			return
		}
		_, err = json.Marshal(value)
		require.NoError(t, err)
	})
}
