package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/filematch"
)

// A registry is a folder with one file for each lab of this user, of every project: its content is the folder of the lab. A lab
// that is stopped keeps its ports and its network that way, because a new one of another project chooses others. "" is none.
type registry string

// entries is how the names of the registry's files end. No other file is touched.
const entries = ".lab"

// DefaultRegistry returns the registry of this user, in its cache folder. Without such a folder there is none.
func DefaultRegistry() string {
	caches, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(caches, "em-infra", "labs")
}

// add registers the lab in a folder.
func (r registry) add(dir string) error {
	if r == "" {
		return nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(r), 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(dir))
	file := filepath.Join(string(r), hex.EncodeToString(sum[:8])+entries)
	return atomicfile.Write(file, []byte(dir), 0o600)
}

// others returns the descriptions of all registered labs but the one in dir. It forgets labs that were deleted, and skips those
// that cannot be read.
func (r registry) others(dir string) ([]Description, error) {
	if r == "" {
		return nil, nil
	}
	own, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	files, err := filematch.In(string(r), "*"+entries)
	if err != nil {
		return nil, err
	}
	var descriptions []Description
	for _, file := range files {
		other, err := os.ReadFile(file)
		if err != nil || string(other) == own {
			continue
		}
		description, err := ReadDescription(string(other))
		switch {
		case err == nil:
			descriptions = append(descriptions, description)
		case errors.Is(err, ErrNoLab):
			os.Remove(file) // one that stays is skipped again
		}
	}
	return descriptions, nil
}

// taken are the addresses of other labs.
type taken struct {
	ports    []uint16
	networks []netip.Prefix
}

// takenBy returns the addresses of labs, running or not.
func takenBy(labs []Description) taken {
	var t taken
	for _, d := range labs {
		t.ports = append(t.ports, d.Proxmox.Port(), d.Factory.Port(), d.NAS.Port())
		t.networks = append(t.networks, d.Networks()...)
	}
	return t
}
