package dataproxy_test

import (
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// limiter is the engine: it follows uploads, and adds up what has arrived.
type limiter struct {
	arrived, asked int64
	err            error
}

func newLimited(t *testing.T) (*uploading, *limiter) {
	t.Helper()
	u, l := &uploading{fixture: newFixture(t)}, &limiter{}
	u.state.admit = func(r *enginev1.AdmitUploadRequest) (*enginev1.AdmitUploadResponse, error) {
		require.Equal(t, run.Project, r.GetProject())
		l.asked = r.GetBytes()
		if l.err != nil {
			return nil, l.err
		}
		l.arrived += r.GetArrived()
		return &enginev1.AdmitUploadResponse{Followed: true}, nil
	}
	return u, l
}

func TestWhatArrivesIsReported(t *testing.T) {
	u, l := newLimited(t)
	put := u.allowed(100, false)
	require.Zero(t, l.asked)
	put()
	u.clock.Step(time.Second)
	u.allowed(50, true) // is never sent
	require.EqualValues(t, 50, l.asked)
	require.EqualValues(t, 100, l.arrived)
	for range 3 {
		u.clock.Step(time.Second)
		u.allowed(1, false)
	}
	require.EqualValues(t, 100, l.arrived, "an upload counts once, and one that does not arrive never")
}

// The same content is uploaded again and again, as by every deployment of the same code.
func TestTheSameContentCountsOnce(t *testing.T) {
	u, l := newLimited(t)
	for range 4 {
		u.files = 0
		u.allowed(100, false)()
		u.clock.Step(time.Second)
	}
	u.allowed(1, false)
	require.EqualValues(t, 100, l.arrived)
}

func TestMoreUploadsThanARequestLooksForAreCountedByLaterOnes(t *testing.T) {
	u, l := newLimited(t)
	for range 20 {
		u.allowed(10, false) // those that are never sent do not hide others
	}
	for range 20 {
		u.allowed(10, false)()
	}
	for range 10 {
		u.clock.Step(time.Second)
		u.allowed(10, false)
	}
	require.EqualValues(t, 200, l.arrived)
}

func TestInputsAreCountedWhenTheyAreWritten(t *testing.T) {
	u, l := newLimited(t)
	request := &dataproxy.UploadInputsRequest{
		Id:     &dataproxy.UploadInputsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: run.Project, Domain: run.Domain}},
		Task:   &dataproxy.UploadInputsRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{}}},
		Inputs: &task.Inputs{Context: []*core.KeyValuePair{{Key: "k", Value: "v"}}},
	}
	response, err := u.data.UploadInputs(t.Context(), request)
	require.NoError(t, err)
	info, err := u.store.Stat(t.Context(), response.GetOffloadedInputData().GetUri())
	require.NoError(t, err)
	require.Equal(t, info.Size, l.asked)
	u.clock.Step(time.Second)
	u.allowed(1, false)
	require.Equal(t, info.Size, l.arrived)
}

func TestAFullProjectUploadsNothing(t *testing.T) {
	u, l := newLimited(t)
	l.err = rpc.TryLater(time.Minute, "project %s is full", run.Project)
	u.refused(1, false, "project "+run.Project+" is full")
	l.err = errors.New("the database is away")
	_, err := u.request(1, false)
	require.Equal(t, connect.CodeInternal, connect.CodeOf(err), "%v", err)
}
