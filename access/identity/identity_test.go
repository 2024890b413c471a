package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/access/identity"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
)

// TestWithoutAuthentication describes the anonymous caller, and no server to sign in at.
func TestWithoutAuthentication(t *testing.T) {
	who, err := identity.Users{}.UserInfo(t.Context(), &auth.UserInfoRequest{})
	require.NoError(t, err)
	require.Equal(t, caller.AnonymousSubject, who.GetSubject())
	require.Equal(t, "anonymous", who.GetName())
	metadata, err := identity.AuthMetadata{}.GetOAuth2Metadata(t.Context(), &auth.GetOAuth2MetadataRequest{})
	require.NoError(t, err)
	require.True(t, proto.Equal(&auth.GetOAuth2MetadataResponse{}, metadata))
	client, err := identity.AuthMetadata{}.GetPublicClientConfig(t.Context(), &auth.GetPublicClientConfigRequest{})
	require.NoError(t, err)
	require.True(t, proto.Equal(&auth.GetPublicClientConfigResponse{}, client))
}
