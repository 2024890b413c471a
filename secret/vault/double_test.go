package vault_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The credentials that the double accepts.
const (
	rootToken = "s.root"
	podJWT    = "jwt-of-the-pod"
	podRole   = "flyte"
	roleID    = "role-id"
	secretID  = "secret-id"
	namespace = "team"
)

// double is Vault's HTTP API as far as the backend uses it. It checks every request, and fails the test for one that
// Vault would refuse for its form.
type double struct {
	t      testing.TB
	server *httptest.Server

	mu       sync.Mutex
	secrets  map[string][]map[string]any // GUARDED_BY(mu): versions by path
	tokens   map[string]bool             // GUARDED_BY(mu): valid ones
	lease    time.Duration               // GUARDED_BY(mu): of tokens; 0 forever
	maxed    bool                        // GUARDED_BY(mu): tokens can no longer be renewed
	sealed   bool                        // GUARDED_BY(mu)
	logins   int                         // GUARDED_BY(mu)
	renewals int                         // GUARDED_BY(mu)
}

func newDouble(t testing.TB) *double {
	d := &double{t: t, secrets: map[string][]map[string]any{}, tokens: map[string]bool{rootToken: true}}
	d.server = httptest.NewServer(d)
	t.Cleanup(d.server.Close)
	return d
}

func (d *double) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *double) counts() (logins, renewals int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.logins, d.renewals
}

// ServeHTTP implements http.Handler.
func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := r.Header.Get("X-Vault-Namespace"); got != namespace {
		d.t.Errorf("%s %s has the namespace %q", r.Method, r.URL.Path, got)
	}
	if r.Header.Get("X-Vault-Request") != "true" {
		d.t.Errorf("%s %s lacks the header that Vault agents demand", r.Method, r.URL.Path)
	}
	if d.sealed {
		d.refuse(w, http.StatusServiceUnavailable, "Vault is sealed")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	body := map[string]any{}
	if r.ContentLength != 0 {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			d.t.Errorf("%s %s: %v", r.Method, path, err)
		}
	}
	if mount, is := strings.CutSuffix(strings.TrimPrefix(path, "auth/"), "/login"); is {
		d.login(w, mount, body)
		return
	}
	if !d.tokens[r.Header.Get("X-Vault-Token")] {
		d.refuse(w, http.StatusForbidden, "permission denied")
		return
	}
	switch {
	case path == "auth/token/lookup-self" && r.Method == http.MethodGet:
		d.answer(w, map[string]any{"data": map[string]any{"ttl": int(d.lease.Seconds()), "renewable": d.lease > 0}})
	case path == "auth/token/renew-self" && r.Method == http.MethodPut:
		if d.maxed {
			d.refuse(w, http.StatusForbidden, "permission denied")
			return
		}
		d.renewals++
		d.answer(w, d.auth(r.Header.Get("X-Vault-Token")))
	case strings.HasPrefix(path, "kv/data/flyte/"):
		d.data(w, r, strings.TrimPrefix(path, "kv/data/flyte/"), body)
	case path == "kv/metadata/flyte", strings.HasPrefix(path, "kv/metadata/flyte/"):
		d.metadata(w, r, strings.TrimPrefix(strings.TrimPrefix(path, "kv/metadata/flyte"), "/"))
	default:
		d.t.Errorf("%s %s is not an endpoint of the engine or of the sign-in", r.Method, path)
		d.refuse(w, http.StatusNotFound, "no handler")
	}
}

func (d *double) login(w http.ResponseWriter, mount string, body map[string]any) {
	wanted := map[string]map[string]any{
		"kubernetes":  {"role": podRole, "jwt": podJWT},
		"our-approle": {"role_id": roleID, "secret_id": secretID},
	}[mount]
	if wanted == nil || fmt.Sprint(wanted) != fmt.Sprint(body) {
		d.refuse(w, http.StatusBadRequest, "invalid role or credentials")
		return
	}
	d.logins++
	token := fmt.Sprintf("s.%d", d.logins)
	d.tokens[token] = true
	d.answer(w, d.auth(token))
}

func (d *double) auth(token string) map[string]any {
	return map[string]any{"auth": map[string]any{"client_token": token, "lease_duration": int(d.lease.Seconds()), "renewable": d.lease > 0}}
}

func (d *double) data(w http.ResponseWriter, r *http.Request, path string, body map[string]any) {
	versions := d.secrets[path]
	switch r.Method {
	case http.MethodGet:
		if len(versions) == 0 {
			d.refuse(w, http.StatusNotFound)
			return
		}
		d.answer(w, map[string]any{"data": map[string]any{"data": versions[len(versions)-1], "metadata": d.version(len(versions))}})
	case http.MethodPut, http.MethodPost:
		options, _ := body["options"].(map[string]any)
		cas, given := options["cas"].(float64)
		data, isData := body["data"].(map[string]any)
		if !given || !isData {
			d.t.Errorf("a write of %s without check-and-set, or without data", path)
		}
		if int(cas) != len(versions) {
			d.refuse(w, http.StatusBadRequest, "check-and-set parameter did not match the current version")
			return
		}
		d.secrets[path] = append(versions, data)
		d.answer(w, map[string]any{"data": d.version(len(versions) + 1)})
	default:
		d.t.Errorf("%s of the data of %s", r.Method, path)
	}
}

func (d *double) version(number int) map[string]any {
	return map[string]any{"version": number, "created_time": "2026-01-02T03:04:05.000000006Z", "deletion_time": "", "destroyed": false}
}

func (d *double) metadata(w http.ResponseWriter, r *http.Request, path string) {
	switch {
	case r.Method == http.MethodDelete:
		delete(d.secrets, path)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == "LIST" || r.Method == http.MethodGet && r.URL.Query().Get("list") == "true":
		folder := strings.TrimSuffix(path, "/") + "/"
		if folder == "/" {
			folder = ""
		}
		var names []string
		for known := range d.secrets {
			rest, below := strings.CutPrefix(known, folder)
			if !below {
				continue
			}
			if first, _, deeper := strings.Cut(rest, "/"); deeper {
				rest = first + "/"
			}
			if !slices.Contains(names, rest) {
				names = append(names, rest)
			}
		}
		if len(names) == 0 {
			d.refuse(w, http.StatusNotFound)
			return
		}
		slices.Sort(names)
		d.answer(w, map[string]any{"data": map[string]any{"keys": names}})
	default:
		d.t.Errorf("%s of the metadata of %s", r.Method, path)
	}
}

func (d *double) answer(w http.ResponseWriter, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		d.t.Error(err)
	}
}

func (d *double) refuse(w http.ResponseWriter, status int, words ...string) {
	w.WriteHeader(status)
	if words == nil {
		words = []string{}
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"errors": words}); err != nil {
		d.t.Error(err)
	}
}

// stored is the newest version at a path.
func (d *double) stored(path string) map[string]any {
	d.mu.Lock()
	defer d.mu.Unlock()
	versions := d.secrets[path]
	require.NotEmpty(d.t, versions, path)
	return versions[len(versions)-1]
}
