package imagebuild

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHugeArchivesAreRefused(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	writer := tar.NewWriter(zipped)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, writer.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 1000, Mode: 0o600}))
		_, err := writer.Write(make([]byte, 1000))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	require.NoError(t, zipped.Close())
	require.ErrorContains(t, unpack(bytes.NewReader(packed.Bytes()), t.TempDir(), bounds{bytes: 2500, entries: 9}), "too large")
	require.ErrorContains(t, unpack(bytes.NewReader(packed.Bytes()), t.TempDir(), bounds{bytes: 1 << 20, entries: 2}), "more than 2 entries")
	require.NoError(t, unpack(bytes.NewReader(packed.Bytes()), t.TempDir(), bounds{bytes: 1 << 20, entries: 3}))
}

func TestNamesOfSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	secrets := []secret{{"TOKEN", "v1"}, {"T", "v2"}}
	for text, want := range map[string]string{
		"a==1": "a==1", "$TOKEN": "v1", "x${T}y": "xv2y", "$TOKENS $ $- ${} 100%": "$TOKENS $ $- ${} 100%",
	} {
		require.Equal(t, want, expand(text, secrets))
	}
}

func TestAValueIsHiddenAcrossWrites(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &redactor{to: &out, secrets: []secret{{"T", "secret/value"}}}
	for _, part := range []string{"a sec", "ret/val", "ue b\nsecret%2Fvalue", "\nand secret/value"} {
		_, err := r.Write([]byte(part))
		require.NoError(t, err)
	}
	require.NoError(t, r.flush())
	require.Equal(t, "a **** b\n****\nand ****\n", out.String())
}
