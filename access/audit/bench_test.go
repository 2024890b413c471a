package audit_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// BenchmarkRecordedChange measures what a change outside Postgres waits for its record, alone and with others at the same time.
func BenchmarkRecordedChange(b *testing.B) {
	s := store.New(pgtest.Schemas(b, store.Schema()), clock.System{})
	recorder := audit.NewRecorder(s, false, clock.System{}, zerolog.Nop())
	require.NoError(b, recorder.Start(b.Context()))
	b.Cleanup(func() { require.NoError(b, recorder.Stop(context.WithoutCancel(b.Context()))) })
	rule, _ := authz.RuleOf(hide)
	entry := authz.Entry{Request: authz.Request{Procedure: hide, Header: http.Header{}}, Rule: rule, Resources: []authz.Resource{{Kind: "run", Project: "p", Domain: "d", Name: "r"}}}
	ctx := authz.WithIdentity(b.Context(), authz.Identity{Kind: authz.User, Subject: "ada"})
	change := func() {
		_, end, err := recorder.Begin(ctx, entry)
		if err == nil {
			end(authz.Succeeded, nil)
		}
	}
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			change()
		}
	})
	b.Run("64 at once", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				change()
			}
		})
	})
}
