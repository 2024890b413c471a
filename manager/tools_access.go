package manager

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// OpenAccess opens the tools of access control, which use the database alone and are safe alongside running servers. close must be
// called.
func OpenAccess(ctx context.Context, c configuration.Config, log zerolog.Logger) (tools *access.Tools, closing func(), err error) {
	if err := c.Database.Validate(); err != nil {
		return nil, nil, &configuration.ConfigError{Cause: fmt.Errorf("database.%w", err)}
	}
	if c.Access.PublicURL == "" {
		c.Access.PublicURL = c.Storage.PublicURL
	}
	pool, err := pgdb.Open(ctx, c.Database)
	if err != nil {
		return nil, nil, diagnose.Database(c.Database, err)
	}
	if tools, err = access.NewTools(c.Access, pool, log); err != nil {
		pool.Close()
		return nil, nil, &configuration.ConfigError{Cause: err}
	}
	return tools, pool.Close, nil
}
