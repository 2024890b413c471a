// Package rights serves AccessService and KeyService: who may do what, and the keys of programs. It builds on access/policy,
// which decides, access/keys and access/store. A caller gives others only what it has itself.
package rights

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/access/keys"
	"github.com/flyte-binary/flyte-binary/access/limits"
	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Config configures a Handler.
type Config struct {
	// Open means that the installation lets everybody do everything, so that a caller may give everything.
	Open bool
	// LocalAccounts means that there are some. LocalPrefix and the name of one is its subject.
	LocalAccounts bool
	LocalPrefix   string
	Keys          KeyConfig
}

// Backlog knows how much callers and projects have under way; enginev1connect.EngineServiceClient does.
type Backlog interface {
	GetBacklog(ctx context.Context, request *enginev1.GetBacklogRequest) (*enginev1.GetBacklogResponse, error)
	// GetStored tells how much a project or a caller has in the object store.
	GetStored(ctx context.Context, request *enginev1.GetStoredRequest) (*enginev1.GetStoredResponse, error)
}

// Uploads knows how much callers and projects have uploaded within a day; enginev1connect.UploadServiceClient does.
type Uploads interface {
	GetUploaded(ctx context.Context, request *enginev1.GetUploadedRequest) (*enginev1.GetUploadedResponse, error)
}

// Deps are the dependencies of a Handler. All but Backlog and Uploads are required.
type Deps struct {
	Store  *store.Store
	Policy *policy.Policy
	Keys   *keys.Keys
	Limits *limits.Limiter
	// Backlog may be nil.
	Backlog Backlog
	// Uploads may be nil.
	Uploads Uploads
	Clock   clock.Clock
}

// Handler serves AccessService.
type Handler struct {
	accessv1connect.UnimplementedAccessServiceHandler
	config Config
	Deps
}

// NewHandler returns the handler of AccessService.
func NewHandler(config Config, deps Deps) *Handler { return &Handler{config: config, Deps: deps} }

// pages are the sizes of pages.
const (
	pageDefault = 100
	pageMost    = 1000
)

func pageOf(limit uint32) int {
	if limit == 0 {
		return pageDefault
	}
	return int(min(limit, pageMost))
}

// token makes a token of the parts of a key; parts reads it again.
func token(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\x00")))
}

func parts(token string, count int) ([]string, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	found := strings.Split(string(raw), "\x00")
	if err != nil || len(found) != count {
		return nil, rpc.InvalidArgument("token", "is not the token of a page of this list")
	}
	return found, nil
}

// GetMe implements AccessServiceHandler.
func (h *Handler) GetMe(ctx context.Context, _ *accessv1.GetMeRequest) (*accessv1.GetMeResponse, error) {
	identity := authz.IdentityFrom(ctx)
	me := &accessv1.GetMeResponse{
		Kind: identity.Kind.String(), Subject: identity.Subject, Name: identity.Name, Email: identity.Email, Groups: identity.Groups,
		Credential: identity.Credential, Open: h.config.Open, Ask: h.Policy.Ask(),
	}
	if h.config.Open {
		me.Grants = []*accessv1.Grant{{Scope: &accessv1.Scope{}, Roles: []string{policy.Operator}, Permissions: policy.Permissions()}}
		return me, nil
	}
	if name, ok := h.account(identity.Subject); ok && identity.Kind == authz.User {
		me.Account = name
	}
	if identity.Kind == authz.Key {
		key, err := h.Store.Key(ctx, identity.Subject)
		if err != nil {
			return nil, keyError(err, identity.Subject)
		}
		me.ExpiresAt = timeOf(key.ExpiresAt)
	}
	grants, err := h.Policy.GrantsOf(ctx, identity)
	if err != nil {
		return nil, err
	}
	for _, grant := range grants {
		me.Grants = append(me.Grants, &accessv1.Grant{Scope: scopeOf(grant.Place), Roles: grant.Roles, Permissions: grant.Permissions})
	}
	return me, nil
}

// all reports whether some are all among others.
func all(some, others []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(others, one) })
}

// Explain implements AccessServiceHandler. Everyone may ask about themselves, with the groups that they have.
func (h *Handler) Explain(ctx context.Context, request *accessv1.ExplainRequest) (*accessv1.ExplainResponse, error) {
	if !slices.Contains(policy.Permissions(), request.GetPermission()) {
		return nil, rpc.InvalidArgument("permission", "there is no permission %q; the roles list all that there are", request.GetPermission())
	}
	identity, place := authz.IdentityFrom(ctx), placeOf(request.GetScope())
	member, groups := memberOf(request.GetMember()), request.GetGroups()
	own := store.Member{Kind: store.UserMember, Name: identity.Subject}
	if identity.Kind == authz.Key {
		own.Kind = store.KeyMember
	}
	if request.GetMember() == nil {
		member, groups = own, identity.Groups
	} else if member != own || !all(groups, identity.Groups) {
		// Bindings of groups are in the answer, so the groups must be the caller's, too.
		if err := h.require(ctx, policy.AccessExplain, place); err != nil {
			return nil, err
		}
	}
	explained, err := h.Policy.Explain(ctx, member, groups, request.GetPermission(), place)
	if err != nil {
		return nil, err
	}
	return &accessv1.ExplainResponse{
		Allowed: explained.Allowed, Bindings: bindingsOf(explained.Bindings), Reason: explained.Reason, Roles: explained.Roles,
	}, nil
}

// Changed makes a change hold for the next request to this process. Other replicas are notified.
func (h *Handler) Changed(ctx context.Context) {
	if err := h.Policy.Refresh(ctx); err != nil {
		h.Policy.Notice() // the change is made; the loop of the policy finds it
	}
}

// require refuses a caller who does not have a permission in all of a place.
func (h *Handler) require(ctx context.Context, permission string, place authz.Place) error {
	if h.config.Open {
		return nil
	}
	allowed, err := h.Policy.Allows(ctx, authz.IdentityFrom(ctx), permission, place)
	if err == nil && !allowed {
		return h.Policy.Refusal(ctx, permission, place, caller.Subject(ctx))
	}
	return err
}

// requireAll refuses a caller who does not have all permissions of a role in all of a place: a caller gives only what it has.
func (h *Handler) requireAll(ctx context.Context, role store.Role, place authz.Place) error {
	if h.config.Open {
		return nil
	}
	missing, err := h.Policy.Missing(ctx, authz.IdentityFrom(ctx), role, place)
	if err != nil || len(missing) == 0 {
		return err
	}
	return authz.Denied("you cannot give the role %s %s: it has permissions that you do not have there, such as %s", role.Name, policy.In(place), missing[0])
}

// role is the role that a request names in a place.
func (h *Handler) role(ctx context.Context, field, name string, place authz.Place) (store.Role, error) {
	role, known, err := h.Policy.Role(ctx, name)
	switch {
	case err != nil:
		return store.Role{}, err
	case !known:
		return store.Role{}, rpc.NotFound("there is no role %q", name)
	case name == policy.Operator && place != authz.Place{}:
		return store.Role{}, rpc.InvalidArgument(field, "the role operator is for the whole installation: leave the scope empty, or give admin")
	}
	return role, nil
}

func memberOf(m *accessv1.Member) store.Member {
	kinds := map[accessv1.MemberKind]store.MemberKind{
		accessv1.MemberKind_MEMBER_KIND_USER: store.UserMember, accessv1.MemberKind_MEMBER_KIND_GROUP: store.GroupMember,
		accessv1.MemberKind_MEMBER_KIND_KEY: store.KeyMember,
	}
	return store.Member{Kind: kinds[m.GetKind()], Name: m.GetName()}
}

func placeOf(scope *accessv1.Scope) authz.Place {
	return authz.Place{Project: scope.GetProject(), Domain: scope.GetDomain()}
}

func scopeOf(place authz.Place) *accessv1.Scope {
	return &accessv1.Scope{Project: place.Project, Domain: place.Domain}
}

func memberMessage(m store.Member) *accessv1.Member {
	kinds := map[store.MemberKind]accessv1.MemberKind{
		store.UserMember: accessv1.MemberKind_MEMBER_KIND_USER, store.GroupMember: accessv1.MemberKind_MEMBER_KIND_GROUP,
		store.KeyMember: accessv1.MemberKind_MEMBER_KIND_KEY,
	}
	return &accessv1.Member{Kind: kinds[m.Kind], Name: m.Name}
}

func bindingsOf(all []store.Binding) (bindings []*accessv1.Binding) {
	for _, b := range all {
		binding := &accessv1.Binding{
			Id: b.ID, Member: memberMessage(b.Member), Role: b.Role,
			Scope: &accessv1.Scope{Project: b.Project, Domain: b.Domain}, CreatedBy: b.CreatedBy,
		}
		if !b.CreatedAt.IsZero() {
			binding.CreatedAt = timestamppb.New(b.CreatedAt)
		}
		bindings = append(bindings, binding)
	}
	return bindings
}

// number is the id of a binding in a token.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, rpc.InvalidArgument("token", "is not the token of a page of this list")
	}
	return n, nil
}
