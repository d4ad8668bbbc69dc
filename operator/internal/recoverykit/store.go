package recoverykit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"filippo.io/age"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/retention"
)

// keep is the number of kits that stay: one has a snapshot of etcd in it, and only the newest is used.
const keep = 3

// Store is the folder of the kits of a stack.
type Store struct {
	// Dir is the folder. The first kit creates it.
	Dir string
}

// Kit is a sealed kit in a store, with its description.
type Kit struct {
	// Name of the kit: its time and "kit".
	Name string `json:"name"`
	// Path of the file.
	Path string `json:"path"`
	// Page is the path of the page of instructions beside it, which has no secret; it is missing after a killed run.
	Page string `json:"page"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
	Description
}

// ErrNone means that a stack has no kit.
var ErrNone = errors.New("there is no recovery kit")

const (
	sealedEnding      = ".tar.age"
	descriptionEnding = ".json"
	pageEnding        = ".md"
	kind              = "kit"
)

// Save seals files as a kit for recipients, and deletes the oldest kits. The description, whose time comes from the caller, and the page of
// instructions are added to the files, and lie beside the kit in clear: a user needs the page to open the kit.
func (s Store) Save(description Description, recipients []age.Recipient, files []File) (_ Kit, err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Kit{}, fmt.Errorf("folder of the recovery kits: %w", err)
	}
	text, err := json.MarshalIndent(description, "", "  ")
	if err != nil {
		return Kit{}, err
	}
	text = append(text, '\n')
	page := PageOf(description)
	files = append([]File{Text(DescriptionFile, text), Text(Page, page)}, files...)
	name, err := retention.Create(description.Made, kind, func(name retention.Name) error {
		return atomicfile.WriteNewWith(s.path(name), func(to io.Writer) error { return seal(to, description.Made, recipients, files) })
	})
	if err == nil {
		err = errors.Join(os.WriteFile(s.description(name), text, 0o600), os.WriteFile(s.page(name), page, 0o600))
	}
	if err != nil {
		return Kit{}, fmt.Errorf("write a recovery kit: %w", err)
	}
	if err := s.prune(name); err != nil {
		return Kit{}, err
	}
	return s.read(name)
}

// List returns the kits, newest first. Other files in the folder are left alone.
func (s Store) List() ([]Kit, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var kits []Kit
	for _, name := range names {
		kit, err := s.read(name)
		if err != nil {
			return nil, err
		}
		kits = append(kits, kit)
	}
	return kits, nil
}

// Newest returns the newest kit. It returns [ErrNone] if there is none.
func (s Store) Newest() (Kit, error) {
	names, err := s.names()
	switch {
	case err != nil:
		return Kit{}, err
	case len(names) == 0:
		return Kit{}, ErrNone
	default:
		return s.read(names[0])
	}
}

func (s Store) names() ([]retention.Name, error) {
	names, err := retention.InFolder(s.Dir, sealedEnding)
	if err != nil {
		return nil, fmt.Errorf("folder of the recovery kits: %w", err)
	}
	return names, nil
}

// read returns a kit. Without the description beside it, which a killed run leaves out, it has its name and time alone.
func (s Store) read(name retention.Name) (Kit, error) {
	info, err := os.Stat(s.path(name))
	if err != nil {
		return Kit{}, err
	}
	kit := Kit{}
	text, err := os.ReadFile(s.description(name))
	if err == nil {
		err = json.Unmarshal(text, &kit.Description)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Kit{}, fmt.Errorf("description of the recovery kit %s: %w: delete the file %s, the kit itself is not affected", name, err, s.description(name))
	}
	kit.Name, kit.Path, kit.Page, kit.Bytes, kit.Made = name.String(), s.path(name), s.page(name), info.Size(), name.Taken
	return kit, nil
}

// prune deletes the oldest kits, but not the one that was just made: it is not the newest if the clock was wrong when others were made.
func (s Store) prune(made retention.Name) error {
	names, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range names[min(keep, len(names)):] {
		if name.String() == made.String() {
			continue
		}
		if err := errors.Join(removed(s.description(name)), removed(s.page(name)), os.Remove(s.path(name))); err != nil {
			return fmt.Errorf("delete old recovery kits: %w", err)
		}
	}
	return nil
}

// removed removes a file that may be missing.
func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (s Store) path(name retention.Name) string {
	return filepath.Join(s.Dir, name.String()+sealedEnding)
}

func (s Store) description(name retention.Name) string {
	return filepath.Join(s.Dir, name.String()+descriptionEnding)
}

func (s Store) page(name retention.Name) string {
	return filepath.Join(s.Dir, name.String()+pageEnding)
}
