package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// maxBody is the largest answer that a callback takes, in bytes.
const maxBody = 1 << 20

// Conditions reads conditions; worklists.Webhooks is one.
type Conditions interface {
	Condition(ctx context.Context, id int64) (*worklists.Condition, error)
}

// Signaller gives conditions their values; store.Writer is one.
type Signaller interface {
	Signal(ctx context.Context, signal store.Signal) error
}

// Callbacks serves the callback addresses of webhooks. The token in the path is the only credential: it answers one
// condition until it expires, and grants nothing else. A GET changes nothing, since programs follow links by
// themselves.
type Callbacks struct {
	Tokens     *Tokens
	Conditions Conditions
	Signal     Signaller
	Clock      clock.Clock
	Logger     zerolog.Logger
}

// ServeHTTP implements http.Handler.
func (c *Callbacks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	out := answerer{w: w, html: wantsPage(r)}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		header.Set("Allow", "GET, POST")
		out.refuse(http.StatusMethodNotAllowed, "use GET to see the condition and POST to answer it")
		return
	}
	at, condition, ok := c.find(r.Context(), &out, strings.TrimPrefix(r.URL.Path, Path))
	if !ok {
		return
	}
	if r.Method != http.MethodPost {
		c.show(&out, at, condition)
		return
	}
	c.answer(&out, r, at, condition)
}

// find reads the token and its condition.
func (c *Callbacks) find(ctx context.Context, out *answerer, token string) (*worklists.Condition, *workflow.ConditionAction, bool) {
	id, until, ok, err := c.Tokens.Read(ctx, token)
	switch {
	case err != nil:
		c.fail(out, err)
		return nil, nil, false
	case !ok:
		out.refuse(http.StatusNotFound, "this address is not valid")
		return nil, nil, false
	}
	at, err := c.Conditions.Condition(ctx, id)
	if err != nil {
		c.fail(out, err)
		return nil, nil, false
	}
	if until.Before(c.Clock.Now()) && at.Phase == state.Paused {
		out.refuse(http.StatusGone, "this address has expired")
		return nil, nil, false
	}
	condition := &workflow.ConditionAction{}
	if err := proto.Unmarshal(at.Spec, condition); err != nil {
		c.fail(out, rpc.DataLoss(err, "the stored condition cannot be read"))
		return nil, nil, false
	}
	return at, condition, true
}

func (c *Callbacks) show(out *answerer, at *worklists.Condition, condition *workflow.ConditionAction) {
	if at.Phase != state.Paused {
		out.refuse(http.StatusGone, ended(at.Phase))
		return
	}
	out.form(condition)
}

func ended(at state.Phase) string {
	return "this condition has ended: " + state.Name(at)
}

func (c *Callbacks) answer(out *answerer, r *http.Request, at *worklists.Condition, condition *workflow.ConditionAction) {
	given, err := readValue(r)
	if err != nil {
		out.refuse(http.StatusBadRequest, err.Error())
		return
	}
	primitive, err := given.as(condition.GetType().GetSimple())
	if err != nil {
		out.refuse(http.StatusBadRequest, err.Error())
		return
	}
	value := &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: primitive}}}}
	by := &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_Application{Application: &common.Application{
		Id: &common.ApplicationIdentifier{Subject: "condition-callback"}, Spec: &common.AppSpec{Name: "callback of the condition's webhook"},
	}}}
	err = c.Signal.Signal(r.Context(), store.Signal{Action: at.Action, Info: &workflow.SignalInfo{SignalledBy: by, Output: value}})
	if err != nil {
		c.fail(out, err)
		return
	}
	out.done()
}

// fail writes an error of the store for the caller.
func (c *Callbacks) fail(out *answerer, err error) {
	var ours *rpc.Error
	if errors.As(err, &ours) {
		switch ours.Kind {
		case rpc.KindNotFound:
			out.refuse(http.StatusNotFound, ours.Message)
			return
		case rpc.KindFailedPrecondition:
			out.refuse(http.StatusConflict, ours.Message)
			return
		}
	}
	c.Logger.Warn().Err(err).Msg("storing the answer of a callback failed")
	out.w.Header().Set("Retry-After", "5")
	out.refuse(http.StatusServiceUnavailable, "the answer cannot be stored right now; please try again")
}

// wantsPage reports whether the caller is a browser rather than a program.
func wantsPage(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // an invalid type is not JSON
	return kind != "application/json" && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// answerer writes answers: pages for people, JSON for programs.
type answerer struct {
	w    http.ResponseWriter
	html bool
}

func (a *answerer) refuse(status int, words string) {
	if a.html {
		a.page(status, page{Title: "Not possible", Text: words})
		return
	}
	a.json(status, map[string]string{"error": words})
}

func (a *answerer) done() {
	if a.html {
		a.page(http.StatusOK, page{Title: "Thank you", Text: "Your answer was recorded. You can close this page."})
		return
	}
	a.json(http.StatusOK, map[string]string{"status": "ok"})
}

func (a *answerer) json(status int, body map[string]string) {
	encoded, err := json.Marshal(body)
	if err != nil {
		encoded = []byte(`{}`)
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(status)
	_, _ = a.w.Write(append(encoded, '\n')) // the client may have gone
}
