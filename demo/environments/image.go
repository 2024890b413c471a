package environments

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// Image is an image of a project and domain. Clients compute its tag from its layers, and no one else can: so the tag of one project
// says nothing about that of another, and each has environments of its own.
type Image struct{ Project, Domain, Name string }

// Key names the environment of an image in the store; false if the image's tag is not a digest of layers. Project and domain count as
// the labels of pods have them.
func (i Image) Key() (string, bool) {
	tag, ok := TagOf(i.Name)
	if !ok {
		return "", false
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{v1.LabelValue(i.Project), v1.LabelValue(i.Domain), tag}, "\x00")))
	return hex.EncodeToString(sum[:16]), true
}

// Uses reports whether the environment with a key is that of the image.
func (i Image) Uses(key string) bool {
	own, ok := i.Key()
	tag, _ := TagOf(i.Name)
	return ok && (own == key || tag == key)
}

// FindImage is Find for an image.
func (s *Store) FindImage(i Image) (*Environment, error) { return s.ofImage(i, s.Find) }

// SoundImage is Sound for an image.
func (s *Store) SoundImage(i Image) (*Environment, error) { return s.ofImage(i, s.Sound) }

// ofImage looks for the environment of an image, and then for one that an earlier version has made for its project and domain: those
// were named by the tag alone.
func (s *Store) ofImage(i Image, find func(key string) (*Environment, error)) (*Environment, error) {
	key, ok := i.Key()
	if !ok {
		return nil, nil //nolint:nilnil // as Find
	}
	if found, err := find(key); err != nil || found != nil {
		return found, err
	}
	tag, _ := TagOf(i.Name)
	if earlier, err := s.read(tag); err != nil || earlier == nil || v1.LabelValue(earlier.Project) != v1.LabelValue(i.Project) ||
		v1.LabelValue(earlier.Domain) != v1.LabelValue(i.Domain) {
		return nil, err
	}
	return find(tag)
}
