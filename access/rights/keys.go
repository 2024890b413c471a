package rights

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// KeyConfig is what the configuration says of keys.
type KeyConfig struct {
	// MaxLifetime is the longest lifetime of a key; 0 allows keys without an end.
	MaxLifetime time.Duration
	// PublicURL is where clients reach this installation.
	PublicURL string
}

// KeyHandler serves KeyService.
type KeyHandler struct {
	accessv1connect.UnimplementedKeyServiceHandler
	*Handler
}

// bindingCreate is the permission of those who give roles. They may make keys that have roles of their own.
const bindingCreate = "binding.create"

// CreateKey implements KeyServiceHandler. A key never has more than its maker; one of a service has what its maker has now.
func (h KeyHandler) CreateKey(ctx context.Context, request *accessv1.CreateKeyRequest) (*accessv1.CreateKeyResponse, error) {
	if authz.IdentityFrom(ctx).Kind == authz.Key {
		return nil, authz.Denied("a key cannot make keys, which would be valid after it was revoked; sign in as a person")
	}
	lifetime, err := h.lifetime(request)
	if err != nil {
		return nil, err
	}
	var bindings []store.Binding
	known := map[string]bool{}
	for i, asked := range request.GetRoles() {
		place := placeOf(asked.GetScope())
		role, err := h.role(ctx, fmt.Sprintf("roles[%d].scope", i), asked.GetRole(), place)
		if err != nil {
			return nil, err
		}
		if err := h.requireAll(ctx, role, place); err != nil {
			return nil, err
		}
		if request.GetService() {
			if err := h.require(ctx, bindingCreate, place); err != nil {
				return nil, err
			}
		}
		known[role.Name] = role.BuiltIn || role.Configured
		bindings = append(bindings, store.Binding{Role: role.Name, Project: place.Project, Domain: place.Domain})
	}
	key := store.Key{
		Name: request.GetName(), Owner: caller.Subject(ctx), OwnerGroups: authz.IdentityFrom(ctx).Groups, Service: request.GetService(),
	}
	if credential := authz.IdentityFrom(ctx).Credential; sessions.IsID(credential) {
		key.Session = credential
	}
	made, err := h.Keys.Create(ctx, key, lifetime, bindings, func(role string) bool { return known[role] })
	switch {
	case errors.Is(err, store.ErrNone):
		return nil, rpc.NotFound("a role of the key was deleted meanwhile")
	case errors.Is(err, store.ErrEnded):
		return nil, rpc.Unauthenticated("the session has ended; sign in again")
	case err != nil:
		return nil, err
	}
	for i := range bindings {
		bindings[i].Member.Name = made.Key.ID
	}
	h.Changed(ctx)
	return &accessv1.CreateKeyResponse{
		Key: keyOf(made.Key, bindings), Secret: made.Secret, FlyteApiKey: FlyteAPIKey(h.config.Keys.PublicURL, made.Key.ID, made.Secret),
	}, nil
}

// lifetime is how long the key of a request is valid; 0 means without an end.
func (h KeyHandler) lifetime(request *accessv1.CreateKeyRequest) (time.Duration, error) {
	most := h.config.Keys.MaxLifetime
	if request.GetLifetime() == nil {
		return most, nil
	}
	asked := request.GetLifetime().AsDuration()
	switch {
	case asked < time.Minute:
		return 0, rpc.InvalidArgument("lifetime", "must be at least 1m, got %s", asked)
	case most > 0 && asked > most:
		return 0, rpc.InvalidArgument("lifetime", "must be at most %s, which is access.keys.maxLifetime, got %s", most, asked)
	}
	return asked, nil
}

// FlyteAPIKey is a key as the variable FLYTE_API_KEY takes it, for an installation at a URL. It has no place for a port, and clients use
// 443: so it is empty for an installation at another one, or they would send the secret to another server.
func FlyteAPIKey(publicURL, id, secret string) string {
	at, err := url.Parse(publicURL)
	if err != nil || at.Hostname() == "" || at.Port() != "443" && (at.Port() != "" || at.Scheme != "https") {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(at.Hostname() + ":" + id + ":" + secret + ":"))
}

// ListKeys implements KeyServiceHandler.
func (h KeyHandler) ListKeys(ctx context.Context, request *accessv1.ListKeysRequest) (*accessv1.ListKeysResponse, error) {
	limit := pageOf(request.GetLimit())
	filter := store.KeyFilter{Owner: caller.Subject(ctx), Ended: request.GetEnded(), Limit: limit + 1}
	if request.GetAll() {
		if err := h.require(ctx, policy.KeyAdminister, authz.Place{}); err != nil {
			return nil, err
		}
		filter.Owner = ""
	}
	if request.GetToken() != "" {
		key, err := parts(request.GetToken(), 2)
		if err != nil {
			return nil, err
		}
		if filter.BeforeTime, err = time.Parse(time.RFC3339Nano, key[0]); err != nil {
			return nil, rpc.InvalidArgument("token", "is not the token of a page of this list")
		}
		filter.BeforeID = key[1]
	}
	listed, err := h.Store.ListKeys(ctx, filter)
	if err != nil {
		return nil, err
	}
	response := &accessv1.ListKeysResponse{}
	if len(listed) > limit {
		listed = listed[:limit]
		last := listed[limit-1]
		response.Token = token(last.CreatedAt.UTC().Format(time.RFC3339Nano), last.ID)
	}
	response.Keys, err = h.withRoles(ctx, listed...)
	return response, err
}

// RevokeKey implements KeyServiceHandler.
func (h KeyHandler) RevokeKey(ctx context.Context, request *accessv1.RevokeKeyRequest) (*accessv1.RevokeKeyResponse, error) {
	id := request.GetId()
	key, err := h.Store.Key(ctx, id)
	if err != nil {
		return nil, keyError(err, id)
	}
	if key.Owner != caller.Subject(ctx) {
		if err := h.require(ctx, policy.KeyAdminister, authz.Place{}); err != nil {
			if rpc.KindOf(err) == rpc.KindPermissionDenied {
				err = keyError(store.ErrNone, id) // ids of keys are not for everybody
			}
			return nil, err
		}
	}
	if err := h.Store.RevokeKey(ctx, id); err != nil {
		return nil, err
	}
	h.Keys.Forget()
	if key, err = h.Store.Key(ctx, id); err != nil {
		return nil, keyError(err, id)
	}
	revoked, err := h.withRoles(ctx, key)
	if err != nil {
		return nil, err
	}
	h.Changed(ctx)
	return &accessv1.RevokeKeyResponse{Key: revoked[0]}, nil
}

func keyError(err error, id string) error {
	if errors.Is(err, store.ErrNone) {
		return rpc.NotFound("there is no key %s, or it is not yours", id)
	}
	return err
}

// withRoles are keys with the roles that they have.
func (h KeyHandler) withRoles(ctx context.Context, all ...store.Key) (keys []*accessv1.Key, err error) {
	var members []store.Member
	for _, key := range all {
		members = append(members, store.Member{Kind: store.KeyMember, Name: key.ID})
	}
	bindings, err := h.Store.BindingsOf(ctx, members)
	if err != nil {
		return nil, err
	}
	for _, key := range all {
		keys = append(keys, keyOf(key, bindings))
	}
	return keys, nil
}

func keyOf(key store.Key, bindings []store.Binding) *accessv1.Key {
	made := &accessv1.Key{
		Id: key.ID, Name: key.Name, Owner: key.Owner, CreatedAt: timestamppb.New(key.CreatedAt), ExpiresAt: timeOf(key.ExpiresAt),
		RevokedAt: timeOf(key.RevokedAt), LastUsedAt: timeOf(key.LastUsedAt), Hint: key.Hint, Service: key.Service,
	}
	for _, b := range bindings {
		if b.Member.Name == key.ID {
			made.Roles = append(made.Roles, &accessv1.KeyRole{Role: b.Role, Scope: &accessv1.Scope{Project: b.Project, Domain: b.Domain}})
		}
	}
	return made
}

func timeOf(at *time.Time) *timestamppb.Timestamp {
	if at == nil {
		return nil
	}
	return timestamppb.New(*at)
}
