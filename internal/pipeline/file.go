package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// head begins the first line of a file that is written; the checksum of the rest follows.
const head = "# Made by `em-infra ci init`, which replaces it unless it was edited. sha256 of what follows: "

// The modes of what is written. A forge reads it, so it is not secret.
const (
	folderMode = 0o755
	fileMode   = 0o644
)

// Write writes the pipeline below the project's root, and reports whether that changed anything. It refuses to replace a file that was
// edited, unless overwrite is set.
func (p Pipeline) Write(root string, overwrite bool) (changed bool, err error) {
	text, err := p.Text()
	if err != nil {
		return false, err
	}
	wanted := head + sum(text) + "\n" + text
	path := filepath.Join(root, p.Path())
	have, err := os.ReadFile(path) //nolint:gosec // below the project
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return false, err
	case string(have) == wanted:
		return false, nil
	case isEdited(string(have)) && !overwrite:
		return false, fmt.Errorf("%s was edited, and is kept: add --overwrite to replace it", p.Path())
	}
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil { //nolint:gosec // not secret
		return false, err
	}
	return true, atomicfile.Write(path, []byte(wanted), fileMode)
}

// isEdited reports whether a file differs from what was written.
func isEdited(text string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	return first != head+sum(rest)
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}
