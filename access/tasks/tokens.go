package tasks

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/access/signing"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Keys are the keys that sign tokens. A key verifies for long: an attempt has one token for all of its life.
func Keys() signing.Config {
	return signing.Config{
		Purpose: "tasks", Rotate: 30 * 24 * time.Hour, Keep: 365 * 24 * time.Hour,
		Make: func() ([]byte, error) {
			key := make([]byte, macSize)
			_, _ = rand.Read(key) // never fails
			return key, nil
		},
	}
}

// Attempts knows which attempts are live; enginev1connect.EngineServiceClient does.
type Attempts interface {
	GetLiveAttempts(ctx context.Context, request *enginev1.GetLiveAttemptsRequest) (*enginev1.GetLiveAttemptsResponse, error)
}

// Apps knows which apps may run; enginev1connect.AppFleetServiceClient does.
type Apps interface {
	GetLiveApps(ctx context.Context, request *enginev1.GetLiveAppsRequest) (*enginev1.GetLiveAppsResponse, error)
}

// Deps are the dependencies. All but Apps are required.
type Deps struct {
	Keys     *signing.Ring
	Attempts Attempts
	// Apps knows which apps run; nil if no app gets a token.
	Apps Apps
	// Located keeps the controllers of clusters to what runs there; nil if no controller has a credential of its own.
	Located Located
	Clock   clock.Clock
}

// Located says whether the caller may act for a holder of secrets; located.Work does.
type Located interface {
	Check(ctx context.Context, holder *enginev1.SecretHolder, project, domain string) error
}

// Tokens issues and checks the tokens of tasks.
type Tokens struct {
	keys     *signing.Ring
	needed   bool
	located  Located
	attempts *lives
	apps     *lives
}

var (
	_ authz.Authenticator                     = (*Tokens)(nil)
	_ enginev1connect.TaskTokenServiceHandler = (*Tokens)(nil)
)

// New returns the tokens of an installation. needed says whether callers need any: if not, none is issued.
func New(needed bool, deps Deps) *Tokens {
	t := &Tokens{keys: deps.Keys, needed: needed, located: deps.Located}
	t.attempts = newLives(func(ctx context.Context, uid string) (span, error) { return attemptsOf(ctx, deps.Attempts, uid) }, deps.Clock)
	if deps.Apps != nil {
		t.apps = newLives(func(ctx context.Context, uid string) (span, error) { return revisionsOf(ctx, deps.Apps, uid) }, deps.Clock)
	}
	return t
}

// asService makes calls those of the service: the request that causes them has no caller yet.
func asService(ctx context.Context) context.Context { return authz.AsService(ctx, "access") }

func attemptsOf(ctx context.Context, from Attempts, uid string) (span, error) {
	id, err := strconv.ParseInt(uid, 10, 64)
	if err != nil {
		return span{}, nil //nolint:nilerr // no action has such a uid
	}
	response, err := from.GetLiveAttempts(asService(ctx), &enginev1.GetLiveAttemptsRequest{Uids: []int64{id}})
	if err != nil {
		return span{}, err //nolint:wrapcheck // the caller says what it means
	}
	for _, one := range response.GetAttempts() {
		if one.GetUid() == id {
			number := uint64(one.GetAttempt())
			return span{number, number}, nil
		}
	}
	return span{}, nil
}

// revisionsOf are the revisions of an app that may run, by its uid: all of one that is not stopped, since those that a new one
// replaces finish their requests.
func revisionsOf(ctx context.Context, from Apps, uid string) (span, error) {
	response, err := from.GetLiveApps(asService(ctx), &enginev1.GetLiveAppsRequest{Uids: []string{uid}})
	if err != nil {
		return span{}, err //nolint:wrapcheck // the caller says what it means
	}
	for _, one := range response.GetApps() {
		if one.GetUid() == uid {
			return span{1, one.GetRevision()}, nil
		}
	}
	return span{}, nil
}

// IssueTaskToken implements enginev1connect.TaskTokenServiceHandler.
func (t *Tokens) IssueTaskToken(ctx context.Context, request *enginev1.IssueTaskTokenRequest) (*enginev1.IssueTaskTokenResponse, error) {
	if !t.needed {
		return &enginev1.IssueTaskTokenResponse{}, nil
	}
	said, err := claimsOf(request)
	if err != nil {
		return nil, err
	}
	if t.located != nil {
		if err := t.located.Check(ctx, holderOf(request), said.project, said.domain); err != nil {
			return nil, err
		}
	}
	key, err := t.keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	token, err := sign(said, key.ID, key.Private())
	if err != nil {
		return nil, rpc.Internal(err, "the token cannot be made")
	}
	return &enginev1.IssueTaskTokenResponse{Token: token}, nil
}

// holderOf is whom a request is for, as a holder of secrets.
func holderOf(request *enginev1.IssueTaskTokenRequest) *enginev1.SecretHolder {
	if of := request.GetApp(); of != nil {
		return &enginev1.SecretHolder{Holder: &enginev1.SecretHolder_App{App: of}}
	}
	return &enginev1.SecretHolder{Holder: &enginev1.SecretHolder_Attempt{Attempt: request.GetAttempt()}}
}

func claimsOf(request *enginev1.IssueTaskTokenRequest) (claims, error) {
	if of := request.GetApp(); of != nil {
		return claims{
			kind: ofApp, uid: of.GetUid(), project: of.GetProject(), domain: of.GetDomain(), name: of.GetName(), number: of.GetRevision(),
		}, nil
	}
	ref := request.GetAttempt().GetAction()
	run := ref.GetId().GetRun()
	if ref.GetUid() <= 0 || run.GetProject() == "" || run.GetDomain() == "" || run.GetName() == "" || ref.GetId().GetName() == "" {
		return claims{}, rpc.InvalidArgument("attempt.action", "must have the uid and the whole name of an action")
	}
	return claims{
		kind: ofAttempt, uid: strconv.FormatInt(ref.GetUid(), 10), project: run.GetProject(), domain: run.GetDomain(), name: run.GetName(),
		action: ref.GetId().GetName(), number: uint64(request.GetAttempt().GetAttempt()),
	}, nil
}

// Authenticate implements authz.Authenticator: a task presents its token at the beginning of the path or as a bearer token.
func (t *Tokens) Authenticate(ctx context.Context, request authz.Request) (authz.Identity, error) {
	token := request.Token
	if token == "" {
		bearer, ok := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
		if !ok || !strings.HasPrefix(bearer, Prefix) {
			return authz.Identity{}, nil
		}
		token = bearer
	}
	said, err := t.verified(ctx, token)
	if err != nil {
		return authz.Identity{}, err
	}
	if err := t.alive(ctx, said); err != nil {
		return authz.Identity{}, err
	}
	return identityOf(said), nil
}

// Ended implements authz.Lasting: the token of a task ends with its attempt, that of an app with its revision.
func (t *Tokens) Ended(ctx context.Context, identity authz.Identity) error {
	var said claims
	switch attempt, app := identity.Attempt, identity.App; {
	case attempt != nil && attempt.UID != "":
		said = claims{
			kind: ofAttempt, uid: attempt.UID, project: attempt.Project, domain: attempt.Domain, name: attempt.Run, action: attempt.Action,
			number: uint64(attempt.Number),
		}
	case app != nil && app.UID != "":
		said = claims{kind: ofApp, uid: app.UID, project: app.Project, domain: app.Domain, name: app.Name, number: app.Revision}
	default:
		return nil
	}
	if err := t.alive(ctx, said); rpc.KindOf(err) == rpc.KindUnauthenticated {
		return err
	}
	return nil // also while no one can tell
}

// verified returns what a token says.
func (t *Tokens) verified(ctx context.Context, token string) (claims, error) {
	read, ok := open(token)
	if !ok {
		return claims{}, rpc.Unauthenticated("the token of the task is not one of this installation's; it must arrive as it was given to the task")
	}
	key, known, err := t.keys.Verifier(ctx, read.key)
	if err != nil {
		return claims{}, rpc.Unavailable(err, "the token of the task cannot be checked now; try again")
	}
	if known {
		if said, valid := read.verify(key.Private()); valid {
			return said, nil
		}
	}
	return claims{}, rpc.Unauthenticated("the token of the task is not one of this installation's; it must arrive as it was given to the task")
}

// alive fails if the holder of a token may not run now.
func (t *Tokens) alive(ctx context.Context, said claims) error {
	switch said.kind {
	case ofAttempt:
		is, err := t.attempts.live(ctx, said.uid, said.number)
		if err != nil || is {
			return err
		}
		return rpc.Unauthenticated("attempt %d of %s/%s/%s/%s has ended, and its token with it", said.number, said.project, said.domain, said.name, said.action)
	case ofApp:
		if t.apps == nil {
			break
		}
		is, err := t.apps.live(ctx, said.uid, said.number)
		if err != nil || is {
			return err
		}
		return rpc.Unauthenticated("revision %d of the app %s/%s/%s is stopped or gone, and its token with it", said.number, said.project, said.domain, said.name)
	}
	return rpc.Unauthenticated("the token is of a kind that this version does not know")
}

func identityOf(said claims) authz.Identity {
	place := said.project + "/" + said.domain + "/" + said.name
	if said.kind == ofApp {
		return authz.Identity{
			Kind: authz.Task, Subject: "app:" + place, Name: place, Credential: "revision " + strconv.FormatUint(said.number, 10),
			App: &authz.App{Project: said.project, Domain: said.domain, Name: said.name, UID: said.uid, Revision: said.number},
		}
	}
	return authz.Identity{
		Kind: authz.Task, Subject: "task:" + place + "/" + said.action, Credential: "attempt " + strconv.FormatUint(said.number, 10),
		Attempt: &authz.Attempt{
			Project: said.project, Domain: said.domain, Run: said.name, Action: said.action, UID: said.uid,
			Number: uint32(said.number), //nolint:gosec // an attempt was issued
		},
	}
}
