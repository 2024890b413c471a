package manager

import (
	accessstore "github.com/flyte-binary/flyte-binary/access/store"
	appstore "github.com/flyte-binary/flyte-binary/apps/store"
	artifactstore "github.com/flyte-binary/flyte-binary/artifacts/store"
	cachestore "github.com/flyte-binary/flyte-binary/cache_service/store"
	clusterstore "github.com/flyte-binary/flyte-binary/clusters/store"
	connectorstore "github.com/flyte-binary/flyte-binary/connectors/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	notificationstore "github.com/flyte-binary/flyte-binary/notifications/store"
	workerstore "github.com/flyte-binary/flyte-binary/pools/store"
	"github.com/flyte-binary/flyte-binary/runs/store"
	triggerstore "github.com/flyte-binary/flyte-binary/triggers/store"
)

// Schemas lists the database schema of every service that has one, in the order in which they are created.
func Schemas() []pgdb.Schema {
	return []pgdb.Schema{
		store.Schema(), store.TrackedSchema(), cachestore.Schema(), artifactstore.Schema(), notificationstore.Schema(), triggerstore.Schema(), appstore.Schema(),
		workerstore.Schema(), connectorstore.Schema(), accessstore.Schema(), clusterstore.Schema(),
	}
}

// inUse are the conditions under which retention keeps a run because another service points to its data. namespace has
// the tables of that service.
func inUse(namespace string) []string {
	return []string{artifactstore.InUse(namespace), appstore.InUse(namespace)}
}
