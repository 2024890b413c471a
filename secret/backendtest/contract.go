// Package backendtest has the tests that every backend of secrets must pass. Only tests import it.
package backendtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/secret"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// Options are what backends differ in.
type Options struct {
	// MaxValue is the largest value that the backend stores; 0 for that of the service.
	MaxValue int
	// AnyPageSize means that pages may have fewer entries than was asked for, or more.
	AnyPageSize bool
}

// ID names a secret in a project, a domain or the organization.
func ID(project, domain, name string) entry.ID {
	return entry.ID{Scope: entry.Scope{Project: project, Domain: domain}, Name: name}
}

// Text is a generic secret.
func Text(value string) entry.Content { return entry.Content{Value: entry.NewValue([]byte(value))} }

// Contract checks a backend that is empty.
func Contract(t *testing.T, backend secret.Backend, options Options) {
	if options.MaxValue == 0 {
		options.MaxValue = secret.MaxValue
	}
	t.Run("a life", func(t *testing.T) { life(t, backend) })
	t.Run("values", func(t *testing.T) { values(t, backend, options) })
	t.Run("scopes", func(t *testing.T) { scopes(t, backend) })
	t.Run("pages", func(t *testing.T) { pages(t, backend, options) })
}

func life(t *testing.T, backend secret.Backend) {
	ctx, id := t.Context(), ID("p", "d", "life")
	_, err := backend.Describe(ctx, id)
	require.ErrorIs(t, err, entry.ErrNotFound)
	_, err = backend.Value(ctx, id)
	require.ErrorIs(t, err, entry.ErrNotFound)
	require.ErrorIs(t, backend.Update(ctx, id, Text("x")), entry.ErrNotFound)
	require.ErrorIs(t, backend.Delete(ctx, id), entry.ErrNotFound)

	require.NoError(t, backend.Create(ctx, id, entry.Content{Type: entry.ImagePull, Value: entry.NewValue([]byte("one"))}))
	about, err := backend.Describe(ctx, id)
	require.NoError(t, err)
	require.Equal(t, id, about.ID)
	require.Equal(t, entry.ImagePull, about.Type)
	require.False(t, about.Created.IsZero())
	require.ErrorIs(t, backend.Create(ctx, id, Text("two")), entry.ErrExists)

	require.NoError(t, backend.Update(ctx, id, entry.Content{Type: entry.ImagePull, Value: entry.NewValue([]byte("three"))}))
	content, err := backend.Value(ctx, id)
	require.NoError(t, err)
	require.Equal(t, "three", string(content.Value.Reveal()))
	require.Equal(t, entry.ImagePull, content.Type)

	require.NoError(t, backend.Delete(ctx, id))
	_, err = backend.Describe(ctx, id)
	require.ErrorIs(t, err, entry.ErrNotFound)
	require.NoError(t, backend.Create(ctx, id, Text("again")), "the name is free")
	require.NoError(t, backend.Delete(ctx, id))
}

func values(t *testing.T, backend secret.Backend, options Options) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	// Values must not be taken for text, JSON or base64, which some backends use to store them.
	for i, value := range [][]byte{
		every, []byte("text with ünïcode\nand lines\n"), []byte(" "), {0}, []byte(`{"json": true}`), []byte("aGVsbG8="),
		bytes.Repeat([]byte("x"), options.MaxValue),
	} {
		id := ID("p", "d", fmt.Sprintf("value-%d", i))
		require.NoError(t, backend.Create(t.Context(), id, entry.Content{Value: entry.NewValue(value)}))
		content, err := backend.Value(t.Context(), id)
		require.NoError(t, err)
		require.True(t, bytes.Equal(value, content.Value.Reveal()), "value %d comes back byte for byte", i)
		require.NoError(t, backend.Delete(t.Context(), id))
	}
	if options.MaxValue < secret.MaxValue {
		id := ID("p", "d", "large")
		var large entry.TooLargeError
		require.ErrorAs(t, backend.Create(t.Context(), id, Text(strings.Repeat("x", options.MaxValue+1))), &large)
		_, err := backend.Describe(t.Context(), id)
		require.ErrorIs(t, err, entry.ErrNotFound, "nothing is half stored")
	}
}

func scopes(t *testing.T, backend secret.Backend) {
	long := strings.Repeat("n", 253)
	// Names that could collide once they are joined or changed for a backend: a project with a dot, the longest name,
	// and a domain that is called like a project.
	all := []entry.ID{
		ID("", "", "key"), ID("", "d", "key"), ID("p", "d", "key"), ID("p", "e", "key"), ID("q.1", "d", "key"), ID("p", "d", long), ID("", "p", "key"),
		ID("", "", "Key"), // another one, also where names have no case
	}
	for i, id := range all {
		require.NoError(t, backend.Create(t.Context(), id, Text(fmt.Sprint("of ", i))))
	}
	for i, id := range all {
		content, err := backend.Value(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("of ", i), string(content.Value.Reveal()))
	}
	for scope, want := range map[entry.Scope][]entry.ID{
		{}:                          all,
		{Domain: "d"}:               {all[1], all[2], all[4], all[5]},
		{Project: "p", Domain: "d"}: {all[2], all[5]},
		{Domain: "none"}:            nil,
	} {
		require.ElementsMatch(t, want, list(t, backend, scope, 100), scope)
	}
	for _, id := range all {
		require.NoError(t, backend.Delete(t.Context(), id))
	}
}

// pages lists seven secrets by three, so that the last page is not full.
func pages(t *testing.T, backend secret.Backend, options Options) {
	var all []entry.ID
	for i := range 7 {
		id := ID("p", "d", fmt.Sprintf("page-%d", i))
		all = append(all, id)
		require.NoError(t, backend.Create(t.Context(), id, Text("x")))
	}
	first, err := backend.List(t.Context(), entry.Scope{}, "", 3)
	require.NoError(t, err)
	if !options.AnyPageSize {
		require.Len(t, first.Entries, 3)
		require.NotEmpty(t, first.Next)
	}
	require.ElementsMatch(t, all, list(t, backend, entry.Scope{}, 3))
	for _, id := range all {
		require.NoError(t, backend.Delete(t.Context(), id))
	}
	require.Empty(t, list(t, backend, entry.Scope{}, 3))
}

// list reads all pages. What was deleted a moment ago may still be listed by stores that say so, and none here does.
func list(t *testing.T, backend secret.Backend, scope entry.Scope, limit int) []entry.ID {
	t.Helper()
	var found []entry.ID
	token := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		page, err := backend.List(t.Context(), scope, token, limit)
		require.NoError(t, err)
		for _, about := range page.Entries {
			require.False(t, slices.Contains(found, about.ID), "each one once")
			found = append(found, about.ID)
		}
		if page.Next == "" {
			return found
		}
		token = page.Next
	}
	t.Fatal("the list has no end")
	return nil
}
