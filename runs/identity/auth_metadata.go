package identity

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
)

// AuthMetadata serves AuthMetadataService.
type AuthMetadata struct{}

var _ authconnect.AuthMetadataServiceHandler = AuthMetadata{}

// GetOAuth2Metadata implements authconnect.AuthMetadataServiceHandler. Without authentication there is no server to log
// in at, which the empty answer says; clients that look first continue without a token.
func (AuthMetadata) GetOAuth2Metadata(context.Context, *auth.GetOAuth2MetadataRequest) (*auth.GetOAuth2MetadataResponse, error) {
	return &auth.GetOAuth2MetadataResponse{}, nil
}

// GetPublicClientConfig implements authconnect.AuthMetadataServiceHandler; the answer is empty, too.
func (AuthMetadata) GetPublicClientConfig(context.Context, *auth.GetPublicClientConfigRequest) (*auth.GetPublicClientConfigResponse, error) {
	return &auth.GetPublicClientConfigResponse{}, nil
}
