package runs

import (
	"context"
	"errors"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/settings"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// CreateSettings implements settingsconnect.SettingsServiceHandler: the first settings of a scope, as version 1.
func (h *settingsHandler) CreateSettings(
	ctx context.Context, request *settingspb.CreateSettingsRequest,
) (*settingspb.CreateSettingsResponse, error) {
	record, err := h.svc.writeSettings(ctx, request.GetKey(), request.GetSettings(), func(key store.SettingsKey, body []byte) (int64, error) {
		return 1, h.svc.settings.stored.Create(ctx, key, body, h.svc.clock.Now())
	})
	if err != nil {
		return nil, err
	}
	return &settingspb.CreateSettingsResponse{SettingsRecord: record}, nil
}

// UpdateSettings implements settingsconnect.SettingsServiceHandler: it replaces the settings of a scope whole, if they are
// still at the version that the caller has seen.
func (h *settingsHandler) UpdateSettings(
	ctx context.Context, request *settingspb.UpdateSettingsRequest,
) (*settingspb.UpdateSettingsResponse, error) {
	version := request.GetVersion()
	if version == 0 || version > math.MaxInt64 {
		return nil, rpc.InvalidArgument("version", "is needed: the version of the settings that are to be replaced")
	}
	record, err := h.svc.writeSettings(ctx, request.GetKey(), request.GetSettings(), func(key store.SettingsKey, body []byte) (int64, error) {
		return h.svc.settings.stored.Update(ctx, key, int64(version), body, h.svc.clock.Now())
	})
	if err != nil {
		return nil, err
	}
	return &settingspb.UpdateSettingsResponse{SettingsRecord: record}, nil
}

func (s *Service) writeSettings(
	ctx context.Context, named *settingspb.SettingsKey, given *settingspb.Settings,
	write func(store.SettingsKey, []byte) (version int64, err error),
) (*settingspb.SettingsRecord, error) {
	key, err := s.settingsKey(ctx, named)
	if err != nil {
		return nil, err
	}
	if given == nil {
		return nil, rpc.InvalidArgument("settings", "are needed")
	}
	if err := s.checkSettings(ctx, key, given); err != nil {
		return nil, err
	}
	kept := settings.Normalize(given, scopeOf(key))
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(kept)
	if err != nil {
		return nil, rpc.InvalidArgument("settings", "cannot be encoded: %s", err.Error())
	}
	// Whether the write took place is not known when it fails in an outage.
	defer s.settings.forget()
	version, err := write(key, body)
	if err != nil {
		return nil, err
	}
	return &settingspb.SettingsRecord{
		Key: settingsKeyMessage(key, named.GetOrg()), Settings: kept, Version: uint64(version), //nolint:gosec // from 1
	}, nil
}

// checkSettings refuses what would only hurt later: values that are not sound, places out of reach, and a minimum above
// the maximum that holds for it.
func (s *Service) checkSettings(ctx context.Context, key store.SettingsKey, given *settingspb.Settings) error {
	if err := settings.Validate(given); err != nil {
		return fieldError("settings.", err)
	}
	if base := given.GetRun().GetRunBaseDir(); base.GetState() == settingspb.SettingState_SETTING_STATE_VALUE {
		below := strings.TrimRight(base.GetStringValue(), "/") + "/" + "probe"
		if err := s.checkReachable(ctx, "settings.run.run_base_dir", below); err != nil {
			return err
		}
	}
	if queue := given.GetRun().GetDefaultQueue(); queue.GetState() == settingspb.SettingState_SETTING_STATE_VALUE && !s.queues.Known(queue.GetStringValue()) {
		return rpc.InvalidArgument("settings.run.default_queue", "there is no queue %s; the queues are %s",
			queue.GetStringValue(), strings.Join(s.queues.Names(), ", "))
	}
	rows, err := s.settings.stored.Levels(ctx, key)
	if err != nil {
		return err
	}
	levels, _, err := decodeLevels(rows, key)
	if err != nil {
		return err
	}
	if n := len(rows); n > 0 && rows[n-1].Key == key {
		levels = levels[:n-1]
	}
	levels = append(levels, settings.Level{Scope: scopeOf(key), Settings: given})
	return fieldError("settings.", settings.CheckBounds(settings.Resolve(levels)))
}

// fieldError names the field as the request has it.
func fieldError(prefix string, err error) error {
	var wrong *settings.FieldError
	if !errors.As(err, &wrong) {
		return err
	}
	return rpc.InvalidArgument(strings.TrimSuffix(prefix+wrong.Field, "."), "%s", wrong.Problem)
}
