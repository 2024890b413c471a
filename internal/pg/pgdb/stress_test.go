package pgdb_test

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
)

func TestListenerKeepsTheContractOfParts(t *testing.T) {
	pool := pgtest.Empty(t)
	lifecycletest.Stress(t, func() lifecycle.Part {
		return pgdb.NewListener(pool, clock.System{}, zerolog.Nop(), map[string]func(pgdb.Notification){"c": func(pgdb.Notification) {}})
	})
}
