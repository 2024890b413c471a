package pgembed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// Server is one private Postgres. Create it with New.
type Server struct {
	config   Config
	binDir   string
	account  account
	socket   string // directory of the socket
	password string

	postmaster *supervise.Supervisor
}

var _ lifecycle.Part = (*Server)(nil)

// New checks the configuration and finds the programs; nothing runs yet.
func New(config Config) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s := &Server{config: config.withDefaults(), binDir: config.BinDir}
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
	s.postmaster = supervise.New(supervise.Config{
		Name: "postgres", Launch: s.launchUntilReady, OnExit: config.OnExit, Once: !config.Restart,
		Clock: s.config.Clock, Log: s.config.Log,
	})
	return s, nil
}

// Start creates the cluster when there is none, starts the server and returns when it accepts connections.
func (s *Server) Start(ctx context.Context) error {
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
	err = s.postmaster.Start(ctx)
	if err == nil {
		if err = s.ensureDatabase(ctx); err != nil {
			err = errors.Join(err, s.postmaster.Stop(context.WithoutCancel(ctx)))
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(s.socket))
	}
	return nil
}

// Stop shuts the server down: it cuts connections and writes everything. If the context ends first, the server is killed;
// that loses no acknowledged data either, but the next start takes longer.
func (s *Server) Stop(ctx context.Context) error {
	return errors.Join(s.postmaster.Stop(ctx), os.RemoveAll(s.socket))
}

// DSN is the connection string of the database flyte. It is valid after Start.
func (s *Server) DSN() string { return s.dsn(Database) }

// DSNOf is DSN for another database.
func (s *Server) DSNOf(database string) string { return s.dsn(database) }

// Pid is the server's process id; 0 while it does not run.
func (s *Server) Pid() int { return s.postmaster.Pid() }

// SocketDir is the directory of the socket. It is valid after Start.
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

// makeSocketDir creates an empty directory alongside the data, or a short one elsewhere when that path is too long.
func (s *Server) makeSocketDir() error {
	s.socket = filepath.Join(s.config.DataDir, "socket")
	if len(s.socket) > maxSocketDir {
		dir, err := os.MkdirTemp("/tmp", "flyte-pg-")
		if err != nil {
			return fmt.Errorf("create socket directory: %w", err)
		}
		s.socket = dir
	}
	// The files of a killed predecessor would look like its lock.
	if err := os.RemoveAll(s.socket); err != nil {
		return fmt.Errorf("clear socket directory: %w", err)
	}
	return s.account.ownDir(s.socket)
}

func (s *Server) ensureDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTotal)
	defer cancel()
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

// readyInterval is how often a starting server is probed.
const readyInterval = 10 * time.Millisecond
