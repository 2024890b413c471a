package taskactions

import (
	"testing"

	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

func assigned(uids ...int64) []*enginev1.Assignment {
	result := make([]*enginev1.Assignment, len(uids))
	for i, uid := range uids {
		result[i] = &enginev1.Assignment{Ref: &enginev1.ActionRef{Uid: uid}}
	}
	return result
}

func TestPagesOfAssignments(t *testing.T) {
	d := newDesired(3)
	for _, a := range assigned(1, 2, 3, 4, 5, 6, 7, 8) {
		d.assign(a)
	}
	require.NotNil(t, d.assignment(3))
	require.Nil(t, d.assignment(4), "there was no room")
	require.Equal(t, []int64{4}, d.page(4, 100), "nor is there now")
	for uid := range int64(3) {
		d.made(uid + 1)
	}
	d.release(5)
	require.Equal(t, []int64{4, 6, 7}, d.page(4, 100), "as many as may be kept")
	require.Equal(t, []int64{4, 6}, d.page(4, 2), "no larger than asked for")
	require.Equal(t, []int64{8, 4, 6}, d.page(8, 100), "a call that fails takes nothing away")

	d.made(6)
	d.fetched([]int64{4, 6, 7}, assigned(4, 6))
	require.NotNil(t, d.assignment(4))
	require.Nil(t, d.assignment(6), "an old assignment must not create a second object")
	live, _ := d.isLive(7)
	require.False(t, live, "it was not found")
	require.Equal(t, []int64{8}, d.page(8, 100))
}

func TestOnlyWantedAssignmentsAreFetchedAhead(t *testing.T) {
	d := newDesired(2)
	for _, a := range assigned(1, 2, 3, 4) {
		d.assign(a)
	}
	d.replace(map[int64]uint32{1: 0, 4: 0, 9: 0})
	require.Equal(t, []int64{9}, d.page(9, 1))
	require.Equal(t, []int64{4}, d.page(4, 100), "3 is not live any more, and 9 was not found missing")
	d.miss([]int64{9, 10})
	d.made(1)
	require.Equal(t, []int64{4, 9}, d.page(4, 100), "10 is not live")
	d.fetched([]int64{4, 9}, assigned(4, 9))
	require.True(t, d.made(9), "it was missing")
	require.False(t, d.made(4))
}
