package settings

import (
	"context"
	"time"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// Store keeps the settings of scopes; catalog.Settings does.
type Store interface {
	Levels
	Create(ctx context.Context, key catalog.SettingsKey, body []byte, now time.Time) error
	Update(ctx context.Context, key catalog.SettingsKey, version int64, body []byte, now time.Time) (int64, error)
}

// Places checks that projects and domains exist; projects.Places does.
type Places interface {
	Check(ctx context.Context, field, project, domain string) (catalog.Project, error)
	CheckDomain(field, domain string) error
}

// Access checks where runs may write; blobaccess.Rules does.
type Access interface {
	Base(field, base string, place blobaccess.Place) error
	RawBase(field, base string, place blobaccess.Place) error
}

// Queues checks which queues exist; queues.Set does.
type Queues interface {
	Known(name string) bool
	Names() []string
}

// Deps are the dependencies of the handler. All are required.
type Deps struct {
	Store    Store
	Resolver *Resolver
	Places   Places
	Access   Access
	Queues   Queues
	Clock    clock.Clock
}

// Handler serves SettingsService. Each method has its own file.
type Handler struct {
	store    Store
	resolver *Resolver
	places   Places
	access   Access
	queues   Queues
	clock    clock.Clock
}

var _ settingsconnect.SettingsServiceHandler = (*Handler)(nil)

// NewHandler returns the handler. Its resolver sees the handler's writes at once.
func NewHandler(deps Deps) *Handler {
	return &Handler{
		store: deps.Store, resolver: deps.Resolver, places: deps.Places, access: deps.Access, queues: deps.Queues, clock: deps.Clock,
	}
}

// key validates the scope of a request. The organization is ignored: an installation has one.
func (h *Handler) key(ctx context.Context, key *settingspb.SettingsKey) (catalog.SettingsKey, error) {
	scope := catalog.SettingsKey{Domain: key.GetDomain(), Project: key.GetProject()}
	switch {
	case key == nil:
		return scope, rpc.InvalidArgument("key", "is required")
	case scope.Project != "" && scope.Domain == "":
		return scope, rpc.InvalidArgument("key.domain", "is required with a project: settings of a project belong to one domain")
	case scope.Project != "":
		return scope, h.checkPlace(ctx, scope)
	case scope.Domain != "":
		return scope, h.places.CheckDomain("key", scope.Domain)
	default:
		return scope, nil
	}
}

func (h *Handler) checkPlace(ctx context.Context, scope catalog.SettingsKey) error {
	_, err := h.places.Check(ctx, "key", scope.Project, scope.Domain)
	return err
}

func settingsKeyMessage(key catalog.SettingsKey, org string) *settingspb.SettingsKey {
	return &settingspb.SettingsKey{Org: org, Domain: key.Domain, Project: key.Project}
}
