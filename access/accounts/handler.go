package accounts

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Handler serves AccountService.
type Handler struct {
	accessv1connect.UnimplementedAccountServiceHandler
	// Accounts and Sessions are nil in an installation without local accounts, and without sign-in.
	Accounts *Accounts
	Sessions *sessions.Sessions
	Store    *store.Store
	// Changed makes changes of keys and bindings hold for the next request to this process. Other replicas are notified.
	Changed func(ctx context.Context)
}

// local are the accounts of an installation that has some.
func (h *Handler) local() (*Accounts, error) {
	if h.Accounts == nil {
		return nil, rpc.FailedPrecondition("this installation has no local accounts; access.local.enabled turns them on")
	}
	return h.Accounts, nil
}

// forget makes the end of what a subject had hold at once in this process.
func (h *Handler) forget(ctx context.Context, subject string) {
	if h.Sessions != nil {
		h.Sessions.Forget(subject)
	}
	h.Changed(ctx)
}

// failure is the error for the client about an account.
func failure(err error, name string) error {
	switch {
	case errors.Is(err, store.ErrNone):
		return rpc.NotFound("there is no account %s", name)
	case errors.Is(err, store.ErrExists):
		return rpc.AlreadyExists("there is an account %s", name)
	default:
		return err
	}
}

// ListAccounts implements AccountServiceHandler.
func (h *Handler) ListAccounts(ctx context.Context, _ *accessv1.ListAccountsRequest) (*accessv1.ListAccountsResponse, error) {
	accounts, err := h.local()
	if err != nil {
		return nil, err
	}
	all, err := accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	response := &accessv1.ListAccountsResponse{}
	for _, account := range all {
		response.Accounts = append(response.Accounts, accounts.message(account))
	}
	return response, nil
}

func (a *Accounts) message(account store.Account) *accessv1.Account {
	return &accessv1.Account{
		Name: account.Name, DisplayName: account.DisplayName, Email: account.Email, Groups: account.Groups, Subject: a.Subject(account.Name),
		CreatedAt: timestamppb.New(account.CreatedAt), LockedUntil: timeOf(account.LockedUntil), RemovedAt: timeOf(account.RemovedAt),
	}
}

func timeOf(at *time.Time) *timestamppb.Timestamp {
	if at == nil {
		return nil
	}
	return timestamppb.New(*at)
}

// CreateAccount implements AccountServiceHandler.
func (h *Handler) CreateAccount(ctx context.Context, request *accessv1.CreateAccountRequest) (*accessv1.CreateAccountResponse, error) {
	accounts, err := h.local()
	if err != nil {
		return nil, err
	}
	asked := request.GetAccount()
	account := store.Account{Name: asked.GetName(), DisplayName: asked.GetDisplayName(), Email: asked.GetEmail(), Groups: asked.GetGroups()}
	if err := accounts.Create(ctx, account, request.GetPassword()); err != nil {
		return nil, failure(err, account.Name)
	}
	made, err := accounts.stored(ctx, account.Name)
	return &accessv1.CreateAccountResponse{Account: made}, err
}

// stored is an account as it is stored.
func (a *Accounts) stored(ctx context.Context, name string) (*accessv1.Account, error) {
	all, err := a.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, account := range all {
		if account.Name == name {
			return a.message(account), nil
		}
	}
	return nil, failure(store.ErrNone, name)
}

// UpdateAccount implements AccountServiceHandler.
func (h *Handler) UpdateAccount(ctx context.Context, request *accessv1.UpdateAccountRequest) (*accessv1.UpdateAccountResponse, error) {
	accounts, err := h.local()
	if err != nil {
		return nil, err
	}
	asked := request.GetAccount()
	account := store.Account{Name: asked.GetName(), DisplayName: asked.GetDisplayName(), Email: asked.GetEmail(), Groups: asked.GetGroups()}
	if err := accounts.Update(ctx, account); err != nil {
		return nil, failure(err, account.Name)
	}
	h.forget(ctx, accounts.Subject(account.Name))
	made, err := accounts.stored(ctx, account.Name)
	return &accessv1.UpdateAccountResponse{Account: made}, err
}

// RemoveAccount implements AccountServiceHandler.
func (h *Handler) RemoveAccount(ctx context.Context, request *accessv1.RemoveAccountRequest) (*accessv1.RemoveAccountResponse, error) {
	accounts, err := h.local()
	if err != nil {
		return nil, err
	}
	name := request.GetName()
	if authz.IdentityFrom(ctx).Subject == accounts.Subject(name) {
		return nil, rpc.FailedPrecondition("you cannot remove your own account; ask another operator, or use flyte-binary access users remove")
	}
	if err := accounts.Remove(ctx, name); err != nil {
		return nil, failure(err, name)
	}
	h.forget(ctx, accounts.Subject(name))
	return &accessv1.RemoveAccountResponse{}, nil
}

// SetPassword implements AccountServiceHandler.
func (h *Handler) SetPassword(ctx context.Context, request *accessv1.SetPasswordRequest) (*accessv1.SetPasswordResponse, error) {
	accounts, err := h.local()
	if err != nil {
		return nil, err
	}
	if err := accounts.SetPassword(ctx, request.GetName(), request.GetPassword(), ""); err != nil {
		return nil, failure(err, request.GetName())
	}
	h.forget(ctx, accounts.Subject(request.GetName()))
	return &accessv1.SetPasswordResponse{}, nil
}

// ChangePassword implements AccountServiceHandler.
func (h *Handler) ChangePassword(ctx context.Context, request *accessv1.ChangePasswordRequest) (*accessv1.ChangePasswordResponse, error) {
	accounts, err := h.local()
	if err != nil {
		return nil, err
	}
	identity := authz.IdentityFrom(ctx)
	name, ok := strings.CutPrefix(identity.Subject, accounts.Subject(""))
	if identity.Kind != authz.User || !ok {
		return nil, rpc.FailedPrecondition("%s has no local account; change the password at your identity provider", identity.Subject)
	}
	switch _, err := accounts.SignIn(ctx, name, request.GetCurrent()); {
	case errors.Is(err, ErrRefused):
		return nil, rpc.InvalidArgument("current", "is wrong, or the account is locked after wrong passwords")
	case err != nil:
		return nil, err
	}
	if err := accounts.SetPassword(ctx, name, request.GetPassword(), identity.Credential); err != nil {
		return nil, failure(err, name)
	}
	h.forget(ctx, identity.Subject)
	return &accessv1.ChangePasswordResponse{}, nil
}

// UnlockAccount implements AccountServiceHandler.
func (h *Handler) UnlockAccount(ctx context.Context, request *accessv1.UnlockAccountRequest) (*accessv1.UnlockAccountResponse, error) {
	accounts, err := h.local()
	if err != nil {
		return nil, err
	}
	if err := accounts.Unlock(ctx, request.GetName()); err != nil {
		return nil, failure(err, request.GetName())
	}
	return &accessv1.UnlockAccountResponse{}, nil
}

// EndSessions implements AccountServiceHandler.
func (h *Handler) EndSessions(ctx context.Context, request *accessv1.EndSessionsRequest) (*accessv1.EndSessionsResponse, error) {
	ended, revoked, err := h.Store.EndSessionsOf(ctx, request.GetSubject(), request.GetKeys())
	if err != nil {
		return nil, err
	}
	h.forget(ctx, request.GetSubject())
	return &accessv1.EndSessionsResponse{Sessions: ended, Keys: revoked}, nil
}
