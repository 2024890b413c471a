package pgembed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

// Server is one private Postgres. Make it with New.
type Server struct {
	config   Config
	binDir   string
	account  account
	socket   string // directory of the socket
	password string

	mu       sync.Mutex
	child    *child        // GUARDED_BY(mu): nil while it does not run
	stopping bool          // GUARDED_BY(mu)
	quit     chan struct{} // closed by Stop
	watched  chan struct{} // closed when the watcher has ended; nil before Start
}

var _ lifecycle.Part = (*Server)(nil)

// New checks the configuration and finds the programs; nothing runs yet.
func New(config Config) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s := &Server{config: config.withDefaults(), binDir: config.BinDir, quit: make(chan struct{})}
	if s.binDir == "" {
		found, err := Find()
		if err != nil {
			return nil, err
		}
		s.binDir = found
	}
	chosen, err := chooseAccount()
	if err != nil {
		return nil, err
	}
	s.account = chosen
	return s, nil
}

// Start makes the cluster when there is none, starts the server and returns when it accepts connections.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.account.ownDir(s.config.DataDir); err != nil {
		return err
	}
	if err := s.makeSocketDir(); err != nil {
		return err
	}
	password, err := s.initialise(ctx)
	if err != nil {
		return errors.Join(err, os.RemoveAll(s.socket))
	}
	s.password = password
	c, err := s.launchUntilReady(ctx)
	if err == nil {
		err = s.ensureDatabase(ctx)
	}
	if err != nil {
		if c != nil {
			c.stop(context.WithoutCancel(ctx))
		}
		return errors.Join(err, os.RemoveAll(s.socket))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child, s.watched = c, make(chan struct{})
	go s.watch(c)
	return nil
}

// Stop ends the server in an orderly way: connections are cut, everything is written. When the context ends first,
// it is killed; nothing acknowledged is lost by that either, the next start only takes longer.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	if s.watched == nil {
		s.mu.Unlock()
		return nil
	}
	if !s.stopping {
		s.stopping = true
		close(s.quit)
	}
	c := s.child
	s.mu.Unlock()
	if c != nil {
		c.stop(ctx)
	}
	<-s.watched
	return os.RemoveAll(s.socket)
}

// DSN is the connection string of the database flyte. It is valid after Start.
func (s *Server) DSN() string { return s.dsn(Database) }

// DSNOf is DSN for another database.
func (s *Server) DSNOf(database string) string { return s.dsn(database) }

// Pid is the server's process id; 0 while it does not run.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil {
		return 0
	}
	return s.child.pid
}

// SocketDir is where the socket lies. It is valid after Start.
func (s *Server) SocketDir() string { return s.socket }

func (s *Server) dsn(database string) string {
	query := url.Values{"host": {s.socket}, "port": {strconv.Itoa(s.port())}}
	user := url.User(User)
	if s.password != "" {
		user = url.UserPassword(User, s.password)
	}
	return (&url.URL{Scheme: "postgres", User: user, Path: "/" + database, RawQuery: query.Encode()}).String()
}

// port is part of the socket's name even when nothing listens on it.
func (s *Server) port() int {
	if s.config.Port != 0 {
		return s.config.Port
	}
	return 5432
}

// maxSocketDir keeps a socket's whole path below the limit of the system, about 100 bytes.
const maxSocketDir = 85

// makeSocketDir makes an empty directory beside the data, or a short one elsewhere when that path is too long.
func (s *Server) makeSocketDir() error {
	s.socket = filepath.Join(s.config.DataDir, "socket")
	if len(s.socket) > maxSocketDir {
		dir, err := os.MkdirTemp("/tmp", "flyte-pg-")
		if err != nil {
			return fmt.Errorf("make socket directory: %w", err)
		}
		s.socket = dir
	}
	// What a killed predecessor left would be taken for its lock.
	if err := os.RemoveAll(s.socket); err != nil {
		return fmt.Errorf("clear socket directory: %w", err)
	}
	return s.account.ownDir(s.socket)
}

func (s *Server) ensureDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it only served one statement
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", Database).Scan(&exists); err != nil {
		return fmt.Errorf("look for database: %w", err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+Database); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return nil
}

// readyInterval is how often a starting server is tried.
const readyInterval = 10 * time.Millisecond
