package settings

import (
	"context"
	"errors"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// CreateSettings implements settingsconnect.SettingsServiceHandler: it creates the settings of a scope, as version 1.
func (h *Handler) CreateSettings(
	ctx context.Context, request *settingspb.CreateSettingsRequest,
) (*settingspb.CreateSettingsResponse, error) {
	record, err := h.write(ctx, request.GetKey(), request.GetSettings(), func(key catalog.SettingsKey, body []byte) (int64, error) {
		return 1, h.store.Create(ctx, key, body, h.clock.Now())
	})
	if err != nil {
		return nil, err
	}
	return &settingspb.CreateSettingsResponse{SettingsRecord: record}, nil
}

// UpdateSettings implements settingsconnect.SettingsServiceHandler: it replaces all settings of a scope, if they are
// still at the version that the caller read.
func (h *Handler) UpdateSettings(
	ctx context.Context, request *settingspb.UpdateSettingsRequest,
) (*settingspb.UpdateSettingsResponse, error) {
	version := request.GetVersion()
	if version == 0 || version > math.MaxInt64 {
		return nil, rpc.InvalidArgument("version", "is required: send the version of the settings that you replace")
	}
	record, err := h.write(ctx, request.GetKey(), request.GetSettings(), func(key catalog.SettingsKey, body []byte) (int64, error) {
		return h.store.Update(ctx, key, int64(version), body, h.clock.Now()) //nolint:gosec // versions count from 1
	})
	if err != nil {
		return nil, err
	}
	return &settingspb.UpdateSettingsResponse{SettingsRecord: record}, nil
}

func (h *Handler) write(
	ctx context.Context, named *settingspb.SettingsKey, given *settingspb.Settings,
	put func(catalog.SettingsKey, []byte) (version int64, err error),
) (*settingspb.SettingsRecord, error) {
	key, err := h.key(ctx, named)
	if err != nil {
		return nil, err
	}
	if given == nil {
		return nil, rpc.InvalidArgument("settings", "are required")
	}
	if err := h.check(ctx, key, given); err != nil {
		return nil, err
	}
	kept := Normalize(given, scopeOf(key))
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(kept)
	if err != nil {
		return nil, rpc.InvalidArgument("settings", "cannot be encoded: %s", err.Error())
	}
	// If the write fails in an outage, its outcome is unknown.
	defer h.resolver.forget()
	version, err := put(key, body)
	if err != nil {
		return nil, err
	}
	return &settingspb.SettingsRecord{
		Key: settingsKeyMessage(key, named.GetOrg()), Settings: kept, Version: uint64(version), //nolint:gosec // from 1
	}, nil
}

// check rejects settings that would only fail later: invalid values, places outside of the storage, and a minimum
// above the maximum that applies to it.
func (h *Handler) check(ctx context.Context, key catalog.SettingsKey, given *settingspb.Settings) error {
	if err := Validate(given); err != nil {
		return InvalidArgument("settings.", err)
	}
	place := blobaccess.Place{Project: key.Project, Domain: key.Domain}
	if base := given.GetRun().GetRunBaseDir(); base.GetState() == settingspb.SettingState_SETTING_STATE_VALUE {
		if err := h.access.Base("settings.run.run_base_dir", base.GetStringValue(), place); err != nil {
			return err
		}
	}
	if raw := given.GetStorage().GetRawDataPath(); raw.GetState() == settingspb.SettingState_SETTING_STATE_VALUE {
		if err := h.access.RawBase("settings.storage.raw_data_path", raw.GetStringValue(), place); err != nil {
			return err
		}
	}
	if queue := given.GetRun().GetDefaultQueue(); queue.GetState() == settingspb.SettingState_SETTING_STATE_VALUE && !h.queues.Known(queue.GetStringValue()) {
		return rpc.InvalidArgument("settings.run.default_queue", "queue %s does not exist; queues: %s",
			queue.GetStringValue(), strings.Join(h.queues.Names(), ", "))
	}
	rows, err := h.store.Levels(ctx, key)
	if err != nil {
		return err
	}
	levels, _, err := decodeLevels(rows, key)
	if err != nil {
		return err
	}
	// The given settings replace those that are stored for the scope.
	if n := len(rows); n > 0 && rows[n-1].Key == key {
		levels = levels[:n-1]
	}
	levels = append(levels, Level{Scope: scopeOf(key), Settings: given})
	return InvalidArgument("settings.", CheckBounds(Resolve(levels)))
}

// InvalidArgument turns a FieldError into an InvalidArgument error that names the field of the request, below prefix.
// It returns other errors, and nil, unchanged.
func InvalidArgument(prefix string, err error) error {
	var wrong *FieldError
	if !errors.As(err, &wrong) {
		return err
	}
	return rpc.InvalidArgument(strings.TrimSuffix(prefix+wrong.Field, "."), "%s", wrong.Problem)
}
