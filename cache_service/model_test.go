package cacheservice_test

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
)

// model is what the cache should be: maps and a clock.
type model struct {
	c            *caching
	prefix       string
	outputs      map[string]entry
	reservations map[string]claim
	blobs        map[string]bool
}

type entry struct {
	uri string
	at  time.Time
}

type claim struct {
	owner string
	until time.Time
}

var (
	keys   = rapid.SampledFrom([]string{"k1", "k2"})
	uris   = rapid.SampledFrom([]string{"/o/1", "/o/2", "/o/3"})
	owners = rapid.SampledFrom([]string{"a", "b", "c"})
	steps  = rapid.SampledFrom([]time.Duration{0, time.Microsecond, 9 * time.Second, 30 * time.Second, time.Minute})
)

func (m *model) key(t *rapid.T) string { return m.prefix + keys.Draw(t, "key") }

func (m *model) Put(t *rapid.T) {
	key, uri := m.key(t), uris.Draw(t, "uri")
	overwrite, age := rapid.Bool().Draw(t, "overwrite"), steps.Draw(t, "age")
	err := m.c.put(here, key, uri, &cachev1.OverwriteOutput{Overwrite: overwrite, MaxAge: durationpb.New(age)})
	now := m.c.clock.Now()
	had, there := m.outputs[key]
	switch {
	case !m.blobs[uri]:
		require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err))
	case there && !overwrite && had.uri == uri:
		require.NoError(t, err)
	case there && !overwrite && (age == 0 || !had.at.Before(now.Add(-age))):
		require.Equal(t, connect.CodeAlreadyExists, connect.CodeOf(err))
	default:
		require.NoError(t, err)
		m.outputs[key] = entry{uri, now}
	}
}

func (m *model) Get(t *rapid.T) {
	key := m.key(t)
	output, err := m.c.get(here, key)
	had, there := m.outputs[key]
	if there && m.blobs[had.uri] {
		require.NoError(t, err)
		require.Equal(t, had.uri, output.GetOutputUri())
		require.Equal(t, had.at, output.GetMetadata().GetLastUpdatedAt().AsTime())
		return
	}
	delete(m.outputs, key)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

func (m *model) Delete(t *rapid.T) {
	key := m.key(t)
	err := m.c.remove(key)
	if _, there := m.outputs[key]; there {
		require.NoError(t, err)
	} else {
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	}
	delete(m.outputs, key)
}

func (m *model) Blob(t *rapid.T) {
	uri, there := uris.Draw(t, "uri"), rapid.Bool().Draw(t, "there")
	m.blobs[uri] = there
	m.c.blobs.set(uri, there)
}

func (m *model) Reserve(t *rapid.T) {
	key, owner := m.key(t), owners.Draw(t, "owner")
	got := m.c.reserve(key, owner)
	now := m.c.clock.Now()
	held, there := m.reservations[key]
	if !there || held.owner == owner || !held.until.After(now) {
		held = claim{owner, now.Add(30 * time.Second)}
		m.reservations[key] = held
	}
	require.Equal(t, held, claim{got.GetOwnerId(), got.GetExpiresAt().AsTime()})
}

func (m *model) Release(t *rapid.T) {
	key, owner := m.key(t), owners.Draw(t, "owner")
	m.c.release(key, owner)
	if m.reservations[key].owner == owner {
		delete(m.reservations, key)
	}
}

func (m *model) Step(t *rapid.T) { m.c.clock.Step(steps.Draw(t, "step")) }

func (m *model) Check(*rapid.T) {}

func TestModel(t *testing.T) {
	c := newCaching(t, nil)
	round := 0
	proptest.Check(t, func(rt *rapid.T) {
		round++
		m := &model{c: c, prefix: fmt.Sprintf("%d-", round), outputs: map[string]entry{}, reservations: map[string]claim{}, blobs: map[string]bool{}}
		for i := range 3 {
			c.blobs.set(fmt.Sprintf("/o/%d", i+1), false)
		}
		rt.Repeat(rapid.StateMachineActions(m))
	})
}
