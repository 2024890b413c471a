package caller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

func user(subject, name, email string) *common.EnrichedIdentity {
	return &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{User: &common.User{
		Id: &common.UserIdentifier{Subject: subject}, Spec: &common.UserSpec{FirstName: name, Email: email},
	}}}
}

func application(subject, name string) *common.EnrichedIdentity {
	return &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_Application{Application: &common.Application{
		Id: &common.ApplicationIdentifier{Subject: subject}, Spec: &common.AppSpec{Name: name},
	}}}
}

func TestTheKindOfTheCallerIsWritten(t *testing.T) {
	attempt := &authz.Attempt{Project: "p", Domain: "d", Run: "r1", Action: "a0", Number: 2}
	for name, c := range map[string]struct {
		from authz.Identity
		want *common.EnrichedIdentity
	}{
		"anonymous":   {authz.Identity{}, user(caller.AnonymousSubject, "", "")},
		"user":        {authz.Identity{Kind: authz.User, Subject: "ada", Name: "Ada", Email: "ada@example.com"}, user("ada", "Ada", "ada@example.com")},
		"key":         {authz.Identity{Kind: authz.Key, Subject: "key-1", Name: "nightly build"}, application("key-1", "nightly build")},
		"task":        {authz.Identity{Kind: authz.Task, Subject: "t", Attempt: attempt}, application("t", "p/d/r1/a0")},
		"task's name": {authz.Identity{Kind: authz.Task, Subject: "t", Name: "train", Attempt: attempt}, application("t", "train")},
		"service":     {authz.Identity{Kind: authz.Service, Subject: "triggers"}, application("triggers", "")},
		"worker":      {authz.Identity{Kind: authz.Worker, Subject: "w1"}, application("w1", "")},
		"cluster":     {authz.Identity{Kind: authz.Cluster, Subject: "west", Cluster: "west"}, application("west", "")},
	} {
		ctx := authz.WithIdentity(t.Context(), c.from)
		got := caller.Identity(ctx)
		require.True(t, proto.Equal(c.want, got), "%s: %s", name, got)
		require.Equal(t, caller.Subject(ctx), caller.SubjectOf(got), "%s: it is found again by the subject that UserInfo answers", name)
	}
	require.Empty(t, caller.SubjectOf(nil))
}

func TestServicesActForWhomTheyName(t *testing.T) {
	named := application("key-1", "nightly build")
	service := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.Service, Subject: "triggers"})
	require.Same(t, named, caller.Actor(service, named))
	task := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.Task, Subject: "t"})
	require.Equal(t, "t", caller.SubjectOf(caller.Actor(task, named)), "others cannot")
}
