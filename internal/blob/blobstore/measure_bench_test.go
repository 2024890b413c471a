package blobstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// BenchmarkMeasure lists 20,000 objects of a directory, 100 in each attempt's.
func BenchmarkMeasure(b *testing.B) {
	const objects = 20_000
	config := blobstore.DefaultConfig()
	config.URL = b.TempDir()
	for i := range objects {
		dir := filepath.Join(config.URL, "p", "d", fmt.Sprintf("run%d", i/100))
		if i%100 == 0 {
			require.NoError(b, os.MkdirAll(dir, 0o755))
		}
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("x"), 0o600))
	}
	store, err := blobstore.Open(b.Context(), config)
	require.NoError(b, err)
	defer func() { require.NoError(b, store.Close()) }()
	for b.Loop() {
		var found int64
		require.NoError(b, store.Measure(b.Context(), store.Root()+"/p", "", blobstore.MaxPage, func(p blobstore.Page) error {
			found += p.Objects
			return nil
		}))
		require.EqualValues(b, objects, found)
	}
	b.ReportMetric(objects*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
}
