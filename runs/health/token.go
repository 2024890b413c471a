package health

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// tokenOf is where a list of actions continues; empty at the end.
func tokenOf(place *rollups.Place) string {
	if place == nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d", place.Ended.UnixMicro(), place.ID))
}

func placeOfToken(token string) (*rollups.Place, error) {
	if token == "" {
		return nil, nil //nolint:nilnil // the beginning
	}
	body, err := base64.RawURLEncoding.DecodeString(token)
	var micro, id int64
	if err == nil {
		_, err = fmt.Sscanf(string(body), "%d %d", &micro, &id)
	}
	if err != nil {
		return nil, rpc.InvalidArgument("token", "is not one of a response")
	}
	return &rollups.Place{Ended: time.UnixMicro(micro).UTC(), ID: id}, nil
}

// isHit reports whether the cache had the outputs of an action.
func isHit(a *schema.Action) bool {
	return a.Phase == state.Succeeded && core.CatalogCacheStatus(a.CacheStatus) == core.CatalogCacheStatus_CACHE_HIT
}
