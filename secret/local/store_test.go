package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/secret/backendtest"
	"github.com/flyte-binary/flyte-binary/secret/local"
)

type bench struct {
	config local.Config
	clock  *clock.Fake
	store  *local.Store
}

func newBench(t *testing.T) *bench {
	dir := t.TempDir()
	config := local.DefaultConfig()
	config.Directory, config.KeyFile = filepath.Join(dir, "secrets"), filepath.Join(dir, "keys")
	b := &bench{config: config, clock: clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	b.open(t)
	return b
}

func (b *bench) open(t *testing.T) {
	t.Helper()
	var err error
	b.store, err = local.Open(b.config, b.clock, zerolog.New(zerolog.NewTestWriter(t)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.store.Close() })
}

func (b *bench) reopen(t *testing.T) {
	t.Helper()
	require.NoError(t, b.store.Close())
	b.open(t)
}

// keys are the ids of the key file.
func (b *bench) keys(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(b.config.KeyFile)
	require.NoError(t, err)
	ring := struct {
		Keys []struct {
			ID string `json:"id"`
		} `json:"keys"`
	}{}
	require.NoError(t, json.Unmarshal(content, &ring))
	var ids []string
	for _, one := range ring.Keys {
		ids = append(ids, one.ID)
	}
	return ids
}

func (b *bench) file(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.config.Directory, "*.secret"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

func (b *bench) value(t *testing.T, name string) string {
	t.Helper()
	content, err := b.store.Value(t.Context(), backendtest.ID("p", "d", name))
	require.NoError(t, err)
	return string(content.Value.Reveal())
}

func TestContract(t *testing.T) { backendtest.Contract(t, newBench(t).store, backendtest.Options{}) }

func TestSecretsSurviveARestart(t *testing.T) {
	b := newBench(t)
	id := backendtest.ID("p", "d", "key")
	require.NoError(t, b.store.Create(t.Context(), id, backendtest.Text("kept")))
	before, err := b.store.Describe(t.Context(), id)
	require.NoError(t, err)
	b.reopen(t)
	require.Equal(t, "kept", b.value(t, "key"))
	after, err := b.store.Describe(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestNoFileHasAValueOrIsOpenToOthers(t *testing.T) {
	b := newBench(t)
	const value = "correct horse battery staple"
	require.NoError(t, b.store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text(value)))
	require.NoError(t, b.store.Update(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text(value)))
	require.NoError(t, filepath.WalkDir(filepath.Dir(b.config.Directory), func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		if entry.IsDir() {
			return nil
		}
		require.Zero(t, info.Mode().Perm()&0o077, path)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(content), value)
		return nil
	}))
}

func TestTheKeyIsRotated(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("kept")))
	first, sealed := b.keys(t), read(t, b.file(t))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.store.Run(ctx) }()
	require.Eventually(t, func() bool { return b.clock.Timers() == 1 }, 10*time.Second, time.Millisecond)
	b.clock.Step(720 * time.Hour)
	require.Eventually(t, func() bool { return b.clock.Timers() == 1 && b.keys(t)[0] != first[0] }, 10*time.Second, time.Millisecond)
	cancel()
	<-done
	require.Len(t, b.keys(t), 1, "the old key is gone")
	require.NotEqual(t, sealed, read(t, b.file(t)))
	require.Equal(t, "kept", b.value(t, "key"))
	b.reopen(t)
	require.Equal(t, "kept", b.value(t, "key"))
}

// A process that dies in a rotation leaves two keys, and secrets under either.
func TestAnInterruptedRotationIsCompleted(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("kept")))
	old := read(t, b.config.KeyFile)
	require.NoError(t, b.store.Rotate())
	require.NoError(t, b.store.Create(t.Context(), backendtest.ID("p", "d", "new"), backendtest.Text("newer")))
	current := read(t, b.config.KeyFile)
	require.NoError(t, b.store.Close())

	var oldRing, newRing struct {
		Keys []json.RawMessage `json:"keys"`
	}
	require.NoError(t, json.Unmarshal(old, &oldRing))
	require.NoError(t, json.Unmarshal(current, &newRing))
	// Swapped: what is stored is now under a key that is not the first.
	oldRing.Keys = append(oldRing.Keys, newRing.Keys...)
	both, err := json.Marshal(oldRing)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(b.config.KeyFile, both, 0o600))
	b.open(t)
	require.Len(t, b.keys(t), 1)
	require.Equal(t, "kept", b.value(t, "key"))
	require.Equal(t, "newer", b.value(t, "new"))
}

func TestWhatIsNotOpened(t *testing.T) {
	log := zerolog.Nop()
	for name, tc := range map[string]struct {
		change func(t *testing.T, b *bench)
		words  string
	}{
		"a key file for all":    {func(t *testing.T, b *bench) { require.NoError(t, os.Chmod(b.config.KeyFile, 0o640)) }, "chmod 600"},
		"a damaged key file":    {func(t *testing.T, b *bench) { require.NoError(t, os.WriteFile(b.config.KeyFile, []byte("{"), 0o600)) }, "damaged"},
		"a damaged secret file": {func(t *testing.T, b *bench) { require.NoError(t, os.WriteFile(b.file(t), []byte("{"), 0o600)) }, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			require.NoError(t, b.store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("x")))
			require.NoError(t, b.store.Close())
			tc.change(t, b)
			_, err := local.Open(b.config, b.clock, log)
			require.ErrorContains(t, err, tc.words)
		})
	}
	b := newBench(t)
	_, err := local.Open(b.config, b.clock, log)
	require.ErrorContains(t, err, "another process uses")
}

// The files of two secrets cannot be exchanged, nor one's scope be changed, without the key.
func TestAFileCannotTakeThePlaceOfAnother(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("x")))
	path := b.file(t)
	for _, change := range [][2]string{{`"name":"key"`, `"name":"kez"`}, {`"type":"generic"`, `"type":"image-pull"`}, {`"project":"p"`, `"project":"q"`}} {
		whole := read(t, path)
		require.Contains(t, string(whole), change[0])
		require.NoError(t, os.WriteFile(path, bytes.Replace(whole, []byte(change[0]), []byte(change[1]), 1), 0o600))
		_, err := b.store.Value(t.Context(), backendtest.ID("p", "d", "key"))
		require.Error(t, err)
		require.NoError(t, os.WriteFile(path, whole, 0o600))
	}
	require.Equal(t, "x", b.value(t, "key"))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}
