package dataproxy_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	config "github.com/flyte-binary/flyte-binary/dataproxy"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// by is a call of a caller of a kind.
func by(ctx context.Context, kind authz.Kind, subject string) context.Context {
	return authz.WithIdentity(ctx, authz.Identity{Kind: kind, Subject: subject})
}

// sendAs uploads a file of a size, with content that is new.
func (u *uploading) sendAs(ctx context.Context, size int, declared bool) error {
	u.files++
	body := fmt.Appendf(make([]byte, 0, max(size, 20)), "%019d", u.files)
	body = append(body, make([]byte, max(0, size-len(body)))...)
	request := upload(body)
	if declared {
		request.ContentLength = int64(len(body))
	}
	location, err := u.data.CreateUploadLocation(ctx, request)
	if err != nil {
		return err
	}
	headers := location.GetHeaders()
	headers["Content-MD5"] = base64.StdEncoding.EncodeToString(request.GetContentMd5())
	status, text := u.send(http.MethodPut, location.GetSignedUrl(), body, headers)
	require.Equal(u.t, http.StatusOK, status, text)
	return nil
}

func (u *uploading) uploaded(of *enginev1.GetUploadedRequest) int64 {
	answer, err := u.quota.GetUploaded(u.t.Context(), of)
	require.NoError(u.t, err)
	return answer.GetUsed()
}

// TestCallersHaveALimitOfUploadedBytes: people and API keys have one, in all projects together. Tasks count for their project alone.
func TestCallersHaveALimitOfUploadedBytes(t *testing.T) {
	u := &uploading{fixture: newFixture(t, func(c *config.Config) { c.CallerUploadBytesPerDay = 1000 })}
	ada := by(t.Context(), authz.User, "ada")
	require.NoError(t, u.sendAs(ada, 900, true))
	err := u.sendAs(ada, 200, true)
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "ada has uploaded 900 bytes within a day, and may upload 1000 (dataproxy.callerUploadBytesPerDay); try again in 2h24m0s")
	require.ErrorContains(t, u.sendAs(ada, 1001, true), "the file has 1001 bytes, and ada uploads at most 1000 a day (dataproxy.callerUploadBytesPerDay)")
	for _, other := range []context.Context{by(t.Context(), authz.Key, "key"), by(t.Context(), authz.Task, "task:p/d/r/a0"), by(t.Context(), authz.Anonymous, "")} {
		require.NoError(t, u.sendAs(other, 900, true))
	}
	require.NoError(t, u.sendAs(by(t.Context(), authz.Task, "task:p/d/r/a0"), 900, true))
	require.EqualValues(t, 900, u.uploaded(&enginev1.GetUploadedRequest{Caller: "ada"}))
	require.Zero(t, u.uploaded(&enginev1.GetUploadedRequest{Project: run.Project}), "it has no limit, so nothing is counted")
	u.clock.Step(2*time.Hour + 24*time.Minute)
	require.NoError(t, u.sendAs(ada, 200, true), "after the time that the refusal named")
}

// TestARefusedUploadCountsForNobody: what the project refuses does not count for the caller.
func TestARefusedUploadCountsForNobody(t *testing.T) {
	u := &uploading{fixture: newFixture(t, func(c *config.Config) { c.CallerUploadBytesPerDay, c.ProjectUploadBytesPerDay = 1000, 500 })}
	ada := by(t.Context(), authz.User, "ada")
	require.ErrorContains(t, u.sendAs(ada, 600, true), "project flytesnacks uploads at most 500 a day")
	require.Zero(t, u.uploaded(&enginev1.GetUploadedRequest{Caller: "ada"}))
}

// TestUploadsOfCallersAddUpToThoseOfProjects: callers together have uploaded what projects have.
func TestUploadsOfCallersAddUpToThoseOfProjects(t *testing.T) {
	proptest.Check(t, func(r *rapid.T) {
		limit := rapid.Int64Range(100, 2000).Draw(r, "limit")
		u := &uploading{fixture: newFixture(t, func(c *config.Config) { c.CallerUploadBytesPerDay, c.ProjectUploadBytesPerDay = limit, 1_000_000 })}
		names := []string{"ada", "bob", "eve"}
		want := map[string]int64{}
		for range rapid.IntRange(1, 15).Draw(r, "uploads") {
			who, size := rapid.SampledFrom(names).Draw(r, "caller"), rapid.IntRange(20, 500).Draw(r, "size")
			if u.sendAs(by(t.Context(), authz.User, who), size, rapid.Bool().Draw(r, "declared")) == nil {
				want[who] += int64(size)
			}
		}
		var together int64
		for _, who := range names {
			for range 2 { // each looks for eight uploads
				u.uploaded(&enginev1.GetUploadedRequest{Caller: who})
				u.uploaded(&enginev1.GetUploadedRequest{Project: run.Project})
			}
			used := u.uploaded(&enginev1.GetUploadedRequest{Caller: who})
			require.Equal(r, want[who], used, who)
			together += used
		}
		require.Equal(r, together, u.uploaded(&enginev1.GetUploadedRequest{Project: run.Project}))
	})
}

// TestWhatArrivesIsReportedByCaller: who asks for an upload is reported with it, and with what has arrived.
func TestWhatArrivesIsReportedByCaller(t *testing.T) {
	u, arrived := &uploading{fixture: newFixture(t)}, map[string]int64{}
	var last *enginev1.AdmitUploadRequest
	u.state.admit = func(r *enginev1.AdmitUploadRequest) (*enginev1.AdmitUploadResponse, error) {
		last = r
		arrived[""] += r.GetArrived()
		for _, of := range r.GetArrivedOf() {
			arrived[of.GetCaller()] += of.GetBytes()
		}
		return &enginev1.AdmitUploadResponse{Followed: true}, nil
	}
	require.NoError(t, u.sendAs(by(t.Context(), authz.User, "ada"), 100, false))
	require.Equal(t, "ada", last.GetCaller())
	require.Contains(t, last.GetUri(), "/uploads/"+run.Project+"/")
	require.NoError(t, u.sendAs(by(t.Context(), authz.Task, "task:p/d/r/a0"), 50, false))
	require.Empty(t, last.GetCaller())
	u.clock.Step(time.Second)
	require.NoError(t, u.sendAs(by(t.Context(), authz.User, "bob"), 30, false))
	u.clock.Step(time.Second)
	u.allowed(1, false)
	require.Equal(t, map[string]int64{"ada": 100, "": 50, "bob": 30}, arrived)
}
