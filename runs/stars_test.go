package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs/stars"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	starred "github.com/flyte-binary/flyte-binary/runs/store/stars"
)

func starOfRun(name string) *insightv1.StarTarget {
	return &insightv1.StarTarget{Project: "flytesnacks", Domain: "development", Target: &insightv1.StarTarget_Run{Run: name}}
}

func starOfTask(name string) *insightv1.StarTarget {
	return &insightv1.StarTarget{Project: "flytesnacks", Domain: "development", Target: &insightv1.StarTarget_Task{Task: name}}
}

// TestStars are a person's own, the newest first, with the runs as they are, and only those in places that the caller sees.
func TestStars(t *testing.T) {
	p := &past{r: newReadFixture(t, nil), t: t}
	p.add(time.Hour, 6, func(r *schema.Root) { r.RunName = "kept" })
	handler := &stars.Handler{Store: starred.New(p.r.pool), Clock: p.r.clock}
	ada := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: "ada"})
	for _, target := range []*insightv1.StarTarget{starOfRun("kept"), starOfTask("env.train"), starOfRun("gone"), starOfRun("kept")} {
		_, err := handler.AddStar(ada, &insightv1.AddStarRequest{Target: target})
		require.NoError(t, err)
		p.r.clock.Step(time.Second)
	}
	answer, err := handler.ListStars(ada, &insightv1.ListStarsRequest{})
	require.NoError(t, err)
	require.Len(t, answer.GetStars(), 3)
	require.Equal(t, "gone", answer.GetStars()[0].GetTarget().GetRun())
	require.Nil(t, answer.GetStars()[0].GetRun())
	require.Equal(t, "env.train", answer.GetStars()[1].GetTarget().GetTask())
	require.Equal(t, "kept", answer.GetStars()[2].GetTarget().GetRun())
	require.Equal(t, common.ActionPhase_ACTION_PHASE_FAILED, answer.GetStars()[2].GetRun().GetAction().GetStatus().GetPhase())

	others, err := handler.ListStars(t.Context(), &insightv1.ListStarsRequest{})
	require.NoError(t, err)
	require.Empty(t, others.GetStars())
	elsewhere := authz.WithScope(ada, authz.Scope{Places: []authz.Place{{Project: "flytesnacks", Domain: "production"}}})
	others, err = handler.ListStars(elsewhere, &insightv1.ListStarsRequest{})
	require.NoError(t, err)
	require.Empty(t, others.GetStars())

	for range 2 {
		_, err = handler.RemoveStar(ada, &insightv1.RemoveStarRequest{Target: starOfRun("gone")})
		require.NoError(t, err)
	}
	answer, err = handler.ListStars(ada, &insightv1.ListStarsRequest{})
	require.NoError(t, err)
	require.Len(t, answer.GetStars(), 2)
}

// TestThereAreSoManyStars: a person can have 200; one that is there may be given again, and another can be removed for a new one.
func TestThereAreSoManyStars(t *testing.T) {
	r := newReadFixture(t, nil)
	for i := range 200 {
		_, err := r.stars.AddStar(t.Context(), &insightv1.AddStarRequest{Target: starOfRun(fmt.Sprint("run", i))})
		require.NoError(t, err)
	}
	_, err := r.stars.AddStar(t.Context(), &insightv1.AddStarRequest{Target: starOfRun("another")})
	refused(t, err, connect.CodeFailedPrecondition, "200 stars")
	_, err = r.stars.AddStar(t.Context(), &insightv1.AddStarRequest{Target: starOfRun("run7")})
	require.NoError(t, err)
	_, err = r.stars.RemoveStar(t.Context(), &insightv1.RemoveStarRequest{Target: starOfRun("run7")})
	require.NoError(t, err)
	_, err = r.stars.AddStar(t.Context(), &insightv1.AddStarRequest{Target: starOfTask("another")})
	require.NoError(t, err)
	answer, err := r.stars.ListStars(t.Context(), &insightv1.ListStarsRequest{})
	require.NoError(t, err)
	require.Len(t, answer.GetStars(), 200)

	for words, target := range map[string]*insightv1.StarTarget{
		"target": {Project: "flytesnacks", Domain: "development"}, "domain": {Project: "p", Target: &insightv1.StarTarget_Run{Run: "r"}},
		"target.task": starOfTask(strings.Repeat("x", 301)),
	} {
		_, err := r.stars.AddStar(t.Context(), &insightv1.AddStarRequest{Target: target})
		refused(t, err, connect.CodeInvalidArgument, words)
		_, err = r.stars.RemoveStar(t.Context(), &insightv1.RemoveStarRequest{Target: target})
		refused(t, err, connect.CodeInvalidArgument, words)
	}
}
