package worklists

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

// TestTheDatabaseAgreesAboutShards: Go and SQL compute the same shard, and so do the labels of an object, which lack
// characters at the end that labels cannot have.
func TestTheDatabaseAgreesAboutShards(t *testing.T) {
	pool := pgtest.Empty(t)
	for run, labelled := range map[ident.Run]ident.Run{
		{Project: "flytesnacks", Domain: "development", Name: "r1"}: {Project: "flytesnacks", Domain: "development", Name: "r1"},
		{Project: "P.1", Domain: "prod_", Name: "a-"}:               {Project: "P.1", Domain: "prod", Name: "a"},
		{Project: "p._-", Domain: "d-x", Name: "Z_9"}:               {Project: "p", Domain: "d-x", Name: "Z_9"},
	} {
		require.Equal(t, run.Shard(), labelled.Shard())
		for shard := range ident.Shards {
			var in, all bool
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT `+inShard("$4")+`, `+inShard("$5")+`
				FROM (VALUES ($1, $2, $3)) AS v(project, domain, run_name)`, run.Project, run.Domain, run.Name, shard, ident.AllShards).Scan(&in, &all))
			require.Equal(t, run.In(shard), in, "%s in %d", run, shard)
			require.True(t, all)
		}
	}
}
