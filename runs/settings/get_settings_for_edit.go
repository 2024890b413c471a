package settings

import (
	"context"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// GetSettingsForEdit implements settingsconnect.SettingsServiceHandler: it returns the stored settings of a scope and
// of the scopes above it, broadest first. A scope without settings has empty ones of version 0.
func (h *Handler) GetSettingsForEdit(
	ctx context.Context, request *settingspb.GetSettingsForEditRequest,
) (*settingspb.GetSettingsForEditResponse, error) {
	key, err := h.key(ctx, request.GetKey())
	if err != nil {
		return nil, err
	}
	rows, err := h.store.Levels(ctx, key)
	if err != nil {
		return nil, err
	}
	stored := make(map[catalog.SettingsKey]catalog.SettingsRow, len(rows))
	for _, row := range rows {
		stored[row.Key] = row
	}
	org := request.GetKey().GetOrg()
	response := &settingspb.GetSettingsForEditResponse{RequestedKey: settingsKeyMessage(key, org)}
	for _, scope := range scopesOf(key) {
		row := stored[scope]
		decoded, err := decodeSettings(row)
		if err != nil {
			return nil, err
		}
		response.Levels = append(response.Levels, &settingspb.SettingsRecord{
			Key: settingsKeyMessage(scope, org), Settings: decoded, Version: uint64(row.Version), //nolint:gosec // from 0
		})
	}
	return response, nil
}

// scopesOf returns the scope and those above it, broadest first.
func scopesOf(key catalog.SettingsKey) []catalog.SettingsKey {
	scopes := []catalog.SettingsKey{{}}
	if key.Domain != "" {
		scopes = append(scopes, catalog.SettingsKey{Domain: key.Domain})
	}
	if key.Project != "" {
		scopes = append(scopes, key)
	}
	return scopes
}
