package manager

import (
	cachestore "github.com/flyte-binary/flyte-binary/cache_service/store"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Schemas are the tables of every service that has some, in the order in which they are made.
func Schemas() []pgdb.Schema { return []pgdb.Schema{store.Schema(), cachestore.Schema()} }
