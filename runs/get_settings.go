package runs

import (
	"context"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
)

// GetSettings implements settingsconnect.SettingsServiceHandler: the settings of a scope with everything that it
// inherits, as new runs get them. Each names the level that it is from. The version is that of the scope itself.
func (h *settingsHandler) GetSettings(ctx context.Context, request *settingspb.GetSettingsRequest) (*settingspb.GetSettingsResponse, error) {
	key, err := h.svc.settingsKey(ctx, request.GetKey())
	if err != nil {
		return nil, err
	}
	resolved, err := h.svc.settings.resolve(ctx, key)
	if err != nil {
		return nil, err
	}
	return &settingspb.GetSettingsResponse{SettingsRecord: &settingspb.SettingsRecord{
		Key: settingsKeyMessage(key, request.GetKey().GetOrg()), Settings: resolved.settings, Version: uint64(resolved.version), //nolint:gosec // from 1
	}}, nil
}
