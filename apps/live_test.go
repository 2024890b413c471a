package apps_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// TestLiveAppsAreKnownByUid: a stopped app and a deleted one are not live, and a new one of the same name is another one.
func TestLiveAppsAreKnownByUid(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	uid := func(name string) string {
		t.Helper()
		require.Eventually(t, func() bool { return d.of(name) != nil }, wait, time.Millisecond)
		return d.of(name).GetUid()
	}
	live := func(uids ...string) map[string]uint64 {
		t.Helper()
		answer, err := f.fleet.GetLiveApps(t.Context(), &enginev1.GetLiveAppsRequest{Uids: uids})
		require.NoError(t, err)
		found := map[string]uint64{}
		for _, one := range answer.GetApps() {
			found[one.GetUid()] = one.GetRevision()
		}
		return found
	}
	f.create(command("one"))
	two := f.create(command("two"))
	one, other := uid("one"), uid("two")
	require.Equal(t, map[string]uint64{one: 1, other: 1}, live(one, other, "unknown"))
	f.update(command("one", "A", "b"))
	require.Equal(t, map[string]uint64{one: 2}, live(one))

	two.Spec.DesiredState = app.Spec_DESIRED_STATE_STOPPED
	f.update(two)
	require.Empty(t, live(other))
	_, err := f.api.Delete(t.Context(), &app.DeleteRequest{AppId: id("one")})
	require.NoError(t, err)
	require.Empty(t, live(one))
	require.Eventually(t, func() bool { return d.of("one") == nil }, wait, 1)
	f.create(command("one"))
	again := uid("one")
	require.NotEqual(t, one, again)
	require.Equal(t, map[string]uint64{again: 1}, live(one, again))
}
