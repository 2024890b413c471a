package store

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// addressGrants is how many grants of one address are kept. A proxy is one address for everybody behind it.
	addressGrants = 5_000
	// allGrants is how many grants are kept in all.
	allGrants = 20_000
	// allEvery is how many grants a process begins before it looks at all of them again.
	allEvery = 100
)

// grantBounds bound the grants that anybody can begin.
type grantBounds struct {
	address, all int
	count        atomic.Int64 // of grants that this process has begun
}

// BeginGrant is PutGrant for a sign-in that anybody can begin, from the address of a client. Too many of them delete others,
// and no one is refused: a limit that refuses would let a client that reaches it keep everybody else from signing in until
// the grants expire. What goes is the oldest of the same address, and in all the oldest of the address that has the most. So
// a flood from one address deletes its own, and a flood from behind a proxy has to begin 5,000 sign-ins in the time that a
// person needs for one.
func (s *Store) BeginGrant(ctx context.Context, peer string, kind GrantKind, value string, data any, lifetime time.Duration) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode a %s: %w", kind, err)
	}
	const put = `INSERT INTO access_grants (kind, id, data, expires_at, peer, begun_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (kind, id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at, peer = excluded.peer, begun_at = excluded.begun_at`
	const dropOfAddress = `DELETE FROM access_grants WHERE (kind, id) IN (
		SELECT kind, id FROM access_grants WHERE peer = $1 AND peer <> '' ORDER BY begun_at DESC OFFSET $2)`
	const dropOfAll = `DELETE FROM access_grants WHERE (kind, id) IN (
		SELECT kind, id FROM (
			SELECT kind, id, begun_at, row_number() OVER (PARTITION BY peer ORDER BY begun_at DESC) AS place FROM access_grants WHERE peer <> ''
		) AS placed ORDER BY place, begun_at DESC OFFSET $1)`
	now, address := s.clock.Now(), addressOf(peer)
	statements := &pgx.Batch{}
	statements.Queue(put, kind, hashed(value), body, now.Add(lifetime), address, now)
	statements.Queue(dropOfAddress, address, s.begun.address)
	if s.begun.count.Add(1)%allEvery == 1 {
		statements.Queue(dropOfAll, s.begun.all)
	}
	if err := s.pool.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("store a %s: %w", kind, err)
	}
	return nil
}

// addressOf is what counts as the address of a peer: an IPv6 network of 64 bits is one client. It is never empty.
func addressOf(peer string) string {
	at, err := netip.ParseAddrPort(peer)
	if err != nil {
		return "unknown"
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is6() {
		return netip.PrefixFrom(address, 64).Masked().String()
	}
	return address.String()
}
