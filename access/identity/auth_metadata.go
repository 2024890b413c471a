package identity

import (
	"context"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"github.com/flyte-binary/flyte-binary/access/authserver"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
)

// headerName is the header in which clients present their tokens.
const headerName = "authorization"

// AuthMetadata serves AuthMetadataService.
type AuthMetadata struct {
	// Server describes the authorization server; nil without authentication.
	Server func() *oidc.DiscoveryConfiguration
}

var _ authconnect.AuthMetadataServiceHandler = AuthMetadata{}

// GetOAuth2Metadata implements authconnect.AuthMetadataServiceHandler. Without authentication there is no server to log
// in at, which the empty answer says; clients that look first continue without a token.
func (a AuthMetadata) GetOAuth2Metadata(context.Context, *auth.GetOAuth2MetadataRequest) (*auth.GetOAuth2MetadataResponse, error) {
	if a.Server == nil {
		return &auth.GetOAuth2MetadataResponse{}, nil
	}
	about := a.Server()
	return &auth.GetOAuth2MetadataResponse{
		Issuer: about.Issuer, AuthorizationEndpoint: about.AuthorizationEndpoint, TokenEndpoint: about.TokenEndpoint, JwksUri: about.JwksURI,
		DeviceAuthorizationEndpoint: about.DeviceAuthorizationEndpoint, ResponseTypesSupported: about.ResponseTypesSupported,
		ScopesSupported: about.ScopesSupported, GrantTypesSupported: texts(about.GrantTypesSupported),
		TokenEndpointAuthMethodsSupported: texts(about.TokenEndpointAuthMethodsSupported),
		CodeChallengeMethodsSupported:     texts(about.CodeChallengeMethodsSupported),
	}, nil
}

// texts are values of a type of the library as plain ones.
func texts[T ~string](values []T) []string {
	plain := make([]string, len(values))
	for i, value := range values {
		plain[i] = string(value)
	}
	return plain
}

// GetPublicClientConfig implements authconnect.AuthMetadataServiceHandler; the answer is empty without authentication, too.
func (a AuthMetadata) GetPublicClientConfig(context.Context, *auth.GetPublicClientConfigRequest) (*auth.GetPublicClientConfigResponse, error) {
	if a.Server == nil {
		return &auth.GetPublicClientConfigResponse{}, nil
	}
	return &auth.GetPublicClientConfigResponse{
		ClientId: authserver.CommandLine, RedirectUri: authserver.RedirectURI, Scopes: authserver.Scopes(),
		AuthorizationMetadataKey: headerName, Audience: authserver.Audience,
	}, nil
}
