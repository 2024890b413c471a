// Command dex is Dex, an identity provider, with one client and one person, for tests. Its ID tokens are valid for five minutes. It ends
// when its standard input does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/dexidp/dex/web"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "where it listens")
	installation := flag.String("installation", "", "the URL of the installation whose people sign in")
	flag.Parse()
	if err := serve(*listen, *installation); err != nil {
		fmt.Fprintln(os.Stderr, "dex:", err)
		os.Exit(1)
	}
}

func serve(listen, installation string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	url := "http://" + strings.Replace(listener.Addr().String(), "127.0.0.1", "localhost", 1)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	hash, err := bcrypt.GenerateFromPassword([]byte("verysecure"), bcrypt.DefaultCost)
	if err != nil {
		return err
	}
	kept := storage.WithStaticClients(memory.New(log), []storage.Client{{
		ID: "flyte", Secret: "secret of flyte", Name: "Flyte", RedirectURIs: []string{installation + "/access/callback"},
	}})
	kept = storage.WithStaticPasswords(kept, []storage.Password{{Email: "test-user2@zitadel.ch", Hash: hash, Username: "Grace Hopper", UserID: "id2"}}, log)
	kept = storage.WithStaticConnectors(kept, []storage.Connector{{ID: server.LocalConnector, Type: server.LocalConnector, Name: "Email"}})
	const valid = 5 * time.Minute
	keys, err := (&signer.LocalConfig{KeysRotationPeriod: "6h"}).Open(context.Background(), kept, valid, time.Now, log)
	if err != nil {
		return err
	}
	keys.Start(context.Background()) // its metadata name the algorithm of the first key
	made, err := server.NewServer(context.Background(), server.Config{
		Issuer: url, Storage: kept, SkipApprovalScreen: true, SupportedResponseTypes: []string{"code"}, PasswordConnector: server.LocalConnector,
		IDTokensValidFor: valid, Signer: keys, Logger: log, Web: server.WebConfig{WebFS: web.FS()},
	})
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = listener.Close()
	}()
	fmt.Fprintln(os.Stdout, url)
	if err := http.Serve(listener, made); err != nil && !strings.Contains(err.Error(), "closed") {
		return err
	}
	return nil
}
