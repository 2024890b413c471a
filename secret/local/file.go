package local

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// suffix is the end of the names of files with secrets.
const suffix = ".secret"

// file is a secret as it is stored. Only the value is encrypted.
type file struct {
	Domain  string    `json:"domain,omitempty"`
	Project string    `json:"project,omitempty"`
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Created time.Time `json:"created"`
	Key     string    `json:"keyID"`
	Sealed  []byte    `json:"sealed"`
}

func (f file) metadata() entry.Metadata {
	return entry.Metadata{
		ID:   entry.ID{Scope: entry.Scope{Project: f.Project, Domain: f.Domain}, Name: f.Name},
		Type: entry.ParseType(f.Type), Created: f.Created,
	}
}

// bound is what the value cannot be separated from.
func (f file) bound() []byte {
	return []byte(f.metadata().ID.Path() + "\x00" + f.Type + "\x00" + f.Created.UTC().Format(time.RFC3339Nano) + "\x00" + f.Key)
}

// seal makes the file of a secret under the first key.
func seal(ring keyring, about entry.Metadata, value entry.Value) (file, error) {
	made := file{
		Domain: about.ID.Domain, Project: about.ID.Project, Name: about.ID.Name,
		Type: about.Type.String(), Created: about.Created.UTC(), Key: ring.Keys[0].ID,
	}
	with, err := ring.find(made.Key)
	if err != nil {
		return file{}, err
	}
	made.Sealed = with.Seal(nil, nil, value.Reveal(), made.bound()) //nolint:gosec // this cipher makes a random nonce itself
	return made, nil
}

// open returns the value of a file.
func (f file) open(ring keyring) (entry.Value, error) {
	with, err := ring.find(f.Key)
	if err != nil {
		return entry.Value{}, err
	}
	content, err := with.Open(nil, nil, f.Sealed, f.bound())
	if err != nil {
		return entry.Value{}, fmt.Errorf("%s cannot be decrypted: its file is damaged or was replaced", f.metadata().ID)
	}
	return entry.NewValue(content), nil
}

func readFile(path string) (file, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	read := file{}
	if err := json.Unmarshal(content, &read); err != nil {
		return file{}, fmt.Errorf("%s is damaged: %w", filepath.Base(path), err)
	}
	return read, nil
}

// write stores the file at a path. The key of the file must be in the key file already.
func (f file) write(path string) error {
	content, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return replace(path, content)
}

// replace replaces a file whole: after a crash there is the old content or the new one. Only its owner may read it.
func replace(path string, content []byte) error {
	temporary := path + ".new"
	made, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = made.Write(content)
	if err == nil {
		err = made.Sync()
	}
	if closing := made.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(temporary)
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes renames in a directory survive a power cut.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
