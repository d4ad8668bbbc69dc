// Package etcdsnapshot keeps snapshots of etcd: each is checked as a database and sealed before it gets its name, with a description
// beside it.
package etcdsnapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/retention"
)

// Store is the folder of the snapshots of a stack.
type Store struct {
	// Dir is the folder. The first snapshot creates it.
	Dir string
	// Recipients can open the snapshots. Required.
	Recipients []age.Recipient
	// Keep is the rule by which snapshots stay when another one is taken. Default: that of [retention.Rule].
	Keep retention.Rule
	// Spared are the names of snapshots that stay regardless of the rule, because a restore is about to use them. Default: none.
	Spared []string
}

// Cluster is what a snapshot was taken of.
type Cluster struct {
	// Name of the cluster.
	Name string `json:"cluster"`
	// Talos is the release that ran on the node that gave the snapshot, for example v1.12.4.
	Talos string `json:"talos"`
	// Kubernetes is the version of that node's API server, for example v1.35.4: a restored etcd needs the same minor release. Empty if
	// the image of the API server has no version as its tag.
	Kubernetes string `json:"kubernetes"`
	// Nodes is the number of nodes in the inventory.
	Nodes int `json:"nodes"`
}

// Snapshot is a sealed snapshot in a store. It is also its description, which lies beside it.
type Snapshot struct {
	// Name of the snapshot: its time and its reason.
	Name string `json:"name"`
	// Taken is when, to the second.
	Taken time.Time `json:"taken"`
	// Reason of the snapshot, e.g. before-up.
	Reason string `json:"reason"`
	Cluster
	Contents
	// Path of the file.
	Path string `json:"-"`
}

// Files returns the paths of the sealed snapshot and of its description, if it has one.
func (s Snapshot) Files() []string {
	files := []string{s.Path}
	description := strings.TrimSuffix(s.Path, sealedEnding) + descriptionEnding
	if _, err := os.Stat(description); err == nil {
		files = append(files, description)
	}
	return files
}

const (
	sealedEnding      = ".snap.age"
	descriptionEnding = ".json"
)

// Save stores the snapshot that take writes, and deletes those that the rule does not keep. Nothing is stored if take
// fails or if what it wrote is not a whole snapshot. In clear the snapshot has no name in the file system.
func (s Store) Save(at time.Time, reason string, of Cluster, take func(io.Writer) error) (_ Snapshot, err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Snapshot{}, fmt.Errorf("folder of the snapshots: %w", err)
	}
	clear, err := s.temporary()
	if err != nil {
		return Snapshot{}, err
	}
	defer func() { err = errors.Join(err, clear.Close(), drop(clear)) }()
	if err := take(clear); err != nil {
		return Snapshot{}, err
	}
	contents, err := inspect(clear)
	if err != nil {
		return Snapshot{}, err
	}
	saved, err := s.seal(at, reason, clear, Snapshot{Cluster: of, Contents: contents})
	if err != nil {
		return Snapshot{}, fmt.Errorf("write a snapshot: %w", err)
	}
	s.Spared = append(slices.Clone(s.Spared), saved.Name) // it is not the newest if the clock was wrong when others were taken
	_, err = s.Prune()
	return saved, err
}

// temporary returns a file without a name.
func (s Store) temporary() (*os.File, error) {
	file, err := os.CreateTemp(s.Dir, "new-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	return file, forget(file)
}

// encrypted writes the sealed snapshot.
func (s Store) encrypted(to io.Writer, clear *os.File) error {
	if _, err := clear.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return encrypt(to, clear, s.Recipients)
}

func encrypt(to io.Writer, from io.Reader, recipients []age.Recipient) error {
	sealing, err := age.Encrypt(to, recipients...)
	if err != nil {
		return err
	}
	_, err = io.Copy(sealing, from)
	return errors.Join(err, sealing.Close())
}

// seal seals the snapshot under a name that is free, and writes the description.
func (s Store) seal(at time.Time, reason string, clear *os.File, snapshot Snapshot) (Snapshot, error) {
	name, err := retention.Create(at, reason, func(name retention.Name) error {
		return atomicfile.WriteNewWith(s.path(name), func(to io.Writer) error { return s.encrypted(to, clear) })
	})
	if err != nil {
		return Snapshot{}, err
	}
	snapshot.Name, snapshot.Taken, snapshot.Reason, snapshot.Path = name.String(), name.Taken, name.Kind, s.path(name)
	description, err := describe(snapshot)
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot, os.WriteFile(s.description(name), description, 0o600)
}

// adopt gives a sealed file the name of its snapshot, and writes the description that belongs to it.
func (s Store) adopt(sealed string, snapshot Snapshot) (Snapshot, error) {
	name, err := retention.Parse(snapshot.Name)
	if err != nil {
		return Snapshot{}, err
	}
	snapshot.Path = s.path(name)
	if snapshot.Contents != (Contents{}) {
		description, err := describe(snapshot)
		if err != nil {
			return Snapshot{}, err
		}
		if err := os.WriteFile(s.description(name), description, 0o600); err != nil {
			return Snapshot{}, fmt.Errorf("write a snapshot: %w", err)
		}
	}
	return snapshot, os.Rename(sealed, snapshot.Path)
}

// describe returns the description of a snapshot, as it lies beside it.
func describe(snapshot Snapshot) ([]byte, error) {
	text, err := json.MarshalIndent(snapshot, "", "  ")
	return append(text, '\n'), err
}

func (s Store) path(name retention.Name) string {
	return filepath.Join(s.Dir, name.String()+sealedEnding)
}

func (s Store) description(name retention.Name) string {
	return filepath.Join(s.Dir, name.String()+descriptionEnding)
}
