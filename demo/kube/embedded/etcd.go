package embedded

import (
	"errors"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

// socketName is relative to the child's working directory, which only its owner may enter: an absolute path could be
// longer than a socket's name may be.
const socketName = "etcd.sock"

// catchUpEntries is how many writes, with their bodies, etcd keeps in memory for members that lag behind. There are none;
// 0 would mean etcd's default of 5000.
const catchUpEntries = 100

type etcd struct {
	server   *embed.Etcd
	endpoint string
}

// startEtcd opens the store in the directory and returns when it serves.
func startEtcd(dir string) (*etcd, error) {
	// The socket of a process that was killed stays behind.
	if err := os.Remove(socketName); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket of etcd: %w", err)
	}
	endpoint := url.URL{Scheme: "unix", Host: socketName}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.ListenClientUrls = []url.URL{endpoint}
	cfg.ListenPeerUrls = nil
	cfg.LogLevel = "warn"
	// Without a bound every request counts as slow and is logged.
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	cfg.LogOutputs = []string{"stderr"}
	// The demo promises that its state survives the death of any process, kill -9 included: the page cache keeps what was
	// written. It does not promise to survive a power cut, so it does not sync.
	cfg.UnsafeNoFsync = true
	// One member elects itself: short ticks make that quick.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	// Finished work is deleted all the time; keep little of its history. The API server compacts.
	cfg.SnapshotCount = 5000
	cfg.SnapshotCatchUpEntries = catchUpEntries
	cfg.MaxWalFiles, cfg.MaxSnapFiles = 2, 2
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return &etcd{server: server, endpoint: endpoint.String()}, nil
	case err := <-server.Err():
		server.Close()
		return nil, fmt.Errorf("start etcd: %w", err)
	} // no limit: the parent gives up on a child that makes no progress
}

func (e *etcd) failed() <-chan error { return e.server.Err() }

func (e *etcd) stop() { e.server.Close() }
