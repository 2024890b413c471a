package pgdb_test

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle/lifecycletest"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pgtest"
)

func TestListenerKeepsTheContractOfParts(t *testing.T) {
	pool := pgtest.Empty(t)
	lifecycletest.Stress(t, func() lifecycle.Part {
		return pgdb.NewListener(pool, clock.System{}, zerolog.Nop(), map[string]func(pgdb.Notification){"c": func(pgdb.Notification) {}})
	})
}
