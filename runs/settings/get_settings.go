package settings

import (
	"context"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
)

// GetSettings implements settingsconnect.SettingsServiceHandler: it returns the settings of a scope including
// inherited ones, as new runs get them. Each setting names the level that it comes from. The version is that of the
// scope itself.
func (h *Handler) GetSettings(ctx context.Context, request *settingspb.GetSettingsRequest) (*settingspb.GetSettingsResponse, error) {
	key, err := h.key(ctx, request.GetKey())
	if err != nil {
		return nil, err
	}
	resolved, err := h.resolver.Resolve(ctx, key)
	if err != nil {
		return nil, err
	}
	return &settingspb.GetSettingsResponse{SettingsRecord: &settingspb.SettingsRecord{
		Key: settingsKeyMessage(key, request.GetKey().GetOrg()), Settings: resolved.Settings, Version: uint64(resolved.Version), //nolint:gosec // from 1
	}}, nil
}
