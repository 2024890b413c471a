package runs

import (
	"context"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// settingsHandler serves SettingsService. Its methods are in files of their own, one use case each.
type settingsHandler struct {
	settingsconnect.UnimplementedSettingsServiceHandler
	svc *Service
}

var _ settingsconnect.SettingsServiceHandler = (*settingsHandler)(nil)

// settingsKey checks the scope that a request names. The organisation is ignored: an installation is one.
func (s *Service) settingsKey(ctx context.Context, key *settingspb.SettingsKey) (store.SettingsKey, error) {
	scope := store.SettingsKey{Domain: key.GetDomain(), Project: key.GetProject()}
	switch {
	case key == nil:
		return scope, rpc.InvalidArgument("key", "is needed")
	case scope.Project != "" && scope.Domain == "":
		return scope, rpc.InvalidArgument("key.domain", "is needed with a project: settings of a project are settings in one domain")
	case scope.Project != "":
		return scope, s.checkPlace(ctx, "key", scope.Project, scope.Domain)
	case scope.Domain != "":
		return scope, s.checkDomain("key", scope.Domain)
	default:
		return scope, nil
	}
}

func settingsKeyMessage(key store.SettingsKey, org string) *settingspb.SettingsKey {
	return &settingspb.SettingsKey{Org: org, Domain: key.Domain, Project: key.Project}
}
