package authserver

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
)

// device is a device that waits, or the answer that it will get.
type device struct {
	Client string           `json:"client"`
	Denied bool             `json:"denied,omitempty"`
	Person *sessions.Person `json:"person,omitempty"` // who allowed it
	// Session is that of the browser in which the person allowed it.
	Session string `json:"session,omitempty"`
}

// DeviceAuthorization implements op.Server.
func (s *Server) DeviceAuthorization(ctx context.Context, r *op.ClientRequest[oidc.DeviceAuthorizationRequest]) (*op.Response, error) {
	code := rand.Text()
	shown, err := op.NewUserCode([]rune(userCodeLetters), 8, 4)
	if err != nil {
		return nil, failed(err)
	}
	peer := peerOf(ctx)
	if err := s.Store.BeginGrant(ctx, peer, store.GrantDevice, code, device{Client: r.Client.GetID()}, deviceLifetime); err != nil {
		return nil, failed(err)
	}
	if err := s.Store.BeginGrant(ctx, peer, store.GrantUserCode, shown, code, deviceLifetime); err != nil {
		return nil, failed(err)
	}
	page := s.URL + s.DevicePage
	return op.NewResponse(&oidc.DeviceAuthorizationResponse{
		DeviceCode: code, UserCode: shown, VerificationURI: page, VerificationURIComplete: page + "?" + url.Values{"user_code": {shown}}.Encode(),
		ExpiresIn: int(deviceLifetime / time.Second), Interval: int(pollInterval / time.Second),
	}), nil
}

// userCodeLetters are the letters of the codes that people type: no vowels, so no words, and none that look alike.
const userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// UserCode is a code as it was shown, of what a person typed.
func UserCode(typed string) string {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune(userCodeLetters, r) {
			return r
		}
		return -1
	}, strings.ToUpper(typed))
	if len(letters) != 8 {
		return ""
	}
	return letters[:4] + "-" + letters[4:]
}

// DeviceWaits reports whether a device waits for an answer under a code.
func (s *Server) DeviceWaits(ctx context.Context, userCode string) (waits bool, err error) {
	var code string
	return s.Store.Grant(ctx, store.GrantUserCode, userCode, &code)
}

// AnswerDevice lets the device that waits under a code sign in as the person of a session, or refuses it if allow is false.
// found is false if none waits.
func (s *Server) AnswerDevice(ctx context.Context, userCode string, by sessions.Session, allow bool) (found bool, err error) {
	var code string
	if found, err = s.Store.TakeGrant(ctx, store.GrantUserCode, userCode, &code); err != nil || !found {
		return false, err
	}
	answer := device{Client: CommandLine, Denied: !allow}
	if allow {
		answer.Person, answer.Session = &by.Person, by.ID
	}
	return true, s.Store.ChangeGrant(ctx, store.GrantDevice, code, answer)
}

// DeviceToken implements op.Server.
func (s *Server) DeviceToken(ctx context.Context, r *op.ClientRequest[oidc.DeviceAccessTokenRequest]) (*op.Response, error) {
	var waiting device
	found, err := s.Store.Grant(ctx, store.GrantDevice, r.Data.DeviceCode, &waiting)
	switch {
	case err != nil:
		return nil, failed(err)
	case !found || waiting.Client != r.Client.GetID():
		return nil, oidc.ErrExpiredDeviceCode()
	case waiting.Denied:
		return nil, oidc.ErrAccessDenied().WithDescription("the person did not allow it")
	case waiting.Person == nil:
		return nil, oidc.ErrAuthorizationPending()
	}
	if found, err = s.Store.TakeGrant(ctx, store.GrantDevice, r.Data.DeviceCode, &waiting); err != nil {
		return nil, failed(err)
	}
	if !found {
		return nil, oidc.ErrExpiredDeviceCode()
	}
	return s.signIn(ctx, waiting.Client, *waiting.Person, waiting.Session)
}
